-- //// METADATA tags=core,pii lifecycle=protected comment="Everybody who ever had an account"
-- //// CHANGE name=init
CREATE TABLE ${sales}.customers (
  customer_id BIGINT,
  name STRING,
  email STRING,
  street STRING,
  city STRING,
  country_code STRING
) USING parquet;
-- // ROLLBACK
DROP TABLE ${sales}.customers;

-- Together with addresses.sql: customers.init, then addresses, then this.
-- //// CHANGE name=add_default_address includeDependencies=sales.addresses.from_customers
ALTER TABLE ${sales}.customers ADD COLUMNS (default_address INT COMMENT 'addresses.address_no');

-- //// CHANGE name=demo_rows includeEnvs=dev*
INSERT INTO ${sales}.customers VALUES
  (1, 'Ada', 'ada@example.com', 'Ring 1', 'Wien', 'AT', 1),
  (2, 'Ben', 'ben@example.com', 'Quai 2', 'Genf', 'CH', 1),
  (3, 'Cem', 'cem@example.com', 'Allee 3', 'Berlin', 'DE', 1),
  (4, 'Dee', 'dee@example.com', 'Main St 4', 'Boston', 'US', 1);

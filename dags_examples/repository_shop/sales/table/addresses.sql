-- //// METADATA tags=pii
-- //// CHANGE name=init
CREATE TABLE ${sales}.addresses (
  customer_id BIGINT,
  address_no INT,
  street STRING,
  city STRING,
  country_code STRING
) USING parquet;
-- // ROLLBACK
DROP TABLE ${sales}.addresses;

-- A bare sales.customers would mean all its changes, and one of them waits for this one:
-- naming the change makes the order possible.
-- //// CHANGE name=from_customers dependencies=sales.customers.init
INSERT INTO ${sales}.addresses
SELECT customer_id, 1, street, city, country_code
FROM ${sales}.customers;
-- // ROLLBACK
TRUNCATE TABLE ${sales}.addresses;

-- //// CHANGE name=demo_rows includeEnvs=dev*
INSERT INTO ${sales}.addresses VALUES
  (1, 1, 'Ring 1', 'Wien', 'AT'),
  (2, 1, 'Quai 2', 'Genf', 'CH'),
  (3, 1, 'Allee 3', 'Berlin', 'DE'),
  (4, 1, 'Main St 4', 'Boston', 'US');

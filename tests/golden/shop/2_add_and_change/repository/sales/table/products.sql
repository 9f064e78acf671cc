//// METADATA tags=core,catalogue

-- One change that stands for three older ones: where those are deployed this one is only
-- recorded, and where nothing is deployed yet it is all that runs.
//// CHANGE name=baseline_2024 baselinedChanges=init,add_weight,add_brand
CREATE TABLE ${sales}.products (
  product_id BIGINT,
  name STRING,
  category STRING,
  brand STRING,
  weight_kg DOUBLE,
  price DECIMAL(12, 2) COMMENT 'EUR, VAT included'
) USING parquet;
// ROLLBACK
DROP TABLE ${sales}.products;

//// CHANGE name=add_supplier
ALTER TABLE ${sales}.products ADD COLUMNS (supplier_id BIGINT);

//// CHANGE name=demo_rows includeEnvs=dev*
INSERT INTO ${sales}.products VALUES
  (1, 'Tent', 'camping', 'Nord', 2.9, 249.00, NULL),
  (2, 'Sleeping bag', 'camping', 'Nord', 1.2, 119.00, NULL),
  (3, 'Stove', 'kitchen', 'Flamm', 0.4, 59.00, NULL),
  (4, 'Pot', 'kitchen', 'Flamm', 0.6, 29.00, NULL);

-- //// METADATA tags=core
-- //// CHANGE name=init
CREATE TABLE ${sales}.order_lines (
  order_id BIGINT,
  product_id BIGINT,
  quantity INT,
  unit_price DECIMAL(12, 2) COMMENT 'In the currency of the order'
) USING parquet;
-- // ROLLBACK
DROP TABLE ${sales}.order_lines;

-- //// CHANGE name=demo_rows includeEnvs=dev*
INSERT INTO ${sales}.order_lines VALUES
  (1001, 1, 1, 249.00),
  (1001, 2, 2, 119.00),
  (1002, 3, 1, 62.00),
  (1003, 2, 1, 119.00),
  (1004, 4, 3, 32.00),
  (1005, 3, 1, 59.00),
  (1005, 4, 1, 29.00);

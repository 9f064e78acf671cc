-- //// METADATA DROP_TABLE
-- //// CHANGE name=init
CREATE TABLE ${sales}.returns (
  order_id BIGINT,
  product_id BIGINT,
  quantity INT,
  returned_on DATE
) USING parquet;
-- // ROLLBACK
DROP TABLE ${sales}.returns;

-- //// CHANGE name=demo_rows includeEnvs=dev*
INSERT INTO ${sales}.returns VALUES (1001, 2, 1, DATE '2024-05-20');

-- //// METADATA tags=core lifecycle=protected
-- //// CHANGE name=init
CREATE TABLE ${sales}.orders (
  order_id BIGINT,
  customer_id BIGINT,
  ordered_on DATE,
  currency STRING
) USING parquet;
-- // ROLLBACK
DROP TABLE ${sales}.orders;

-- //// CHANGE name=add_channel
ALTER TABLE ${sales}.orders ADD COLUMNS (channel STRING COMMENT 'web, app or phone');

-- Written down, but not wanted yet: an inactive change does not run.
-- //// CHANGE name=compute_statistics INACTIVE
ANALYZE TABLE ${sales}.orders COMPUTE STATISTICS;

-- //// CHANGE name=demo_rows includeEnvs=dev*
INSERT INTO ${sales}.orders VALUES
  (1001, 1, DATE '2024-05-02', 'EUR', 'web'),
  (1002, 2, DATE '2024-05-02', 'CHF', 'app'),
  (1003, 3, DATE '2024-08-15', 'EUR', 'web'),
  (1004, 4, DATE '2024-08-16', 'USD', 'phone'),
  (1005, 1, DATE '2024-08-16', 'EUR', 'app');

-- //// CHANGE name=add_coupon
ALTER TABLE ${sales}.orders ADD COLUMNS (coupon STRING);

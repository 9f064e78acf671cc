-- //// CHANGE name=init
CREATE TABLE ${sales}.order_events (
  order_id BIGINT,
  event STRING COMMENT 'placed, paid, shipped or cancelled',
  happened_at TIMESTAMP
) USING parquet;
-- // ROLLBACK
DROP TABLE ${sales}.order_events;

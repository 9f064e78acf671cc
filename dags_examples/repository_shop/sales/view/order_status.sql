CREATE VIEW ${sales}.order_status AS
SELECT
  order_id,
  max_by(event, happened_at) AS status,
  max(happened_at) AS since
FROM ${sales}.order_events
GROUP BY order_id

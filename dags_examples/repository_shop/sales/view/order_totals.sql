CREATE VIEW ${sales}.order_totals
COMMENT 'Orders that were not cancelled, each with its total'
AS
WITH totals AS (
  SELECT order_id, CAST(sum(quantity * unit_price) AS DECIMAL(12, 2)) AS total
  FROM ${sales}.order_lines
  GROUP BY order_id
)
SELECT
  orders.order_id,
  orders.customer_id,
  orders.ordered_on,
  orders.currency,
  totals.total
FROM ${sales}.orders AS orders
JOIN totals ON totals.order_id = orders.order_id
LEFT ANTI JOIN ${sales}.order_status AS status
  ON status.order_id = orders.order_id AND status.status = 'cancelled'

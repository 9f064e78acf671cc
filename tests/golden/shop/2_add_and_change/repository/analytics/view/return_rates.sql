CREATE VIEW ${analytics}.return_rates AS
SELECT
  lines.product_id,
  sum(lines.quantity) AS sold,
  coalesce(sum(returns.quantity), 0) AS returned
FROM ${sales}.order_lines AS lines
LEFT JOIN ${sales}.returns AS returns
  ON returns.order_id = lines.order_id AND returns.product_id = lines.product_id
GROUP BY lines.product_id

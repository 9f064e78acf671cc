-- //// METADATA schedule="0 3 * * 1" tags=reporting,pii
CREATE MATERIALIZED VIEW ${analytics}.customer_value AS
SELECT
  customer_id,
  min(ordered_on) AS first_order,
  max(ordered_on) AS last_order,
  count(*) AS orders,
  sum(total_eur) AS revenue
FROM ${analytics}.orders_eur
GROUP BY customer_id

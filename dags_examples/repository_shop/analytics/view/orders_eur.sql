CREATE VIEW ${analytics}.orders_eur AS
WITH rates AS (
  SELECT
    currency,
    rate,
    valid_from,
    lead(valid_from, 1, DATE '9999-12-31') OVER (PARTITION BY currency ORDER BY valid_from) AS valid_to
  FROM ${ref}.exchange_rates
)
SELECT
  orders.order_id,
  orders.customer_id,
  customers.country_code,
  orders.ordered_on,
  ${sales}.to_eur(orders.total, rates.rate) AS total_eur
FROM ${sales}.order_totals AS orders
JOIN ${sales}.customers AS customers ON customers.customer_id = orders.customer_id
JOIN rates
  ON rates.currency = orders.currency
 AND orders.ordered_on >= rates.valid_from
 AND orders.ordered_on < rates.valid_to

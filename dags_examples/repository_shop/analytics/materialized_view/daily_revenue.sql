-- //// METADATA schedule="0 2 * * *" comment="Revenue per day and country, in EUR"
CREATE MATERIALIZED VIEW ${analytics}.daily_revenue AS
SELECT
  ordered_on AS day,
  country_code,
  count(*) AS orders,
  sum(total_eur) AS revenue
FROM ${analytics}.orders_eur
GROUP BY ordered_on, country_code

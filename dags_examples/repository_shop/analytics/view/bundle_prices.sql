-- An aggregate over the two is fine outside of their cycle.
CREATE VIEW ${analytics}.bundle_prices AS
SELECT
  bundle.bundle_id,
  count(*) AS products,
  sum(price.gross_price) AS gross_price,
  sum(price.net_price) AS net_price
FROM ${analytics}.bundle_contains AS bundle
JOIN ${sales}.product_prices AS price ON price.product_id = bundle.part_id
GROUP BY bundle.bundle_id

-- A contract: its columns stay, whatever becomes of its query. So a new text does not redeploy
-- what reads it in other schemas.
-- //// METADATA replacement=true
CREATE VIEW ${sales}.product_prices AS
SELECT
  products.product_id,
  products.name,
  products.price AS gross_price,
  ${sales}.without_vat(products.price) AS net_price,
  suppliers.name AS supplier
FROM ${sales}.products AS products
LEFT JOIN ${ref}.suppliers AS suppliers
  ON suppliers.supplier_id = products.supplier_id

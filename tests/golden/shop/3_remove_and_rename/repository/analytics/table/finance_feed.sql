-- What the finance department picks up every morning; revenue_export fills it.
CREATE TABLE ${analytics}.finance_feed (
  day DATE COMMENT 'Day of the orders',
  country STRING,
  orders BIGINT,
  revenue DECIMAL(38, 2) COMMENT 'EUR'
)
USING parquet
COMMENT 'Revenue for finance'
TBLPROPERTIES ('owner_team' = 'finance')

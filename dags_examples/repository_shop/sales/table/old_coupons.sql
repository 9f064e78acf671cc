-- The table is dropped wherever it is still deployed. The file stays until every environment
-- has caught up.
-- //// METADATA DROP_TABLE
-- //// CHANGE name=init
CREATE TABLE ${sales}.old_coupons (code STRING, percent INT) USING parquet;

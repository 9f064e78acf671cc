-- //// CHANGE name=init
CREATE TABLE ${s}.gone_change (id BIGINT) USING parquet;
-- //// CHANGE name=second
ALTER TABLE ${s}.gone_change ADD COLUMNS (a INT);

-- //// CHANGE name=init
CREATE TABLE ${schema}.t (a INT) USING parquet;
-- //// CHANGE name=more
ALTER TABLE ${schema}.t ADD COLUMNS (b INT);

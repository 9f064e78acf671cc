-- //// CHANGE name=init
CREATE TABLE ${s}.t (a INT) USING parquet;
-- //// CHANGE name=more
ALTER TABLE ${s}.t ADD COLUMNS (b INT);

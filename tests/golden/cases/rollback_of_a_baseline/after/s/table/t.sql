-- //// CHANGE name=init
CREATE TABLE ${s}.t (id INT) USING parquet;
-- //// CHANGE name=a
ALTER TABLE ${s}.t ADD COLUMNS (a INT);
-- //// CHANGE name=b
ALTER TABLE ${s}.t ADD COLUMNS (b INT);

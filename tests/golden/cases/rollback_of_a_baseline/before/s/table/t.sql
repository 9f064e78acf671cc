-- //// CHANGE name=all baselinedChanges=init,a
CREATE TABLE ${s}.t (id INT, a INT) USING parquet;
-- // ROLLBACK
DROP TABLE ${s}.t;
-- //// CHANGE name=b
ALTER TABLE ${s}.t ADD COLUMNS (b INT);

-- //// CHANGE name=all baselinedChanges="init, ADD_B"
CREATE TABLE ${s}.t (a INT, b INT) USING parquet;
-- //// CHANGE name=add_c
ALTER TABLE ${s}.t ADD COLUMNS (c INT);

-- //// CHANGE name=all baselinedChanges=init,add_x
CREATE TABLE ${s}.t (a INT, x INT) USING parquet;

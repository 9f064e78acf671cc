CREATE TABLE ${s}.t (x INT) USING parquet

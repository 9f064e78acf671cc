CREATE TABLE ${s}.t (a STRING) USING parquet

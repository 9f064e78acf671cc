CREATE TABLE ${s}.widened (a INT) USING parquet

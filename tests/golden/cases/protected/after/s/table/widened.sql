CREATE TABLE ${s}.widened (a INT, b INT) USING parquet

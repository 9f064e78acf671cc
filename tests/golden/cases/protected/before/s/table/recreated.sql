CREATE TABLE ${s}.recreated (a INT, b INT) USING parquet

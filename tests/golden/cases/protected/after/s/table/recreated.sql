CREATE TABLE ${s}.recreated (a INT) USING parquet

CREATE TABLE ${s}.gone (a INT) USING parquet

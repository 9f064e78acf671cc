CREATE TABLE ${s}.same (a INT, b DECIMAL(10,2)) USING parquet

CREATE TABLE ${s}.t (id INT, b INT) USING parquet

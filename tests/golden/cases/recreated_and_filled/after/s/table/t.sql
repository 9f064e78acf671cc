CREATE TABLE ${s}.t (id INT) USING parquet

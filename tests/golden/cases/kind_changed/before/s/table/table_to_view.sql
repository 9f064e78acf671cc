CREATE TABLE ${s}.table_to_view (a INT) USING parquet

CREATE TABLE ${s}.v1 (place STRUCT<street: STRING>) USING parquet

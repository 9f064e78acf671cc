CREATE TABLE ${s}.v1 (place STRUCT<street: STRING, city: STRING>) USING parquet

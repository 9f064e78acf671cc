CREATE TABLE ${s}.t (id INT, place STRUCT<street: STRING, number: STRING, city: STRING>) USING iceberg

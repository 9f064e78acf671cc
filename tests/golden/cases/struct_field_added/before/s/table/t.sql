CREATE TABLE ${s}.t (id INT, place STRUCT<street: STRING, city: STRING, floor: INT>) USING iceberg

-- //// METADATA lifecycle=external
CREATE TABLE ${s}.leaves (a INT) USING parquet

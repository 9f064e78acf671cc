-- //// METADATA lifecycle=external
CREATE TABLE ${s}.theirs (a INT) USING parquet

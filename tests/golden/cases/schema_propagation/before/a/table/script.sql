-- //// CHANGE name=init
CREATE TABLE ${a}.script (a INT) USING parquet;

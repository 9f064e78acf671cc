-- //// CHANGE name=init
CREATE TABLE ${s}.script (a INT) USING parquet;

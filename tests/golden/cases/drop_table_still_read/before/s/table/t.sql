-- //// CHANGE name=init
CREATE TABLE ${s}.t (a INT) USING parquet;

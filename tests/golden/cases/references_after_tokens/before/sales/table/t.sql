-- //// CHANGE name=init
CREATE TABLE ${schema}.t (a INT) USING parquet;

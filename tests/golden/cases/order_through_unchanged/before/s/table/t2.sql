-- //// CHANGE name=init
CREATE TABLE ${s}.t2 USING parquet AS SELECT a FROM ${s}.v1;

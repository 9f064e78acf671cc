-- //// CHANGE name=go
CREATE TABLE ${s}.copied USING parquet AS SELECT a FROM ${s}.t;

-- //// CHANGE name=one
CREATE TABLE ${s}.a (x INT) USING parquet;
-- //// CHANGE name=two
INSERT INTO ${s}.a SELECT x FROM ${s}.b;

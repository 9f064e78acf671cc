-- //// CHANGE name=one
CREATE TABLE ${s}.b (x INT) USING parquet;
-- //// CHANGE name=two
INSERT INTO ${s}.b SELECT x FROM ${s}.a;

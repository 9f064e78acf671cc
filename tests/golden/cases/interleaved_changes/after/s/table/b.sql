-- //// CHANGE name=one
CREATE TABLE ${s}.b (x INT) USING parquet;
-- //// CHANGE name=two dependencies=s.a.one
INSERT INTO ${s}.b SELECT x FROM ${s}.a;
-- //// CHANGE name=three
INSERT INTO ${s}.b SELECT x + 1 FROM ${s}.a;

-- //// CHANGE name=init
CREATE TABLE ${s}.t (a INT) USING parquet;
-- //// CHANGE name=bye DROP_TABLE
DROP TABLE IF EXISTS ${s}.t PURGE;

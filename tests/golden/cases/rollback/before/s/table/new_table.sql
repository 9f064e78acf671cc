-- //// CHANGE name=init
CREATE TABLE ${s}.new_table (a INT) USING parquet;
-- // ROLLBACK
DROP TABLE ${s}.new_table;

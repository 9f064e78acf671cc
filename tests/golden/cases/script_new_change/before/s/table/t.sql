-- //// CHANGE name=init
CREATE TABLE ${s}.t (id BIGINT) USING parquet;

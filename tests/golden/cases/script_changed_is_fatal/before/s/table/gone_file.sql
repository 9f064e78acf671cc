-- //// CHANGE name=init
CREATE TABLE ${s}.gone_file (id BIGINT) USING parquet;

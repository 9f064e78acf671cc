-- //// CHANGE name=init
CREATE TABLE ${s}.gone_change (id BIGINT) USING parquet;

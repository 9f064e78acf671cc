-- //// CHANGE name=init
CREATE TABLE ${s}.edited (id BIGINT) USING parquet;

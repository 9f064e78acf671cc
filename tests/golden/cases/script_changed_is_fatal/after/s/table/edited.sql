-- //// CHANGE name=init
CREATE TABLE ${s}.edited (id INT) USING parquet;

CREATE TABLE ${s}.t (id BIGINT, c INT) USING iceberg

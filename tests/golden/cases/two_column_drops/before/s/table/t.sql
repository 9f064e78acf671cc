CREATE TABLE ${s}.t (id BIGINT, a INT, b INT) USING iceberg

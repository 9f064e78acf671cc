CREATE TABLE ${s}.t (a INT, b INT) USING parquet;
-- //// INDEX name=by_a
CREATE INDEX by_a ON ${s}.t (a);

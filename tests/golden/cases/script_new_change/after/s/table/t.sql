-- //// CHANGE name=init
CREATE TABLE ${s}.t (id BIGINT) USING parquet;
-- //// CHANGE name=add_two
ALTER TABLE ${s}.t ADD COLUMNS (a INT);
ALTER TABLE ${s}.t ADD COLUMNS (b INT);
INSERT INTO ${s}.t VALUES (1, 2, 3);

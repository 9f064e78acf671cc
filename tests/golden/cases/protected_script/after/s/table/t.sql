-- //// METADATA lifecycle=protected
-- //// CHANGE name=init
CREATE TABLE ${s}.t (a INT, b INT) USING iceberg;
-- //// CHANGE name=widen
ALTER TABLE ${s}.t ADD COLUMNS (c INT);
-- //// CHANGE name=narrow
ALTER TABLE ${s}.t DROP COLUMN b;
-- //// CHANGE name=more
ALTER TABLE ${s}.t ADD COLUMNS (d INT);

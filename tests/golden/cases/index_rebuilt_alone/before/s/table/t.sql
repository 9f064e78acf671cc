-- //// METADATA compute=etl
-- //// CHANGE name=init
CREATE TABLE ${s}.t (a INT, b INT);
-- //// INDEX name=by_a
CREATE INDEX by_a ON ${s}.t (a);
-- //// INDEX name=by_b
CREATE INDEX by_b ON ${s}.t (b);

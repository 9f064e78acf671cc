CREATE TABLE ${s}.t (a INT);
-- //// INDEX name=by_a compute=etl
CREATE INDEX by_a ON ${s}.t (a) OPTIONS (x = 1);

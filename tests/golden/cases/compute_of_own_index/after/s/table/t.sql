-- //// CHANGE name=init
CREATE TABLE ${s}.t (a INT, b INT);
-- //// CHANGE name=more
ALTER TABLE ${s}.t ADD COLUMNS (d INT);
-- //// INDEX name=by_a compute=idx
CREATE INDEX by_a ON ${s}.t (a);
-- //// INDEX name=by_b
CREATE INDEX by_b ON ${s}.t (b);

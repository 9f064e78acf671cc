-- //// METADATA compute=etl
-- //// CHANGE name=init
CREATE TABLE ${s}.t (a INT, b INT);
-- //// INDEX name=by_a
CREATE INDEX by_a ON ${s}.t (a, b);
-- //// INDEX name=by_b
create index by_b on ${s}.t (b);

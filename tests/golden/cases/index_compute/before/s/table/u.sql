CREATE TABLE ${s}.u (b INT);
-- //// INDEX name=by_b compute=ETL
CREATE INDEX by_b ON ${s}.u (b);

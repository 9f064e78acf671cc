CREATE MATERIALIZED VIEW ${s}.untouched AS SELECT 1 AS a;
-- //// INDEX name=by_a
CREATE INDEX by_a ON ${s}.untouched (a);

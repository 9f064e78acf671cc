CREATE MATERIALIZED VIEW ${s}.edited AS SELECT 1 AS a;
-- //// INDEX name=by_a
CREATE INDEX by_a ON ${s}.edited (a);

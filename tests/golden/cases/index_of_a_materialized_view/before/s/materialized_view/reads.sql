CREATE MATERIALIZED VIEW ${s}.reads AS SELECT a FROM ${s}.v;
-- //// INDEX name=by_a
CREATE INDEX by_a ON ${s}.reads (a);

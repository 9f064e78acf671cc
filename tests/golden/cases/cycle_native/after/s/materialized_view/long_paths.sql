CREATE MATERIALIZED VIEW ${s}.long_paths (a BIGINT, b BIGINT) AS
SELECT DISTINCT e.a, p.b FROM ${s}.edges e JOIN ${s}.all_paths p ON p.a = e.b

CREATE MATERIALIZED VIEW ${s}.negated (x BIGINT) AS
SELECT DISTINCT x FROM ${s}.agg
WHERE NOT EXISTS (SELECT 1 FROM ${s}.bag WHERE bag.x = agg.x) AND x < (SELECT max(x) FROM ${s}.t)

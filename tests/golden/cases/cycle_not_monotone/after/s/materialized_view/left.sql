CREATE MATERIALIZED VIEW ${s}.left (x BIGINT) AS
SELECT DISTINCT ok.x FROM ${s}.agg AS ok
LEFT JOIN ${s}.negated AS other ON other.x = ok.x

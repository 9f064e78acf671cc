-- paths of any length

CREATE MATERIALIZED VIEW ${s}.all_paths (a BIGINT, b BIGINT) AS
SELECT a, b FROM ${s}.edges
UNION
SELECT a, b FROM ${s}.long_paths

CREATE MATERIALIZED VIEW ${s}.moved COMMENT 'of the statement' AS SELECT 1 AS a

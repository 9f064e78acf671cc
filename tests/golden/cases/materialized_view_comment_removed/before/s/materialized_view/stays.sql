CREATE MATERIALIZED VIEW ${s}.stays COMMENT 'of the statement' AS SELECT 1 AS a

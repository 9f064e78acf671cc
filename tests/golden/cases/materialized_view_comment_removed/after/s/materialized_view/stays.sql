CREATE MATERIALIZED VIEW ${s}.stays COMMENT 'of the statement' AS SELECT 2 AS a

CREATE VIEW ${s}.commented COMMENT 'old' AS SELECT 1 AS a

CREATE VIEW ${s}.commented COMMENT 'new' AS SELECT 1 AS a

CREATE VIEW ${a}.changed AS SELECT 1 AS a

CREATE VIEW ${a}.changed AS SELECT 2 AS a

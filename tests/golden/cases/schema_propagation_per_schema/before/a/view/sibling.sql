CREATE VIEW ${a}.sibling AS SELECT 1 AS a

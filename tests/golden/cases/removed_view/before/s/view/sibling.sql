CREATE VIEW ${s}.sibling AS SELECT 1 AS a

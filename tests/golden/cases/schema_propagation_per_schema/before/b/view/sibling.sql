CREATE VIEW ${b}.sibling AS SELECT 1 AS a

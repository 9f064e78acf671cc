CREATE VIEW ${schema}.sibling AS SELECT 1 AS x

CREATE VIEW ${b}.nowhere AS SELECT 1 AS a

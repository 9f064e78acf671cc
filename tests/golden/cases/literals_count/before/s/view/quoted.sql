CREATE VIEW ${s}.quoted AS SELECT 1 AS `a`

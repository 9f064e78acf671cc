CREATE VIEW ${s}.a AS SELECT 1 AS a WHERE ${minimum} > 1

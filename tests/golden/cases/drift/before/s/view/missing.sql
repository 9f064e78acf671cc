CREATE VIEW ${s}.missing AS SELECT 1 AS a

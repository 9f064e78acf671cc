CREATE VIEW ${s}.columns (a) AS SELECT 1

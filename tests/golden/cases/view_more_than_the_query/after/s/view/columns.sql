CREATE VIEW ${s}.columns (b) AS SELECT 1

CREATE VIEW ${s}.old_name AS SELECT 1 AS a

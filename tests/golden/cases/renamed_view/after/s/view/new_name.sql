CREATE VIEW ${s}.new_name AS SELECT 1 AS a

CREATE VIEW ${s}.view_to_mv AS SELECT 1 AS a

CREATE VIEW ${s}.table_to_view AS SELECT 1 AS a

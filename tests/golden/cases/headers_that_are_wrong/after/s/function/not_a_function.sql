CREATE VIEW ${s}.not_a_function AS SELECT 1 AS a

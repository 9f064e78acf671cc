CREATE VIEW ${s}.comment AS SELECT 1 AS a -- ${minimum}, and ${not_defined} does not matter here

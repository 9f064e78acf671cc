CREATE VIEW ${schema}.stays AS SELECT 1 AS x

CREATE VIEW ${schema}.elsewhere AS SELECT a FROM sales.t

CREATE VIEW ${schema}.spelled_out AS SELECT a FROM spark_catalog.prod_sales.t

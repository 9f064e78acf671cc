CREATE VIEW ${schema}.by_part AS SELECT a FROM ${prefix}_sales.t

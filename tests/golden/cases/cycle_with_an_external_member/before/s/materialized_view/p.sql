-- //// METADATA lifecycle=external
CREATE MATERIALIZED VIEW ${s}.p (a INT) AS SELECT a FROM ${s}.e UNION SELECT a FROM ${s}.q

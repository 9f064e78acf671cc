-- //// METADATA comment="with a list of columns"
CREATE VIEW ${s}.listed (b) AS SELECT a FROM ${s}.base

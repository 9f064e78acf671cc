-- //// METADATA comment="of the header"
CREATE MATERIALIZED VIEW ${s}.moved AS SELECT 1 AS a

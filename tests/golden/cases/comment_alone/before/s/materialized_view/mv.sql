-- //// METADATA comment=old
CREATE MATERIALIZED VIEW ${s}.mv AS SELECT a FROM ${s}.t

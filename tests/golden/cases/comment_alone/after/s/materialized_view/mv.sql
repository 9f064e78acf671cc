-- //// METADATA comment="it's new" schedule="0 1 * * *"
CREATE MATERIALIZED VIEW ${s}.mv AS SELECT a FROM ${s}.t

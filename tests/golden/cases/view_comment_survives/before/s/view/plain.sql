-- //// METADATA comment="without"
CREATE VIEW ${s}.plain AS SELECT a FROM ${s}.base

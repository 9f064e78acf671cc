-- //// METADATA dependencies=other
CREATE VIEW ${s}.replaced AS SELECT a FROM ${s}.base

-- //// METADATA dependencies=s.t.missing
CREATE VIEW ${s}.b AS SELECT a FROM ${s}.t

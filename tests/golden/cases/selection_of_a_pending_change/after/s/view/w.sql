-- //// METADATA dependencies=s.t.init
CREATE VIEW ${s}.w AS SELECT a FROM ${s}.t

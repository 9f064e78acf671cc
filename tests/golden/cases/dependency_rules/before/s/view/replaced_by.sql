-- //// METADATA dependencies=" s.found , s.INCLUDED "
CREATE VIEW ${s}.replaced_by AS SELECT a FROM ${s}.base

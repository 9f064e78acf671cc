-- //// METADATA dependancies=s.t
CREATE VIEW ${s}.unknown AS SELECT 1 AS a

-- //// METADATA includeDependencies=s.missing
CREATE VIEW ${s}.a AS SELECT 1 AS a

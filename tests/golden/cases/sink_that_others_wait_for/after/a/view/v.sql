-- //// METADATA includeDependencies=a.b
CREATE VIEW ${a}.v AS SELECT 1 AS one

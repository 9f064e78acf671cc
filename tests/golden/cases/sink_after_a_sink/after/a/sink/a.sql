-- //// METADATA includeDependencies=a.b
INSERT INTO e.r SELECT 1

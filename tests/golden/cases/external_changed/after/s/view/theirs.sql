-- //// METADATA lifecycle=external
CREATE VIEW ${s}.theirs AS SELECT 1 AS a, 2 AS b

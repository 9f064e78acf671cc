-- //// METADATA replacement=true
CREATE VIEW ${s}.stable AS SELECT 2 AS a

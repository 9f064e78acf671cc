-- //// METADATA replacement=true
CREATE VIEW ${s}.stable AS SELECT 1 AS a

CREATE VIEW ${s}.column AS SELECT t.t FROM (SELECT 1 AS t) AS t -- not s.t

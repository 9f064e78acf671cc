CREATE VIEW ${other}.unqualified_other AS SELECT a FROM t

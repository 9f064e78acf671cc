CREATE VIEW ${s}.unqualified AS SELECT a FROM T

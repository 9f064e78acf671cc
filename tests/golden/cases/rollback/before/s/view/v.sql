CREATE VIEW ${s}.v AS SELECT a + 1 AS a FROM ${s}.t

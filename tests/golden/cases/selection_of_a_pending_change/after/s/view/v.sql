CREATE VIEW ${s}.v AS SELECT a, b FROM ${s}.t

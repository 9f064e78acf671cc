CREATE VIEW ${s}.v AS SELECT id, a, b FROM ${s}.t

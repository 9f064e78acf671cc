CREATE VIEW ${s}.v AS SELECT id, c FROM ${s}.t

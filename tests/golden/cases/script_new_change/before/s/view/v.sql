CREATE VIEW ${s}.v AS SELECT id FROM ${s}.t

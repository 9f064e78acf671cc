CREATE VIEW ${s}.v AS SELECT name FROM ${s}.rows

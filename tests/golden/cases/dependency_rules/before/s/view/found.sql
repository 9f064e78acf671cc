CREATE VIEW ${s}.found AS SELECT a FROM ${s}.base

CREATE VIEW ${s}.v AS SELECT a FROM ${s}.recreated

CREATE VIEW ${other}.v AS SELECT a FROM ${s}.gone

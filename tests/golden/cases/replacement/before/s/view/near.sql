CREATE VIEW ${s}.near AS SELECT a FROM ${s}.stable

CREATE VIEW ${other}.far AS SELECT a FROM ${s}.stable

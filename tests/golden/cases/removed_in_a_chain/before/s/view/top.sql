CREATE VIEW ${s}.top AS SELECT a FROM ${s}.middle

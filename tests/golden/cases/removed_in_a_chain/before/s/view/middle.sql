CREATE VIEW ${s}.middle AS SELECT a FROM ${s}.bottom

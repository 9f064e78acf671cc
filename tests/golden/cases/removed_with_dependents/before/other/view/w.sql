CREATE VIEW ${other}.w AS SELECT a FROM ${other}.v

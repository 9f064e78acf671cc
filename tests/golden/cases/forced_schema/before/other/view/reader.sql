CREATE VIEW ${other}.reader AS SELECT a FROM ${s}.mv

CREATE VIEW ${s}.reader AS SELECT a FROM ${s}.q

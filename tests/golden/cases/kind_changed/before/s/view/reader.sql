CREATE VIEW ${s}.reader AS SELECT a FROM ${s}.view_to_mv

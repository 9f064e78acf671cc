CREATE VIEW ${s}.reader AS SELECT a FROM ${s}.new_name

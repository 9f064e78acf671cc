CREATE VIEW ${s}.reader AS SELECT a FROM ${s}.old_name

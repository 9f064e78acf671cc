CREATE VIEW ${s}.reader AS SELECT m.a FROM ${s}.missing m JOIN ${s}.view v ON m.a = v.a

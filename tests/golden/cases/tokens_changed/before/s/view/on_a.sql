CREATE VIEW ${s}.on_a AS SELECT a FROM ${s}.a

CREATE VIEW ${s}.needs_new AS SELECT a FROM ${s}.new

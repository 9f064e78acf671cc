CREATE VIEW ${s}.on_b AS SELECT a FROM ${schema}.${which}

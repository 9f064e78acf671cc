CREATE VIEW ${s}.b AS SELECT ${maximum} AS a

CREATE VIEW ${s}.new_view AS SELECT a FROM ${s}.new_table

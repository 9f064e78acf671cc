CREATE VIEW ${s}.v AS SELECT place.city FROM ${s}.t

-- //// METADATA lifecycle=external
CREATE VIEW ${s}.their_view AS SELECT a FROM ${s}.theirs

CREATE VIEW ${s}.reader AS SELECT a FROM ${s}.theirs JOIN ${s}.their_view USING (a)

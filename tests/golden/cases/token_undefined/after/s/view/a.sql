CREATE VIEW ${s}.a AS
SELECT ${nope} AS a

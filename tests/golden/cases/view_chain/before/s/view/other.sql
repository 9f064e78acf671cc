CREATE VIEW ${s}.other AS SELECT 'v1, s.v1 and f(1)' AS text

CREATE VIEW ${s}.literal AS SELECT 'a  b' AS text

CREATE VIEW ${s}.a AS
SELECT x FROM ${s}.b JOIN ${s}.c USING (x)

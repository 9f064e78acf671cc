-- //// METADATA schedule="0 1 * * *"
CREATE VIEW ${s}.wrong_kind AS SELECT 1 AS a

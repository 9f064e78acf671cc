CREATE VIEW ${c}.bystander AS SELECT 1 AS a

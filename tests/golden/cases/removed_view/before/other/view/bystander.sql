CREATE VIEW ${other}.bystander AS SELECT 1 AS a

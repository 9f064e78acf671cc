-- //// METADATA compute=etl
CREATE VIEW ${other}.v AS SELECT 1 AS a

-- //// METADATA compute=etl
CREATE VIEW ${s}.v AS SELECT 1 AS a

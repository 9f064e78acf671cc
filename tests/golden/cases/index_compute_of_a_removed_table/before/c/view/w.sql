-- //// METADATA compute=etl
CREATE VIEW ${c}.w AS SELECT 1 AS one

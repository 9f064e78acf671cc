-- //// METADATA compute=other
CREATE VIEW ${other}.w AS SELECT 1 AS a

-- //// METADATA compute=small
CREATE VIEW ${c}.on_small AS SELECT 1 AS a

-- //// METADATA compute=small
CREATE VIEW ${b}.on_small AS SELECT 1 AS a

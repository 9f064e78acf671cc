-- //// METADATA compute=Big
CREATE VIEW ${b}.on_big AS SELECT 1 AS a

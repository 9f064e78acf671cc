-- //// METADATA compute=shared
CREATE VIEW ${b}.on_shared AS SELECT 1 AS a

-- //// METADATA compute=shared
CREATE VIEW ${a}.on_shared AS SELECT 1 AS a

-- //// METADATA compute=big
CREATE VIEW ${a}.v AS SELECT 1 AS a

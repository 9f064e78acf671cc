-- //// METADATA compute=big
CREATE VIEW ${a}.v AS SELECT 2 AS a

-- //// METADATA compute=old
CREATE VIEW ${a}.on_old AS SELECT 1 AS a

-- //// METADATA excludeEnvs=DEV_*
CREATE VIEW ${s}.everywhere AS SELECT 1 AS a

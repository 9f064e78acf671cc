-- //// METADATA includeEnvs=prod
CREATE VIEW ${s}.prod_only AS SELECT a FROM ${s}.t

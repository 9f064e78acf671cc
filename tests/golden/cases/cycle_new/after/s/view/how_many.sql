CREATE VIEW ${s}.how_many AS SELECT count(*) AS n FROM ${s}.all_paths

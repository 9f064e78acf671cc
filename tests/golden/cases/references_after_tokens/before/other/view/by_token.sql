CREATE VIEW ${schema}.by_token AS SELECT a FROM ${sales}.t

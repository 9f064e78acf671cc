CREATE VIEW ${s}.mid AS SELECT a FROM ${s}.low

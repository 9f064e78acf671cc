CREATE VIEW ${s}.v AS SELECT a.x FROM ${s}.a JOIN ${s}.b ON a.x = b.x

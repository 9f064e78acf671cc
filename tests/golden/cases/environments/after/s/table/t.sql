-- //// CHANGE name=init
CREATE TABLE ${s}.t (a INT);
-- //// CHANGE name=sample includeEnvs="dev_* , test"
INSERT INTO ${s}.t VALUES (1);
-- //// INDEX name=by_a excludeEnvs=dev*
CREATE INDEX by_a ON ${s}.t (a);

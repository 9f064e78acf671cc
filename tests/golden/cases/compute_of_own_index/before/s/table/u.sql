-- //// CHANGE name=init
CREATE TABLE ${s}.u (c INT);
-- //// INDEX name=by_c compute=idx
CREATE INDEX by_c ON ${s}.u (c);

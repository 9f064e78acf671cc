CREATE TABLE ${s}.t (a INT);
-- //// INDEX name=new
CREATE INDEX new ON ${s}.t (a);

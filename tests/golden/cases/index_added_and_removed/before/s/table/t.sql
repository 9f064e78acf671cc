CREATE TABLE ${s}.t (a INT);
-- //// INDEX name=old
CREATE INDEX old ON ${s}.t (a);

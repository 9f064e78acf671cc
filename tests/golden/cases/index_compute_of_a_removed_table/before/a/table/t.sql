CREATE TABLE ${a}.t (id INT);
-- //// INDEX name=i compute=etl
CREATE INDEX i ON ${a}.t (id);

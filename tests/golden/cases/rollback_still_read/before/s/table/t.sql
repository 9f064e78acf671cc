-- //// CHANGE name=init
CREATE TABLE ${s}.t (a INT);
-- // ROLLBACK
DROP TABLE ${s}.t;

CREATE TABLE ${s}.t (a INT, b INT)

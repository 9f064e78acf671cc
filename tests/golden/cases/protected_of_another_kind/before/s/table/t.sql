CREATE TABLE ${s}.t (a INT)

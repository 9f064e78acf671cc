CREATE TABLE ${s}.e (a INT)

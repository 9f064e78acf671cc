CREATE TABLE ${s}.kept (a INT)

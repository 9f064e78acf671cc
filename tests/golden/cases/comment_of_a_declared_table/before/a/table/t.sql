CREATE TABLE ${a}.t (id INT)

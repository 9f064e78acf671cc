-- //// METADATA comment=hello
CREATE TABLE ${a}.t (id INT)

-- //// METADATA lifecycle=protected
CREATE TABLE ${s}.t (id INT)

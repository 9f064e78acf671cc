-- //// CHANGE name=go
INSERT INTO ${s}.t VALUES ('it\'s; fine', "a;b"); -- one; two
INSERT INTO ${s}.t VALUES ('--not a comment; nor an end', nvl(NULL, 'x'));
/* ; /* ; */ */ ;
BEGIN
  INSERT INTO ${s}.t VALUES ('1', '2');
  INSERT INTO ${s}.t VALUES ('3', '4');
END;
TRUNCATE TABLE ${s}.other

-- //// CHANGE name=go
INSERT INTO elsewhere.t VALUES (1);
DROP TABLE elsewhere.u;
INSERT INTO elsewhere.t VALUES (2);

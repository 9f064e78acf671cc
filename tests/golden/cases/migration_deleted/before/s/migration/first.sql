-- //// CHANGE name=go
INSERT INTO ${s}.t VALUES (1);

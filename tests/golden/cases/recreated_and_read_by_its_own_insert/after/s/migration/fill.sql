-- //// CHANGE name=rows
INSERT INTO ${s}.t SELECT id + 1 FROM ${s}.t;

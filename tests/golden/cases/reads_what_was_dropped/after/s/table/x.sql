-- //// METADATA DROP_TABLE
-- //// CHANGE name=init
CREATE TABLE ${s}.x (a INT);

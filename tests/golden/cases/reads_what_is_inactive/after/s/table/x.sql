-- //// METADATA INACTIVE
-- //// CHANGE name=init
CREATE TABLE ${s}.x (a INT);

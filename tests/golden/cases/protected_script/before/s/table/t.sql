-- //// METADATA lifecycle=protected
-- //// CHANGE name=init
CREATE TABLE ${s}.t (a INT, b INT) USING iceberg;

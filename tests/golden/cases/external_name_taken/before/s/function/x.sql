-- //// METADATA lifecycle=external
CREATE FUNCTION ${s}.x() RETURNS INT RETURN 1

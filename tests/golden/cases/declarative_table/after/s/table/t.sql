CREATE TABLE ${s}.t (a INTEGER COMMENT 'the first', b INT)
USING parquet COMMENT 'a table' TBLPROPERTIES ('owner_team' = 'x')

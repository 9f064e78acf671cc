-- //// CHANGE name=init
CREATE TABLE ${s}.t (a INT) USING parquet;
-- //// CHANGE name=second
ALTER TABLE ${s}.t SET TBLPROPERTIES ('second' = '2');
-- // ROLLBACK
ALTER TABLE ${s}.t UNSET TBLPROPERTIES ('second');
-- //// CHANGE name=third
ALTER TABLE ${s}.t SET TBLPROPERTIES ('third' = '3');
-- // ROLLBACK
ALTER TABLE ${s}.t UNSET TBLPROPERTIES ('third');

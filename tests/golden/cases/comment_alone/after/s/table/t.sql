-- //// METADATA comment=new tags=a lifecycle=protected
-- //// CHANGE name=init
CREATE TABLE ${s}.t (a INT) USING parquet;

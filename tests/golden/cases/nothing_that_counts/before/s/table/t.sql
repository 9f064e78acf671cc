//// METADATA tags=one
//// CHANGE name=init
CREATE TABLE ${s}.t (`Id` BIGINT, note STRING) USING parquet;

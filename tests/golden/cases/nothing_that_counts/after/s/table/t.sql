-- a script may be formatted, too
-- //// METADATA tags=one,two
-- //// CHANGE name=INIT
create   table ${s}.T (
  `Id` bigint, -- the key
  note string
) using PARQUET;

-- the same, spelled differently
CREATE TABLE IF NOT EXISTS ${s}.same (
  a INTEGER,
  b NUMERIC(10, 2)
) USING PARQUET;

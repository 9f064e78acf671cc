-- Declarative: the file says what the table is, and a difference becomes an ALTER. There is no
-- USING, so it is Spark's default format in dev and a table of the database in prod.
-- Protected: it is never dropped, and never loses a column.
-- //// METADATA lifecycle=protected comment="Who we buy from, and how content we are"
CREATE TABLE ${ref}.suppliers (
  supplier_id BIGINT NOT NULL,
  name STRING,
  country_code STRING,
  rating INT
);

-- The built-in catalog of dev has no indexes, the database has.
-- //// INDEX name=by_country includeEnvs=prod compute=master_db
CREATE INDEX by_country ON ${ref}.suppliers (country_code);

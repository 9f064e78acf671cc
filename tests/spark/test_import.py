"""A schema that is there already becomes files, and then there is nothing to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from airflow_provider_sparkdeploy.cli import main
from airflow_provider_sparkdeploy.core.names import quote
from airflow_provider_sparkdeploy.spark.session import ConnectSessions, Sessions

TABLES = (
    """CREATE TABLE kinds (id BIGINT NOT NULL, `a b` STRING COMMENT 'it''s \\\\ "x"', c DECIMAL(12, 2) DEFAULT 3,
       v VARCHAR(12), ch CHAR(3), s STRUCT<x: INT COMMENT 'inside', `y z`: ARRAY<STRING>>, m MAP<STRING, INT>,
       n TIMESTAMP_NTZ, u STRING COLLATE UNICODE_CI, w STRUCT<v: VARCHAR(3)>, `order` INT, d DATE COMMENT 'day')
       USING parquet PARTITIONED BY (d) COMMENT 'two\\nlines' TBLPROPERTIES ('k' = 'v, w', 'password' = 'p')""",
    "CREATE TABLE delimited (a INT, b STRING) USING csv OPTIONS (header 'true', sep ';')",
    "CREATE TABLE bucketed (a INT, b INT) USING parquet CLUSTERED BY (a) SORTED BY (b) INTO 4 BUCKETS",
    "CREATE TABLE clustered (a INT, B STRING) USING parquet CLUSTER BY (b, a)",
    "CREATE TABLE hive_parts (a INT) PARTITIONED BY (p STRING COMMENT 'part') STORED AS ORC",
    "CREATE TABLE hive_rows (a INT) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' STORED AS TEXTFILE",
    "CREATE TABLE `select` (a INT) USING parquet",
    "CREATE TABLE deep (a STRUCT<b: STRUCT<c: ARRAY<MAP<STRING, STRUCT<d: DECIMAL(38, 18), `e-f`: BINARY>>>>>) USING parquet",
    "CREATE TABLE spans (a INTERVAL YEAR TO MONTH, b INTERVAL DAY TO SECOND, c INTERVAL HOUR TO MINUTE) USING parquet",
    "CREATE TABLE small (a TINYINT, b SMALLINT, c FLOAT, d DOUBLE, e BOOLEAN, f BINARY, g TIMESTAMP_LTZ) USING orc",
    "CREATE TABLE two_parts (a INT, y INT, m STRING COMMENT 'month') USING orc PARTITIONED BY (y, m)",
    "CREATE TABLE defaults (a INT DEFAULT 1 + 1, b STRING DEFAULT 'x''y', c TIMESTAMP DEFAULT current_timestamp(), "
    "d DATE DEFAULT DATE '2020-01-01', e ARRAY<INT> DEFAULT array(1, 2)) USING parquet",
    "CREATE TABLE written (`größe` INT COMMENT 'in € – ä', `名前` STRING, `a.b` INT, `c``d` INT) USING parquet",
    "CREATE TABLE properties (a INT) USING parquet TBLPROPERTIES ('a.b.c' = 'x''y', 'empty' = '', 'n' = 1)",
    "CREATE TABLE lines (value STRING) USING text",
    "CREATE TABLE hushed (a INT) USING parquet COMMENT ''",
    "CREATE VIEW hushed_view COMMENT '' AS SELECT a FROM hushed",
    "CREATE TABLE odd_types (v VARIANT, w STRING COLLATE UTF8_LCASE, n VOID) USING parquet",
    "CREATE TABLE documents (a INT, b STRUCT<c: INT>) USING json OPTIONS (multiLine 'true')",
    "CREATE TABLE Upper_Case (Id INT, NAME STRING) USING parquet",
    "CREATE TABLE `2024` (`from` INT, `table` STRING) USING parquet",
    "CREATE TABLE copied USING parquet AS SELECT 1 AS a, 'x' AS b",
    "CREATE TABLE like_kinds LIKE kinds",
    "CREATE TABLE hive_serde (a STRING) ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde' "
    "WITH SERDEPROPERTIES ('separatorChar' = ';')",
    f"CREATE TABLE wide ({', '.join(f'c{n} INT' for n in range(300))}) USING parquet",
)
LATER = (  # what happened to some of them
    "INSERT INTO kinds (id, d) VALUES (1, DATE '2024-01-01')",
    "ALTER TABLE copied ADD COLUMNS (c INT COMMENT 'later')",
    "ALTER TABLE copied SET TBLPROPERTIES ('owner of it' = 'finance')",
    "COMMENT ON TABLE small IS 'said later'",
    "ALTER VIEW windows AS SELECT id, sum(c) OVER (PARTITION BY d ORDER BY id) AS running FROM kinds",
    "ANALYZE TABLE kinds COMPUTE STATISTICS",
)
VIEWS = (
    "CREATE VIEW first AS SELECT id, c -- why\n FROM kinds WHERE `a b` <> 'x;y'",
    "CREATE VIEW second (x COMMENT 'of x', `y z`) COMMENT 'it''s' TBLPROPERTIES ('k' = 'v') AS SELECT id, c FROM {s}.first",
    "CREATE VIEW third WITH SCHEMA EVOLUTION AS SELECT * FROM second",
    "CREATE VIEW commented (id COMMENT 'of this view', c) AS SELECT id, c FROM first",
    "CREATE VIEW alias AS SELECT {s}.id FROM {s}.kinds AS {s}",
    "CREATE VIEW literal AS SELECT 'FROM {s}.kinds; --' AS text, \"two\" AS `c d`, r'\\d+' AS raw, id /* why */ FROM kinds",
    "CREATE VIEW with_cte AS WITH a AS (SELECT id FROM kinds), b AS (SELECT id FROM a) SELECT * FROM b UNION ALL SELECT 1",
    "CREATE VIEW windows AS SELECT 1 AS id",
    "CREATE VIEW exploded AS SELECT id, e FROM kinds LATERAL VIEW explode(s.`y z`) AS e",
    "CREATE VIEW backwards AS FROM kinds SELECT id WHERE id > (SELECT max(a) FROM delimited)",
    "CREATE VIEW rows_only AS VALUES (1, 'a'), (2, 'b') AS t(n, s)",
    "CREATE VIEW hinted AS SELECT /*+ COALESCE(1) */ k.id FROM kinds k JOIN {s}.`select` s ON s.a = k.id",
    "CREATE VIEW bound WITH SCHEMA BINDING AS SELECT `größe` AS size FROM written",
    "CREATE VIEW odd_names AS SELECT `from` AS `select`, `table` AS `a b` FROM `2024`",
)
FUNCTIONS = (
    "CREATE FUNCTION adds(x INT COMMENT 'it''s x', `y y` INT DEFAULT 1+1, z STRING DEFAULT 'a b' COMMENT 'c d') "
    "RETURNS INT COMMENT 'adds\\nthem' RETURN x + `y y`",
    "CREATE FUNCTION told(x INT, y STRING DEFAULT 'it''s' COMMENT 'it''s \"y\"', n INT DEFAULT 1 COMMENT 'a ''b'' c') "
    "RETURNS INT RETURN x + n",
    "CREATE FUNCTION dated(d DATE DEFAULT DATE '2020-01-01', e DATE DEFAULT date_add(DATE '2020-01-01', 1) COMMENT 'e', "
    "s STRING DEFAULT concat('a', 'b') COMMENT 'of (two)') RETURNS DATE RETURN d",
    "CREATE FUNCTION rows_of(x INT) RETURNS TABLE (y INT COMMENT 'of y', `z z` STRING) COMMENT 'tab' "
    "RETURN SELECT x AS y, 'a' UNION ALL SELECT 2, 'b' FROM {s}.kinds",
    "CREATE FUNCTION inferred() RETURN named_struct('a', 1)",
    "CREATE FUNCTION random_id() RETURNS STRING RETURN uuid()",
    "CREATE FUNCTION nested(x INT) RETURNS INT RETURN {s}.adds(x, 2) + 1",
    "CREATE FUNCTION reads() RETURNS BIGINT RETURN (SELECT count(*) FROM {s}.first)",
    "CREATE FUNCTION shaped(a ARRAY<STRUCT<x: INT>>, m MAP<STRING, DECIMAL(5, 1)>) RETURNS STRUCT<n: INT, t: STRING> "
    "RETURN named_struct('n', size(a), 't', 'x;y') -- why",
)
USERS = (  # views of functions, and views of those
    "CREATE VIEW calls AS SELECT {s}.nested(1) AS one, adds(1) AS two",
    "CREATE VIEW tabled AS SELECT y FROM {s}.rows_of(1)",
    "CREATE VIEW top AS SELECT c.one, t.y FROM calls c CROSS JOIN tabled t",
)


@pytest.fixture
def old(sessions: Sessions, schema: str, tmp_path: Path) -> Iterator[str]:
    """A schema as somebody made it by hand, long ago."""
    with sessions.open() as spark:
        spark.sql(f"USE {schema}")
        for statement in (*TABLES, *VIEWS, *FUNCTIONS, *USERS, *LATER):
            spark.sql(statement.replace("{s}", schema))
    yield schema
    with sessions.open() as spark:
        for name in (f"{schema}_log", f"{schema}_data"):
            spark.sql(f"DROP SCHEMA IF EXISTS {name} CASCADE")


class Adopting:
    """A repository that is being made of a catalog."""

    def __init__(self, folder: Path, sessions: ConnectSessions, schema: str) -> None:
        self.folder, self.schema = folder, schema
        self._url = sessions.address
        self._own = ("--set", f"log_schema={schema}_log", "--set", f"data_schema={schema}_data")

    def call(self, *arguments: str, spark: bool = False, code: int = 0) -> str:
        place = ["--repository", str(self.folder), *self._own, *(("--spark", self._url) if spark else ())]
        done = CliRunner().invoke(main, [*arguments, *place])
        assert done.exit_code == code, done.output
        return done.output

    def import_(self, *arguments: str, code: int = 0) -> str:
        return self.call("import", *arguments, spark=True, code=code)

    def text(self, path: str) -> str:
        return (self.folder / path).read_text("utf-8")

    def nothing_to_do(self) -> None:
        """By the log alone, and by the catalog."""
        self.call("baseline")
        assert "Nothing to do" in self.call("plan")
        assert "Nothing to do" in self.call("apply", "--dry-run", spark=True)


@pytest.fixture
def adopting(tmp_path: Path, sessions: ConnectSessions, schema: str) -> Adopting:
    return Adopting(tmp_path / "repository", sessions, schema)


def test_after_an_import_there_is_nothing_to_do(adopting: Adopting, old: str) -> None:
    told = adopting.import_(old)
    count = len(TABLES) + len(VIEWS) + len(FUNCTIONS) + len(USERS)
    assert count > 40
    assert f"Wrote {count} files from 1 schema." in told
    assert "SD510" in told, "Spark hides a password"
    adopting.nothing_to_do()


def test_files_say_what_is_there(adopting: Adopting, old: str) -> None:
    adopting.import_(old, "--folder", "shop")
    assert adopting.text("sparkdeploy.yaml") == f"schemas:\n  shop: {old}\n"
    kinds = adopting.text("shop/table/kinds.sql")
    assert kinds.startswith("CREATE TABLE ${shop}.kinds (\n  id BIGINT,\n")
    for line in (
        "`a b` STRING COMMENT 'it\\'s \\\\ \"x\"',",
        "c DECIMAL(12,2) DEFAULT 3,",
        "s STRUCT<x: INT COMMENT 'inside', `y z`: ARRAY<STRING>>,",
        "w STRUCT<v: VARCHAR(3)>,",
        "u STRING COLLATE UNICODE_CI,",
        "PARTITIONED BY (d)",
        "TBLPROPERTIES ('k' = 'v, w')",
    ):
        assert line in kinds
    assert "OPTIONS ('header' = 'true', 'sep' = ';')" in adopting.text("shop/table/delimited.sql")
    assert "FROM ${shop}.first" in adopting.text("shop/view/second.sql")
    assert adopting.text("shop/view/first.sql").startswith(
        "CREATE VIEW ${shop}.first AS\nSELECT id, c -- why\n"
    )
    assert "(id COMMENT 'of this view', c)" in adopting.text("shop/view/commented.sql")
    assert f"FROM {old}.kinds AS {old}" in adopting.text("shop/view/alias.sql"), "an alias is no schema"
    assert "FROM ${shop}.kinds" in adopting.text("shop/function/rows_of.sql")
    adopting.nothing_to_do()


def test_what_is_imported_can_be_deployed_elsewhere(
    adopting: Adopting, old: str, sessions: ConnectSessions
) -> None:
    """The files make the same objects where there are none: compared by importing those again."""
    adopting.import_(old, "--folder", "shop")
    copy = f"{old}_copy"
    elsewhere = Adopting(adopting.folder.parent / "elsewhere", sessions, old)
    with sessions.open() as spark:
        try:
            there = f"schemas={{shop: {copy}}}"
            (adopting.folder / "sparkdeploy.yaml").write_text(f"schemas:\n  shop: {copy}\n")
            (adopting.folder / "shop/view/alias.sql").unlink()  # it names its schema twice over
            adopting.call("apply", spark=True)
            elsewhere.import_(copy, "--folder", "shop")
            for path in sorted((elsewhere.folder / "shop").rglob("*.sql")):
                name = path.relative_to(elsewhere.folder).as_posix()
                assert path.read_text("utf-8") == adopting.text(name), there
        finally:
            spark.sql(f"DROP SCHEMA IF EXISTS {copy} CASCADE")


def test_what_a_file_cannot_say_is_named(
    adopting: Adopting, schema: str, sessions: ConnectSessions, tmp_path: Path
) -> None:
    data = f"{schema}_data"
    with sessions.open() as spark:
        spark.sql(f"USE {schema}")
        for statement in (
            "CREATE TABLE t (a INT) USING parquet",
            f"CREATE TABLE elsewhere (a INT) USING parquet LOCATION '{tmp_path / 'elsewhere'}'",
            "CREATE FUNCTION java AS 'org.apache.hadoop.hive.ql.udf.generic.GenericUDFAbs'",
            "CREATE FUNCTION t() RETURNS INT RETURN 1",
            f"CREATE SCHEMA {data}",
            f"CREATE TABLE {data}.mv_x_0123456789_20240101000000_abcdef (a INT) USING parquet",
            f"CREATE VIEW kept AS SELECT * FROM `spark_catalog`.`{data}`.`mv_x_0123456789_20240101000000_abcdef`",
            "USE default",
            f"CREATE TABLE IF NOT EXISTS default.of_{schema} (a INT) USING parquet",
            f"CREATE VIEW {schema}.stranger AS SELECT * FROM of_{schema}",
        ):
            spark.sql(statement)
        try:
            told = adopting.import_(schema)
            for why in (
                f"{schema}.java is left out: it is not written in SQL",
                f"{schema}.t is left out: there is a table or view of this name, too",
                f"{schema}.kept is left out: it is a materialized view",
                f"{schema}.stranger is left out: its query was written in spark_catalog.default, and names of_{schema}",
            ):
                assert why in told
            assert "Wrote 2 files from 1 schema; 4 objects left out." in told
            assert adopting.text(f"{schema}/table/elsewhere.sql").startswith(
                "-- //// METADATA lifecycle=external\n"
            )
            adopting.nothing_to_do()
        finally:
            spark.sql(f"DROP TABLE IF EXISTS default.of_{schema}")
            for name in (data, f"{schema}_log"):
                spark.sql(f"DROP SCHEMA IF EXISTS {quote((name,))} CASCADE")


def test_files_that_are_there_stay(adopting: Adopting, old: str) -> None:
    adopting.import_(old)
    changed = adopting.folder / old / "view" / "first.sql"
    changed.write_text("-- mine\n" + changed.read_text("utf-8"), "utf-8")
    (adopting.folder / old / "materialized_view").mkdir()
    (adopting.folder / old / "view" / "third.sql").rename(
        adopting.folder / old / "materialized_view" / "third.sql"
    )
    told = adopting.import_(old)
    assert "Wrote 0 files" in told
    assert changed.read_text("utf-8").startswith("-- mine\n")
    told = adopting.import_(old, "--force")
    assert "materialized_view/third.sql is there already" in told, "one name, one file"
    assert not (adopting.folder / old / "view" / "third.sql").exists()
    assert not changed.read_text("utf-8").startswith("-- mine\n")


def test_what_was_asked_for_has_to_make_sense(adopting: Adopting, schema: str) -> None:
    assert "SD507 there is no schema no_such_schema" in adopting.import_("no_such_schema", code=1)
    assert "SD508" in adopting.import_(f"{schema}_log", code=1)
    assert "--folder takes the files of one schema" in adopting.import_("a", "b", "--folder", "c", code=2)
    assert "is not a schema" in adopting.import_("a.b.c", code=2)
    (adopting.folder / "sparkdeploy.yaml").write_text("redeploy: replace\n")
    told = adopting.import_(schema, "--folder", "shop", code=1)
    assert f"the folder shop stands for shop, not for {schema}" in told
    assert f"schemas: {{shop: {schema}}}" in told

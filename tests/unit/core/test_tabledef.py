from __future__ import annotations

import pytest

from airflow_provider_sparkdeploy.core.lexer import tokens
from airflow_provider_sparkdeploy.core.objects import Column, TableDef
from airflow_provider_sparkdeploy.core.tabledef import (
    bucketing,
    canonical_partition,
    canonical_type,
    clustering,
    table_definition,
    type_key,
)


def define(sql: str) -> TableDef:
    found = table_definition(tokens(sql))
    assert found is not None
    return found


# What Spark 4.2 prints for each in DESCRIBE.
DESCRIBED = [
    ("BOOLEAN", "boolean"),
    ("BYTE", "tinyint"),
    ("TINYINT", "tinyint"),
    ("SHORT", "smallint"),
    ("SMALLINT", "smallint"),
    ("INT", "int"),
    ("INTEGER", "int"),
    ("LONG", "bigint"),
    ("BIGINT", "bigint"),
    ("FLOAT", "float"),
    ("REAL", "float"),
    ("DOUBLE", "double"),
    ("DEC", "decimal(10,0)"),
    ("DEC(5)", "decimal(5,0)"),
    ("NUMERIC", "decimal(10,0)"),
    ("NUMERIC(7,3)", "decimal(7,3)"),
    ("DECIMAL", "decimal(10,0)"),
    ("DECIMAL(5)", "decimal(5,0)"),
    ("DECIMAL ( 38 , 18 )", "decimal(38,18)"),
    ("STRING", "string"),
    ("STRING COLLATE UTF8_LCASE", "string collate UTF8_LCASE"),
    ("STRING COLLATE unicode_ci", "string collate UNICODE_CI"),
    ("STRING COLLATE SYSTEM.BUILTIN.UNICODE", "string collate UNICODE"),
    ("CHAR(3)", "char(3)"),
    ("CHARACTER(3)", "char(3)"),
    ("VARCHAR(10)", "varchar(10)"),
    ("VARCHAR(3) COLLATE UTF8_LCASE", "varchar(3) collate UTF8_LCASE"),
    ("BINARY", "binary"),
    ("DATE", "date"),
    ("TIMESTAMP", "timestamp"),
    ("TIMESTAMP_NTZ", "timestamp_ntz"),
    ("TIMESTAMP_LTZ", "timestamp"),
    ("TIMESTAMP WITHOUT TIME ZONE", "timestamp_ntz"),
    ("TIMESTAMP WITH LOCAL TIME ZONE", "timestamp"),
    ("TIME", "time(6)"),
    ("TIME(3)", "time(3)"),
    ("TIME WITHOUT TIME ZONE", "time(6)"),
    ("INTERVAL", "interval"),
    ("INTERVAL YEAR", "interval year"),
    ("INTERVAL YEAR TO MONTH", "interval year to month"),
    ("INTERVAL DAY TO SECOND", "interval day to second"),
    ("INTERVAL HOUR TO MINUTE", "interval hour to minute"),
    ("VARIANT", "variant"),
    ("VOID", "void"),
    ("GEOMETRY(4326)", "geometry(4326)"),
    ("GEOGRAPHY(ANY)", "geography(any)"),
    ("ARRAY<INT>", "array<int>"),
    ("array < array<array<int>>>", "array<array<array<int>>>"),
    ("ARRAY<ARRAY<INT> >", "array<array<int>>"),
    ("MAP<STRING, DECIMAL(10,2)>", "map<string,decimal(10,2)>"),
    ("STRUCT<>", "struct<>"),
    ("STRUCT<a: INT, B: STRING>", "struct<a:int,B:string>"),
    ("STRUCT<a INT, b: STRING NOT NULL COMMENT 'x, y>'>", "struct<a:int,b:string>"),
    (
        "STRUCT<a: INT NOT NULL COMMENT 'x', b: ARRAY<MAP<STRING, DECIMAL(10,2)>>>",
        "struct<a:int,b:array<map<string,decimal(10,2)>>>",
    ),
    ("STRUCT<order: INT, select: INT, `from`: INT, 1a: INT>", "struct<order:int,select:int,from:int,1a:int>"),
    ("STRUCT<a: STRING COLLATE UTF8_LCASE>", "struct<a:string collate UTF8_LCASE>"),
    ("ARRAY<CHAR(3)>", "array<char(3)>"),
    ("MAP<INT,STRUCT<x:TIMESTAMP_LTZ,y:INTERVAL DAY>>", "map<int,struct<x:timestamp,y:interval day>>"),
    ("ARRAY<STRUCT<>>", "array<struct<>>"),
]


@pytest.mark.parametrize(("written", "described"), DESCRIBED)
def test_types_are_spelled_as_describe_does(written: str, described: str) -> None:
    assert canonical_type(written) == described
    assert canonical_type(described) == described


@pytest.mark.parametrize(
    ("written", "described"),
    [
        ("STRUCT<`a b`: INT>", "struct<a b:int>"),
        ("STRUCT<`c.d`: INT>", "struct<c.d:int>"),
        ("STRUCT<`e``f`: INT>", "struct<e`f:int>"),
        ("STRUCT<`x:y`: INT>", "struct<x:y:int>"),
        ("STRUCT<`x,y`: INT>", "struct<x,y:int>"),
        ("STRUCT<`x-y`: INT, `1`: INT>", "struct<x-y:int,1:int>"),
        ("STRUCT<`it's`: INT>", "struct<it's:int>"),
        ("STRUCT<Mixed: INT>", "struct<MIXED:int>"),
        ("STRING COLLATE UTF8_BINARY", "string collate UTF8_BINARY"),
    ],
)
def test_types_that_describe_does_not_quote_are_the_same(written: str, described: str) -> None:
    assert type_key(canonical_type(written)) == type_key(canonical_type(described))


def test_unusual_fields_are_quoted_so_that_the_type_is_sql() -> None:
    assert canonical_type("STRUCT<`a b`: INT, c: INT>") == "struct<`a b`:int,c:int>"


def test_what_is_no_type_stays_as_it_is() -> None:
    assert canonical_type(" 5 apples ") == "5 apples"
    assert canonical_type("int int") == "int int"
    assert canonical_type("") == ""


def test_all_clauses() -> None:
    found = define(
        """CREATE OR REPLACE TABLE IF NOT EXISTS `c`.s.orders ( -- the orders
             id BIGINT NOT NULL COMMENT 'the ''id''',
             `a.b` STRUCT<x: INT NOT NULL COMMENT 'x', y: ARRAY<MAP<STRING, DECIMAL(10,2)>>>,
             dt DATE /* day */,
             CONSTRAINT pk PRIMARY KEY (id)
           ) USING Parquet
           OPTIONS ('compression' = 'snappy', header true)
           PARTITIONED BY (DT)
           CLUSTERED BY (id) SORTED BY (id ASC, `a.b`) INTO 8 BUCKETS
           LOCATION '/data/comment'
           COMMENT 'it\\'s ' "an order"
           TBLPROPERTIES ('k' = 'v', a.b = 1, f=TRUE)"""
    )
    assert found == TableDef(
        columns=(
            Column("id", "bigint", False, "the 'id'"),
            Column("a.b", "struct<x:int,y:array<map<string,decimal(10,2)>>>"),
            Column("dt", "date"),
        ),
        provider="parquet",
        partitioning=("dt", "bucket(8,id) sorted by (id,`a.b`)"),
        properties=(("a.b", "1"), ("f", "true"), ("k", "v")),
        comment="it's an order",
    )


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t USING parquet AS SELECT 1 AS a",
        "CREATE TABLE t (SELECT 1 AS a)",
        "CREATE TABLE t LIKE s",
        "CREATE TABLE t USING parquet LOCATION '/x'",
        "CREATE MATERIALIZED VIEW v AS SELECT 1",
        "CREATE VIEW v (a) AS SELECT 1",
        "ALTER TABLE t ADD COLUMNS (a INT)",
        "CREATE TABLE t (a INT",
        "CREATE TABLE t (a 5)",
        "CREATE TABLE",
        "",
    ],
)
def test_without_a_list_of_columns_there_is_no_definition(sql: str) -> None:
    assert table_definition(tokens(sql)) is None


@pytest.mark.parametrize(
    ("declared", "column"),
    [
        ("a INT DEFAULT 5 NOT NULL COMMENT 'x'", Column("a", "int", False, "x")),
        ("a INT COMMENT 'x' DEFAULT (1 + 2)", Column("a", "int", True, "x")),
        ("a STRING DEFAULT 'x, y) COMMENT'", Column("a", "string")),
        ("a BOOLEAN DEFAULT NOT true", Column("a", "boolean")),
        ("a BOOLEAN DEFAULT 1 IS NOT NULL", Column("a", "boolean")),
        ("a ARRAY<INT> DEFAULT array(1, 2) COMMENT 'x'", Column("a", "array<int>", True, "x")),
        ("a INT DEFAULT 8 >> 1", Column("a", "int")),
        ("a INT GENERATED ALWAYS AS (b + 1) COMMENT 'x'", Column("a", "int", True, "x")),
        ("a BIGINT GENERATED BY DEFAULT AS IDENTITY (START WITH 1)", Column("a", "bigint")),
        ("a INT NOT NULL PRIMARY KEY", Column("a", "int", False)),
        ("a INT CONSTRAINT c CHECK (a IS NOT NULL)", Column("a", "int")),
        ("a STRING COLLATE UTF8_LCASE NOT NULL", Column("a", "string collate UTF8_LCASE", False)),
        ("a INTERVAL DAY TO SECOND NOT NULL", Column("a", "interval day to second", False)),
        ("`a ``b`` c` INT", Column("a `b` c", "int")),
        ("1a INT", Column("1a", "int")),
        ("comment STRING COMMENT 'x'", Column("comment", "string", True, "x")),
        ("not STRING NOT NULL", Column("not", "string", False)),
        ("constraint INT", Column("constraint", "int")),
        ("primary INT", Column("primary", "int")),
        ("check INT", Column("check", "int")),
        ("select INT", Column("select", "int")),
        ("a INT COMMENT r'\\n'", Column("a", "int", True, "\\n")),
        ('a INT COMMENT "say ""x"""', Column("a", "int", True, 'say "x"')),
        ("a INT COMMENT 'x' 'y'", Column("a", "int", True, "xy")),
        (
            r"a INT COMMENT 'it\'s \u0041 \101 \t| \% \_ \q \Z| \\ \0 \U0001F600 \1 \477 \u12'",
            Column("a", "int", True, "it's A A \t| \\% \\_ q \x1a| \\ \0 \U0001f600 1 477 u12"),
        ),
        (r"a INT COMMENT 'a\\''b'", Column("a", "int", True, "a\\'b")),
    ],
)
def test_a_column(declared: str, column: Column) -> None:
    assert define(f"CREATE TABLE t ({declared}, other INT) USING parquet").columns[0] == column


def test_constraints_are_no_columns() -> None:
    found = define(
        "CREATE TABLE t (a INT, PRIMARY KEY (a), FOREIGN KEY (a) REFERENCES s (b), CHECK (a > 0), UNIQUE (a),"
        " CONSTRAINT c CHECK (a IN (1, 2)))"
    )
    assert found == TableDef((Column("a", "int"),))


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("dt", "dt"),
        ("DT", "dt"),
        ("`dt`", "dt"),
        ("identity(dt)", "dt"),
        ("Days( TS )", "days(Ts)"),
        ("day(ts)", "days(Ts)"),
        ("bucket(16, id)", "bucket(16,id)"),
        ("truncate(name, 4)", "truncate(4,name)"),
        ("`odd name`", "`odd name`"),
        ("nested.`x y`", "nested.`x y`"),
    ],
)
def test_partition_fields(written: str, spelled: str) -> None:
    columns = "dt DATE, Ts TIMESTAMP, id INT, name STRING"
    sql = f"CREATE TABLE t ({columns}) USING iceberg PARTITIONED BY ({written}, id)"
    assert define(sql).partitioning == (spelled, "id")
    assert type_key(canonical_partition(written)) == type_key(spelled)


def test_hive_declares_partition_columns_apart() -> None:
    found = define(
        "CREATE TABLE t (a INT) PARTITIONED BY (dt DATE COMMENT 'day', h DECIMAL(3)) STORED AS ORC"
    )
    assert found.columns == (
        Column("a", "int"),
        Column("dt", "date", True, "day"),
        Column("h", "decimal(3,0)"),
    )
    assert found.partitioning == ("dt", "h")
    assert found.provider == "hive"


def test_layouts_have_one_spelling() -> None:
    assert define("CREATE TABLE t (a INT) CLUSTERED BY (A) INTO 4 BUCKETS").partitioning == (
        bucketing(4, ["a"]),
    )
    assert define("CREATE TABLE t (a INT) PARTITIONED BY (bucket(4, a))").partitioning == (
        bucketing(4, ["a"]),
    )
    assert define("CREATE TABLE t (a INT, b INT) CLUSTER BY (A, b)").partitioning == (clustering(["a", "b"]),)


@pytest.mark.parametrize(
    ("written", "properties"),
    [
        ("'a' = 'b'", (("a", "b"),)),
        ("'a' 'b'", (("a", "b"),)),
        ("'a' 'b' 'c' = 'd'", (("abc", "d"),)),
        ("'x' = 'a' 'b'", (("x", "ab"),)),
        ("a.b.`c d` = 'x', `q` 'y'", (("a.b.c d", "x"), ("q", "y"))),
        ("n = 1, d=.5, t = TRUE, K='V'", (("K", "V"), ("d", ".5"), ("n", "1"), ("t", "true"))),
        ("'a' == 'x,y)'", (("a", "x,y)"),)),
    ],
)
def test_properties(written: str, properties: tuple[tuple[str, str], ...]) -> None:
    assert define(f"CREATE TABLE t (a INT) TBLPROPERTIES ({written})").properties == properties


def test_materialized_views_may_leave_types_out() -> None:
    found = define(
        "CREATE MATERIALIZED VIEW v (a, b COMMENT 'x', c NOT NULL, d INT) COMMENT 'y' AS SELECT 1 COMMENT"
    )
    assert found.columns == (
        Column("a", ""),
        Column("b", "", True, "x"),
        Column("c", "", False),
        Column("d", "int"),
    )
    assert found.comment == "y"


def test_the_query_is_not_read() -> None:
    found = define("CREATE MATERIALIZED VIEW v (a INT) AS SELECT a FROM t CLUSTER BY (a)")
    assert found == TableDef((Column("a", "int"),))


def test_the_default_collation_is_that_of_the_columns() -> None:
    found = define(
        "CREATE TABLE t (a STRING, b STRING COLLATE UTF8_BINARY, c INT) DEFAULT COLLATION UTF8_LCASE"
    )
    assert [column.type for column in found.columns] == ["string collate UTF8_LCASE", "string", "int"]


@pytest.mark.parametrize("name", ["t", "a.b.t", "`a.b`.`t`", "s.1t", "1t", "IDENTIFIER('a.' || 'b')"])
def test_names(name: str) -> None:
    assert define(f"CREATE EXTERNAL TABLE {name} (a INT)") == TableDef((Column("a", "int"),))

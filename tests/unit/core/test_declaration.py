"""What a catalog holds, as the text of a file."""

from __future__ import annotations

import pytest

from airflow_provider_sparkdeploy.core.declaration import (
    Parameter,
    SqlFunction,
    Storage,
    function_statement,
    hidden_properties,
    table_statement,
    type_text,
    view_statement,
    with_tokens,
)
from airflow_provider_sparkdeploy.core.functiontext import compared, described_parts, read_function
from airflow_provider_sparkdeploy.core.lexer import tokens
from airflow_provider_sparkdeploy.core.objects import Column, TableDef
from airflow_provider_sparkdeploy.core.tabledef import table_definition

TABLE = TableDef(
    (
        Column("id", "bigint", nullable=False),
        Column("a b", "struct<x:int,`y z`:array<decimal(5,0)>>", comment="it's"),
        Column("order", "interval day to second"),
        Column("d", "date"),
    ),
    "parquet",
    ("d",),
    (("k", "v, w"), ("password", "*********(redacted)")),
    "two\nlines",
)


def test_a_table_declares_what_it_was_made_from() -> None:
    text = table_statement("s.t", TABLE, Storage())
    found = table_definition(tokens(text))
    assert found is not None
    assert (found.columns, found.provider, found.partitioning) == (TABLE.columns, "parquet", ("d",))
    assert (found.properties, found.comment) == ((("k", "v, w"),), "two\nlines")
    assert hidden_properties(TABLE) == ["password"]


def test_what_is_not_compared_is_kept_too() -> None:
    storage = Storage(
        options={"sep": ";"},
        location="s3://b/t",
        buckets=(4, ("id",), ("d",)),
        defaults={"id": "1 + 1"},
        types={"d": "DATE /* of the order */"},
    )
    text = table_statement("s.t", TABLE, storage)
    for clause in (
        "id BIGINT NOT NULL DEFAULT 1 + 1,",
        "d DATE /* of the order */\n",
        "OPTIONS ('sep' = ';')",
        "CLUSTERED BY (id) SORTED BY (d) INTO 4 BUCKETS",
        "LOCATION 's3://b/t'",
    ):
        assert clause in text


def test_types_are_written_as_people_do() -> None:
    assert type_text("struct<date:int,`b c`:map<string,string collate UNICODE_CI>>") == (
        "STRUCT<date: INT, `b c`: MAP<STRING, STRING COLLATE UNICODE_CI>>"
    )


def test_a_view_keeps_its_query() -> None:
    columns = (Column("x", "", comment="of x"), Column("y z", ""))
    text = view_statement("s.v", "\nSELECT 1 -- why\n", columns, TableDef(comment="c"), "EVOLUTION")
    assert text == (
        "CREATE VIEW s.v (x COMMENT 'of x', `y z`)\nCOMMENT 'c'\nWITH SCHEMA EVOLUTION AS\nSELECT 1 -- why"
    )
    assert view_statement("s.v", "SELECT 1", (), TableDef(), "COMPENSATION") == "CREATE VIEW s.v AS\nSELECT 1"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("SELECT * FROM old.t", "SELECT * FROM ${shop}.t"),
        ("SELECT old.t.a FROM OLD.t, old.f(1)", "SELECT ${shop}.t.a FROM ${shop}.t, ${shop}.f(1)"),
        ("SELECT * FROM `old`.t", "SELECT * FROM `old`.t"),
        ("SELECT * FROM spark_catalog.old.t", "SELECT * FROM spark_catalog.old.t"),
        ("SELECT * FROM old.unknown", "SELECT * FROM old.unknown"),
        ("SELECT old.t FROM x AS old", "SELECT old.t FROM x AS old"),
        ("SELECT 'old.t' -- old.t\nFROM old.t", "SELECT 'old.t' -- old.t\nFROM ${shop}.t"),
        ("SELECT x.old.t FROM ${shop}.t, old.t", "SELECT x.old.t FROM ${shop}.t, ${shop}.t"),
        ("SELECT * FROM cat.s.u, s.u", "SELECT * FROM ${lake}.u, s.u"),
    ],
)
def test_schemas_become_tokens_where_they_are_schemas(text: str, wanted: str) -> None:
    folders = {"shop": ("old",), "lake": ("cat", "s")}
    assert with_tokens(text, folders, {("shop", "t"), ("shop", "f"), ("lake", "u")}) == wanted


def _rows(text: str) -> list[dict[str, str]]:
    return [{"function_desc": line} for line in text.splitlines()]


SCALAR = """\
Function:      spark_catalog.s.f
Type:          SCALAR
Input:         x   INT                       'it's'
               y y STRING                    DEFAULT 'a b' 'c d'
               s   STRUCT<a: INT, b: STRING> DEFAULT null
Returns:       INT
Comment:       adds
Deterministic: false
Data Access:   CONTAINS SQL
Configs:       spark.sql.ansi.enabled=true
               spark.sql.session.timeZone=Etc/UTC
Create Time:   Wed Nov 18 01:58:10 UTC 2026
Body:          x + 1"""


def test_a_function_is_read_from_what_people_are_told() -> None:
    parts = described_parts(_rows(SCALAR))
    function = read_function(parts)
    assert function == SqlFunction(
        (
            Parameter("x", "INT", "", "it's"),
            Parameter("y y", "STRING", "'a b'", "c d"),
            Parameter("s", "STRUCT<a: INT, b: STRING>", "null"),
        ),
        "INT",
        (),
        "x + 1",
        "adds",
        deterministic=False,
    )
    assert function_statement("s.f", function) == (
        "CREATE FUNCTION s.f(x INT COMMENT 'it\\'s', `y y` STRING DEFAULT 'a b' COMMENT 'c d', "
        "s STRUCT<a: INT, b: STRING> DEFAULT null)\nRETURNS INT\nCOMMENT 'adds'\nNOT DETERMINISTIC\nRETURN x + 1"
    )
    assert compared(parts) == compared(described_parts(_rows(SCALAR.replace("spark_catalog.s.f", "trial"))))
    assert compared(parts) != compared(described_parts(_rows(SCALAR.replace("it's", "its"))))


def test_a_table_function_returns_columns() -> None:
    text = "Function:      f\nType:          TABLE\nInput:         ()\nReturns:       y   INT    'of y'\n               z z STRING\nBody:          SELECT 1, 'a'"
    function = read_function(described_parts(_rows(text)))
    assert function is not None
    assert function_statement("f", function) == (
        "CREATE FUNCTION f()\nRETURNS TABLE (y INT COMMENT 'of y', `z z` STRING)\nRETURN SELECT 1, 'a'"
    )


def test_a_function_of_another_language_has_no_parts() -> None:
    assert described_parts(_rows("Function: s.f\nClass: org.example.F\nUsage: N/A.")) == {}

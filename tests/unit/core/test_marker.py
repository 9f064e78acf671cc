"""The mark goes into the author's text, and nothing else of it changes."""

from __future__ import annotations

import pytest

from airflow_provider_sparkdeploy.core.marker import marked

ENTRY = "'sparkdeploy.hash' = 'h'"
CLAUSE = f" TBLPROPERTIES ({ENTRY})"


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("CREATE TABLE t", ""),
        ("CREATE TABLE t (a INT, b STRUCT<x: INT>)", ""),
        ("CREATE TABLE t (a INT) USING parquet", ""),
        ("create table if not exists s.t (a INT) using org.example.Format", " partitioned by (a)"),
        ("CREATE TABLE t", " AS SELECT a AS b FROM u"),
        ("CREATE TABLE t USING parquet", " SELECT a AS tblproperties FROM u"),
        ("CREATE TABLE t (a INT)", " -- done\n LOCATION 'x'"),
        ("CREATE TABLE t LIKE u USING parquet", ""),
        ("CREATE TABLE t (c STRING DEFAULT ')')", " COMMENT 'tblproperties ('"),
    ],
)
def test_the_mark_stands_before_the_other_clauses(before: str, behind: str) -> None:
    assert marked(before + behind, "h") == f"{before}{CLAUSE}{behind}"


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("CREATE TABLE t (a INT) TBLPROPERTIES (", "'k' = 'v')"),
        ("CREATE TABLE t (a INT) COMMENT 'x' tblproperties (", "k = 1, 'z' = ')') AS SELECT 1 AS a"),
    ],
)
def test_the_mark_joins_the_authors_properties(before: str, behind: str) -> None:
    assert marked(before + behind, "h") == f"{before}{ENTRY}, {behind}"


@pytest.mark.parametrize(
    "sql", ["CREATE VIEW v AS SELECT 1", "ALTER TABLE t ADD COLUMNS (a INT)", "INSERT INTO t SELECT 1"]
)
def test_only_tables_are_marked(sql: str) -> None:
    assert marked(sql, "h") == sql


def test_the_mark_is_quoted() -> None:
    assert marked("CREATE TABLE t", "a'b\\").endswith(r"('sparkdeploy.hash' = 'a\'b\\')")

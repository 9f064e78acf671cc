"""Materialized views on a real Spark: what is refreshed, what readers see, and what is kept."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError
from airflow_provider_sparkdeploy.core.names import ObjectName, quote
from airflow_provider_sparkdeploy.core.objects import Column
from airflow_provider_sparkdeploy.spark import matview
from airflow_provider_sparkdeploy.spark.matview import (
    Member,
    create_empty,
    data_table,
    data_table_of,
    data_tables,
    drop_view,
    refresh,
)
from airflow_provider_sparkdeploy.spark.session import Sessions, Spark, SparkFailure

START = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
_numbers = itertools.count()


def attempt(at: datetime = START) -> str:
    return f"{at:%Y%m%d%H%M%S}_{next(_numbers):06}"


@pytest.fixture
def spark(sessions: Sessions, schema: str) -> Iterator[Spark]:
    with sessions.open() as spark:
        spark.sql(f"USE {schema}")
        spark.sql("CREATE TABLE base (a INT, b STRING) USING parquet")
        spark.sql("INSERT INTO base VALUES (1, 'x'), (2, NULL)")
        yield spark


@pytest.fixture
def data(sessions: Sessions, schema: str) -> Iterator[str]:
    """A data schema of the test's own. The first refresh makes it."""
    yield f"{schema}_data"
    with sessions.open() as spark:
        spark.sql(f"DROP SCHEMA IF EXISTS {schema}_data CASCADE")


def view(schema: str, query: str = "SELECT a, b FROM base", *columns: Column, name: str = "v") -> Member:
    return Member(ObjectName(schema, name), (schema, name), query, columns, "hash 1")


def rows(spark: Spark, query: str) -> list[tuple[object, ...]]:
    return sorted((tuple(row.values()) for row in spark.sql(query)), key=repr)


def test_a_refresh_shows_what_the_query_gives_now(spark: Spark, schema: str, data: str) -> None:
    refresh(spark, view(schema), data_schema=data, attempt=attempt())
    assert rows(spark, "SELECT * FROM v") == [(1, "x"), (2, None)]
    spark.sql("INSERT INTO base VALUES (3, 'z')")
    assert rows(spark, "SELECT count(*) FROM v") == [(2,)]
    refresh(spark, view(schema), data_schema=data, attempt=attempt())
    assert rows(spark, "SELECT count(*) FROM v") == [(3,)]


def test_the_data_table_has_the_mark_and_the_view_names_it(spark: Spark, schema: str, data: str) -> None:
    done = refresh(spark, view(schema), data_schema=data, attempt=attempt())
    described = {row["col_name"]: row["data_type"] for row in spark.sql("DESCRIBE TABLE EXTENDED v")}
    assert described["Type"] == "VIEW"
    assert data_table_of(described["View Text"]) == ("spark_catalog", data, done.table)
    found = matview.properties(spark, data, done.table) or {}
    assert found["sparkdeploy.hash"] == "hash 1"
    assert found["sparkdeploy.object"] == f"{schema}.v"


def test_declared_columns_are_what_readers_get(spark: Spark, schema: str, data: str) -> None:
    columns = (
        Column("Key", "bigint", comment="what 'it' is"),
        Column("text of it", "varchar(10)"),
        Column("pad", "char(3)"),
        Column("amount", "decimal(10,2)"),
    )
    query = "SELECT a, b, b, a FROM base -- the end"
    refresh(spark, view(schema, query, *columns), data_schema=data, attempt=attempt())
    assert rows(spark, "SELECT * FROM v WHERE key = 1")[0][:3] == (1, "x", "x  ")
    fields = spark.schema("SELECT * FROM v")["fields"]
    assert [field["name"] for field in fields] == ["Key", "text of it", "pad", "amount"]
    assert [field["type"] for field in fields][::3] == ["long", "decimal(10,2)"]
    assert fields[0]["metadata"]["comment"] == "what 'it' is"
    assert [field["metadata"].get("__CHAR_VARCHAR_TYPE_STRING") for field in fields[1:3]] == [
        "varchar(10)",
        "char(3)",
    ]


def test_names_without_types(spark: Spark, schema: str, data: str) -> None:
    member = view(schema, "SELECT a, b FROM base", Column("p", "", comment="first"), Column("q", ""))
    refresh(spark, member, data_schema=data, attempt=attempt())
    fields = spark.schema("SELECT * FROM v")["fields"]
    assert [(field["name"], field["type"]) for field in fields] == [("p", "integer"), ("q", "string")]
    assert fields[0]["metadata"]["comment"] == "first"


def test_columns_may_change(spark: Spark, schema: str, data: str) -> None:
    refresh(spark, view(schema), data_schema=data, attempt=attempt())
    other = view(schema, "SELECT DATE'2026-01-01' AS d, a AS n FROM base")
    refresh(spark, other, data_schema=data, attempt=attempt())
    assert [field["name"] for field in spark.schema("SELECT * FROM v")["fields"]] == ["d", "n"]


def test_a_view_may_read_itself(spark: Spark, schema: str, data: str) -> None:
    refresh(spark, view(schema), data_schema=data, attempt=attempt())
    grown = view(schema, "SELECT a, b FROM base UNION ALL SELECT a, b FROM v")
    refresh(spark, grown, data_schema=data, attempt=attempt())
    assert rows(spark, "SELECT count(*) FROM v") == [(4,)]


def test_the_comment_of_the_view(spark: Spark, schema: str, data: str) -> None:
    def shown() -> str:
        found = matview.check_name(spark, (schema, "v"))
        return found.comment if found else "no view"

    refresh(spark, replace(view(schema), comment="one"), data_schema=data, attempt=attempt())
    assert shown() == "one"
    refresh(spark, replace(view(schema), comment="it's two"), data_schema=data, attempt=attempt())
    assert shown() == "it's two"


def test_a_name_that_is_a_keyword(spark: Spark, schema: str, data: str) -> None:
    member = view(schema, name="Select")
    refresh(spark, member, data_schema=data, attempt=attempt())
    refresh(spark, member, data_schema=data, attempt=attempt())
    assert rows(spark, f"SELECT count(*) FROM {quote(member.physical)}") == [(2,)]


def test_a_failed_query_leaves_what_readers_see(spark: Spark, schema: str, data: str) -> None:
    refresh(spark, view(schema), data_schema=data, attempt=attempt())
    broken = view(
        schema, "SELECT a, raise_error('no') AS b FROM base", Column("a", "int"), Column("b", "string")
    )
    with pytest.raises(SparkFailure):
        refresh(spark, broken, data_schema=data, attempt=attempt())
    assert rows(spark, "SELECT count(*) FROM v") == [(2,)]


def test_a_table_of_that_name_is_not_touched(spark: Spark, schema: str, data: str) -> None:
    member = view(schema, name="base")
    for act in (refresh, create_empty):
        with pytest.raises(SparkDeployError, match="there is a table of that name"):
            act(spark, replace(member, columns=(Column("a", "int"),)), data_schema=data, attempt=attempt())
    with pytest.raises(SparkDeployError, match="there is a table of that name"):
        drop_view(spark, (schema, "base"), data_schema=data)
    assert rows(spark, "SELECT count(*) FROM base") == [(2,)]


# Names


def test_names_never_collide() -> None:
    one = attempt()
    physicals = [("a_b", "c"), ("a", "b_c"), ("a", "b.c"), ("x", "a", "b_c"), ("ä", "c"), ("ö", "c")]
    made = {data_table(physical, one) for physical in physicals}
    assert len(made) == len(physicals)
    assert all(re.fullmatch(r"[a-z0-9_]{1,128}", name) for name in made)
    assert data_table(("S" * 200, "V" * 200), one) == data_table(("spark_catalog", "s" * 200, "v" * 200), one)


def test_an_attempt_has_a_form() -> None:
    with pytest.raises(ValueError, match="does not name an attempt"):
        data_table(("s", "v"), "run 7")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM `spark_catalog`.`d`.`x`",
        "SELECT * FROM `spark_catalog`.`d`.`x` WHERE a = 1",
        "SELECT * FROM `other`.`d`.`x`",
        "SELECT * FROM d.x",
        "SELECT * FROM 'open",
        "",
    ],
)
def test_other_views_are_not_ours(text: str) -> None:
    assert data_table_of(text) is None


# Crashes


def test_an_attempt_that_died_before_the_swap_is_only_published(spark: Spark, schema: str, data: str) -> None:
    member, name = view(schema), attempt()
    refresh(spark, member, data_schema=data, attempt=name)
    spark.sql(f"DROP VIEW {schema}.v")
    spark.sql("INSERT INTO base VALUES (3, 'late')")
    refresh(spark, member, data_schema=data, attempt=name)
    assert rows(spark, "SELECT count(*) FROM v") == [(2,)]


def test_an_attempt_that_died_while_it_wrote_is_done_again(spark: Spark, schema: str, data: str) -> None:
    member, name = view(schema), attempt()
    matview.create_table(spark, member, data_schema=data, attempt=name)
    matview.fill(spark, member, "(SELECT 7, 'half')", data_schema=data, attempt=name)
    refresh(spark, member, data_schema=data, attempt=name)
    assert rows(spark, "SELECT * FROM v") == [(1, "x"), (2, None)]


def test_a_finished_attempt_of_another_statement_does_not_count(spark: Spark, schema: str, data: str) -> None:
    name = attempt()
    refresh(spark, view(schema), data_schema=data, attempt=name)
    other = replace(view(schema, "SELECT 9 AS a, 'y' AS b"), hash="hash 2")
    assert not matview.is_ready(spark, other, data_schema=data, attempt=name)


# What is kept


def test_the_previous_table_is_kept_for_one_more_refresh(spark: Spark, schema: str, data: str) -> None:
    kept: list[list[str]] = []
    made: list[str] = []
    for number in range(4):
        now = START + number * 10 * HOUR
        done = refresh(spark, view(schema), data_schema=data, attempt=attempt(now), now=now)
        made.append(done.table)
        kept.append(data_tables(spark, (schema, "v"), data_schema=data))
    assert kept == [made[:1], made[:2], made[1:3], made[2:4]]


def test_no_table_goes_before_the_retention_is_over(spark: Spark, schema: str, data: str) -> None:
    made: list[str] = []
    for minutes in (0, 20, 40, 60, 85):
        now = START + timedelta(minutes=minutes)
        done = refresh(spark, view(schema), data_schema=data, attempt=attempt(now), retention=3600, now=now)
        made.append(done.table)
    # The first was superseded after 20 minutes, so for 65; the second for 45.
    assert data_tables(spark, (schema, "v"), data_schema=data) == made[1:]


def test_the_time_that_a_refresh_takes_is_not_retention(spark: Spark, schema: str, data: str) -> None:
    """Tables that were begun long ago are superseded when the next is published, not when it is begun."""
    made: list[str] = []
    for begun, ended in ((0, 1), (2, 500), (501, 502)):
        now = START + timedelta(minutes=ended)
        name = attempt(START + timedelta(minutes=begun))
        made.append(refresh(spark, view(schema), data_schema=data, attempt=name, now=now).table)
    assert data_tables(spark, (schema, "v"), data_schema=data) == made


def test_what_a_crash_has_left_is_collected(spark: Spark, schema: str, data: str) -> None:
    orphan = attempt(START)
    matview.create_table(spark, view(schema), data_schema=data, attempt=orphan)
    for minutes in (30, 90):
        now = START + timedelta(minutes=minutes)
        refresh(spark, view(schema), data_schema=data, attempt=attempt(now), now=now)
        found = data_tables(spark, (schema, "v"), data_schema=data)
        assert (data_table((schema, "v"), orphan) in found) == (minutes == 30)
    assert len(found) == 2


def test_an_attempt_that_was_marked_and_never_swapped_makes_no_table_older(
    spark: Spark, schema: str, data: str
) -> None:
    """Readers saw the first table until the fifth hour: it stays for one more."""
    first = refresh(spark, view(schema), data_schema=data, attempt=attempt(START), now=START).table
    lost, at = attempt(START + HOUR), START + HOUR
    matview.create_table(spark, view(schema), data_schema=data, attempt=lost)
    matview._mark(
        spark, data, data_table((schema, "v"), lost), {matview.MARKER: "x", matview.PUBLISHED: at.isoformat()}
    )
    for minutes in (0, 5):
        now = START + 5 * HOUR + timedelta(minutes=minutes)
        refresh(spark, view(schema), data_schema=data, attempt=attempt(now), now=now)
    assert first in data_tables(spark, (schema, "v"), data_schema=data)
    now = START + 8 * HOUR
    refresh(spark, view(schema), data_schema=data, attempt=attempt(now), now=now)
    assert len(data_tables(spark, (schema, "v"), data_schema=data)) == 2


def test_an_attempt_that_died_after_the_swap_keeps_the_table_before_it(
    spark: Spark, schema: str, data: str
) -> None:
    first = refresh(spark, view(schema), data_schema=data, attempt=attempt(), retention=0).table
    name = attempt(START + HOUR)
    matview.create_table(spark, view(schema), data_schema=data, attempt=name)
    mark = {matview.MARKER: "hash 1", matview.PUBLISHED: (START + HOUR).isoformat()}
    matview._mark(spark, data, data_table((schema, "v"), name), mark)
    matview.swap(spark, view(schema), data_schema=data, attempt=name)
    refresh(spark, view(schema), data_schema=data, attempt=name, retention=0, now=START + 2 * HOUR)
    assert first in data_tables(spark, (schema, "v"), data_schema=data)


def test_a_drop_leaves_nothing(spark: Spark, schema: str, data: str) -> None:
    for name in ("v", "w"):
        for _ in range(2):
            refresh(spark, view(schema, name=name), data_schema=data, attempt=attempt())
    drop_view(spark, (schema, "v"), data_schema=data)
    drop_view(spark, (schema, "v"), data_schema=data)
    left = [row["tableName"] for row in spark.sql(f"SHOW TABLES IN {data}")]
    assert left == data_tables(spark, (schema, "w"), data_schema=data)
    assert rows(spark, "SELECT count(*) FROM w") == [(2,)]


def test_a_drop_before_there_was_anything(spark: Spark, schema: str, data: str) -> None:
    drop_view(spark, (schema, "v"), data_schema=data)


# Empty members


def test_empty_from_the_declared_columns(spark: Spark, schema: str, data: str) -> None:
    member = view(schema, "SELECT a FROM not_there", Column("a", "int"), Column("b", "array<string>"))
    create_empty(spark, replace(member, hash=""), data_schema=data, attempt=attempt())
    assert rows(spark, "SELECT * FROM v") == []
    assert [field["name"] for field in spark.schema("SELECT * FROM v")["fields"]] == ["a", "b"]


def test_empty_needs_columns(spark: Spark, schema: str, data: str) -> None:
    with pytest.raises(SparkDeployError, match="does not declare its columns"):
        create_empty(spark, view(schema), data_schema=data, attempt=attempt())


# Readers


def test_a_reader_in_a_loop_never_fails(sessions: Sessions, spark: Spark, schema: str, data: str) -> None:
    refresh(spark, view(schema), data_schema=data, attempt=attempt())
    stop, seen, failures = threading.Event(), set[object](), list[Exception]()

    def read() -> None:
        with sessions.open() as reader:
            while not stop.is_set():
                try:
                    seen.add(reader.sql(f"SELECT count(*) AS n FROM {schema}.v")[0]["n"])
                except SparkFailure as failure:
                    failures.append(failure)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(6):
        spark.sql("INSERT INTO base VALUES (0, 'more')")
        refresh(spark, view(schema), data_schema=data, attempt=attempt())
        broken = view(schema, "SELECT raise_error('no') AS a FROM base")
        with pytest.raises(SparkFailure):
            refresh(spark, broken, data_schema=data, attempt=attempt())
    stop.set()
    for reader in readers:
        reader.join()
    assert failures == []
    assert seen <= set(range(2, 9))
    assert len(seen) > 1

"""The history table and the marks of free-form statements, on a real catalog."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from airflow_provider_sparkdeploy.core.deploylog import Entry
from airflow_provider_sparkdeploy.core.names import ObjectName
from airflow_provider_sparkdeploy.core.operations import Operation
from airflow_provider_sparkdeploy.spark import history, marks
from airflow_provider_sparkdeploy.spark.history import Numbered
from airflow_provider_sparkdeploy.spark.session import Sessions, Spark

AT = "2026-03-01T12:00:00+00:00"


@pytest.fixture
def spark(sessions: Sessions) -> Iterator[Spark]:
    with sessions.open() as opened:
        yield opened


def entry(run: str, operation: str, kind: str = "done", **detail: object) -> Entry:
    return Entry(kind, run, AT, operation, detail=detail)  # type: ignore[arg-type]


def operations(found: list[Numbered]) -> list[str]:
    return [item.entry.operation for item in found]


# What is due


def test_what_is_not_recorded_is_due_and_intents_never_are() -> None:
    log = [entry("a", "1", "intent"), entry("a", "1"), entry("b", "2", "failed")]
    found = history.due(log)
    assert [(item.number, item.entry.operation) for item in found] == [(1, "1"), (1, "2")]
    assert history.due([*log, *history.recorded(found)]) == []


def test_a_run_that_goes_on_after_it_was_recorded_is_recorded_further() -> None:
    log = [entry("a", "1"), entry("a", "2")]
    log += history.recorded(history.due(log))
    log += [entry("b", "3"), entry("a", "4")]
    assert [(item.entry.operation, item.number) for item in history.due(log)] == [("3", 1), ("4", 3)]


# The table


def test_nothing_is_read_where_nothing_was_written(spark: Spark, schema: str) -> None:
    assert history.read(spark, schema, "dev") == []
    assert history.read(spark, f"{schema}_nowhere", "dev") == []
    assert marks.read_all(spark, f"{schema}_nowhere", "dev") == {}


def test_entries_come_back_as_they_were_in_their_order(spark: Spark, schema: str) -> None:
    strange = "a 'quote', a \\ and a \n line, ${token}; -- é \x00"
    first = [
        Numbered(1, entry("z", "1", note=strange)),
        Numbered(1, entry("a", "2")),
        Numbered(2, entry("z", "3")),
    ]
    history.append(spark, schema, "dev", first)
    history.append(spark, schema, "dev", [Numbered(3, entry("z", "4")), Numbered(2, entry("a", "5"))])
    found = history.read(spark, schema, "dev")
    assert operations(found) == ["1", "2", "3", "4", "5"]
    assert found[:3] == first


def test_what_was_appended_twice_is_read_once(spark: Spark, schema: str) -> None:
    items = [Numbered(1, entry("a", "1")), Numbered(2, entry("a", "2"))]
    history.append(spark, schema, "dev", items)
    history.append(spark, schema, "dev", [*items, Numbered(3, entry("a", "3"))])
    assert operations(history.read(spark, schema, "dev")) == ["1", "2", "3"]


def test_a_large_batch_is_written_in_pieces(
    spark: Spark, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_LARGEST", 200)
    history.append(
        spark, schema, "dev", [Numbered(number, entry("a", str(number))) for number in range(1, 8)]
    )
    assert operations(history.read(spark, schema, "dev")) == list("1234567")


# Marks


def statement(sql: str = "INSERT INTO t VALUES (1)") -> Operation:
    return Operation("setup.s.t.init.1", "setup", "run", ObjectName("s", "t"), "table", sql, f"hash of {sql}")


def test_a_mark_keeps_the_intent_until_it_is_dropped(spark: Spark, schema: str) -> None:
    name = marks.name_of(statement())
    assert marks.read(spark, schema, name) is None
    intent = entry("run", "setup.s.t.init.1", "intent", attempt="1", text="x'\\" * 4000)
    marks.begin(spark, schema, "dev", name, intent)
    assert marks.read(spark, schema, name) == marks.Mark(intent, done=False)
    marks.succeed(spark, schema, name)
    assert marks.read_all(spark, schema, "dev") == {name: marks.Mark(intent, done=True)}
    marks.drop(spark, schema, [name])
    assert marks.read_all(spark, schema, "dev") == {}


def test_a_new_attempt_takes_the_place_of_the_old_mark(spark: Spark, schema: str) -> None:
    name = marks.name_of(statement())
    marks.begin(spark, schema, "dev", name, entry("run", "op", "intent", attempt="1"))
    marks.succeed(spark, schema, name)
    again = entry("run", "op", "intent", attempt="2")
    marks.begin(spark, schema, "dev", name, again)
    assert marks.read(spark, schema, name) == marks.Mark(again, done=False)


def test_statements_of_another_text_have_another_mark() -> None:
    assert marks.name_of(statement()) == marks.name_of(statement())
    assert marks.name_of(statement()) != marks.name_of(statement("INSERT INTO t VALUES (2)"))


def test_environments_that_share_a_catalog_do_not_see_each_other(spark: Spark, schema: str) -> None:
    history.append(spark, schema, "dev", [Numbered(1, entry("a", "1"))])
    history.append(spark, schema, "prod", [Numbered(1, entry("b", "2"))])
    assert operations(history.read(spark, schema, "dev")) == ["1"]
    assert operations(history.read(spark, schema, "prod")) == ["2"]
    assert history.is_lost(spark, schema, "stage")
    end = history.last_point(spark, schema, "dev")
    assert end.batch == 1
    assert history.read_after(spark, schema, "dev", end) == ([], end, True)
    name = marks.name_of(statement())
    marks.begin(spark, schema, "prod", name, entry("run", "op", "intent", attempt="1"))
    assert marks.read_all(spark, schema, "dev") == {}
    assert list(marks.read_all(spark, schema, "prod")) == [name]
    elsewhere = replace(statement(), physical=("other", "t"))
    assert marks.name_of(elsewhere) != name


def test_a_history_that_is_not_the_one_that_was_read_is_read_from_its_beginning(
    spark: Spark, schema: str
) -> None:
    """It may have as many batches, or more: that of another environment, or one that was made anew."""
    for number, environment in enumerate(("dev", "prod", "prod"), 1):
        history.append(spark, schema, environment, [Numbered(number, entry("a", str(number)))])
    end = history.last_point(spark, schema, "dev")
    told, last, goes_on = history.read_after(spark, schema, "prod", end)
    assert operations(told) == ["2", "3"]
    assert last == history.last_point(spark, schema, "prod")
    assert not goes_on

    spark.sql(f"DROP TABLE {schema}.{history.TABLE}")
    for number in (1, 2):
        history.append(spark, schema, "dev", [Numbered(1, entry(f"new{number}", str(number)))])
    told, _, goes_on = history.read_after(spark, schema, "dev", end)
    assert operations(told) == ["1", "2"]
    assert not goes_on
    assert not history.read_after(spark, schema, "stage", end)[2]
    nothing = history.last_point(spark, schema, "stage")
    assert history.read_after(spark, schema, "stage", nothing) == ([], nothing, True)

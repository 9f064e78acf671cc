"""The order of questions, and what a refusal means, where no real catalog can be made to refuse."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import pytest
from sketch import everything, healthy, name

from airflow_provider_sparkdeploy.core.catalog import ObservedObject
from airflow_provider_sparkdeploy.core.names import ObjectName
from airflow_provider_sparkdeploy.core.objects import Column, TableDef
from airflow_provider_sparkdeploy.spark.catalog import Wanted, inspect, wanted_objects
from airflow_provider_sparkdeploy.spark.session import Row, SparkFailure

T, F = ObjectName("s", "t"), ObjectName("s", "f")
Answer = list[Row] | dict[str, Any] | SparkFailure | deque[list[Row]]  # the last: one after the other


def refusal(condition: str, *, transient: bool = False) -> SparkFailure:
    return SparkFailure(f"[{condition}]", condition=condition, transient=transient)


@dataclass
class Scripted:
    """Sessions that answer by the first pattern that a question begins with."""

    answers: Mapping[str, Answer]
    asked: list[str] = field(default_factory=list)
    opened: int = 0
    metastore: str = ""

    def open(self, key: str = "") -> Scripted:
        self.opened += 1
        return self

    def settle(self, key: str) -> bool:
        return True

    def sql(self, text: str) -> Any:
        self.asked.append(text)
        for pattern, answer in self.answers.items():
            if re.match(pattern, text):
                if isinstance(answer, SparkFailure):
                    raise answer
                return answer.popleft() if isinstance(answer, deque) else answer
        raise AssertionError(f"nobody expected: {text}")

    def schema(self, query: str) -> dict[str, Any]:
        found: dict[str, Any] = self.sql(query)
        return found

    def close(self) -> None:
        self.opened -= 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def look(
    answers: Mapping[str, Answer], wanted: Mapping[ObjectName, Wanted]
) -> Mapping[ObjectName, ObservedObject]:
    sessions = Scripted(answers)
    try:
        return inspect(sessions, wanted, data_schema="data").objects
    finally:
        assert sessions.opened == 0, "sessions were left open"


def listed(*tables: str) -> list[Row]:
    return [{"namespace": "s", "tableName": table, "isTemporary": False} for table in tables]


def analysed(*columns: tuple[str, str]) -> dict[str, Any]:
    fields = [{"name": n, "type": t, "nullable": False, "metadata": {}} for n, t in columns]
    return {"fields": [{"name": "c0", "type": {"type": "struct", "fields": fields}}]}


LAKE = {T: Wanted(("lake", "s", "t"), "table", "iceberg")}


def test_a_table_of_another_catalog() -> None:
    rows = [
        ("id", "bigint"),
        ("# Partitioning", ""),
        ("Part 0", "days(at)"),
        ("# Detailed Table Information", ""),
    ]
    rows += [("Type", "MANAGED"), ("Provider", "iceberg"), ("Comment", "c")]
    answers: dict[str, Answer] = {
        "SHOW TABLES IN `lake`.`s`": listed("T"),
        "SELECT struct": analysed(("id", "long")),
        "SHOW TBLPROPERTIES": [{"key": "k", "value": "a, b"}, {"key": "sparkdeploy.hash", "value": "1:x"}],
        "DESCRIBE TABLE EXTENDED `lake`.`s`.`t`$": [
            {"col_name": k, "data_type": v, "comment": ""} for k, v in rows
        ],
    }
    definition = TableDef((Column("id", "bigint", False),), "iceberg", ("days(at)",), (("k", "a, b"),), "c")
    assert look(answers, LAKE) == {T: ObservedObject("table", definition, marker="1:x")}


def test_a_view_of_another_catalog_is_there() -> None:
    answers: dict[str, Answer] = {
        "SHOW TABLES": listed(),
        "SHOW VIEWS": [{"namespace": "s", "viewName": "v", "isTemporary": False}],
    }
    v = ObjectName("s", "v")
    assert look(answers, {v: Wanted(("lake", "s", "v"), "view", "iceberg")}) == {v: ObservedObject("view")}


@pytest.mark.parametrize("condition", ["SCHEMA_NOT_FOUND", "NO_SUCH_NAMESPACE"])
def test_in_a_schema_that_is_not_there_nothing_is(condition: str) -> None:
    assert look({"SHOW TABLES": refusal(condition)}, LAKE) == {}


@pytest.mark.parametrize("condition", ["INSUFFICIENT_PERMISSIONS", "CATALOG_NOT_FOUND", ""])
def test_any_other_refusal_to_list_is_raised(condition: str) -> None:
    with pytest.raises(SparkFailure):
        look({"SHOW TABLES": refusal(condition), "DESCRIBE SCHEMA": []}, LAKE)


def test_a_refusal_without_a_condition_may_mean_that_the_schema_is_not_there() -> None:
    missing = refusal("SCHEMA_NOT_FOUND")
    assert look({"SHOW TABLES": refusal(""), "DESCRIBE SCHEMA": missing}, LAKE) == {}


@pytest.mark.parametrize("lost", ["SHOW TABLES", "SELECT struct", "SHOW TBLPROPERTIES", "DESCRIBE TABLE"])
def test_a_spark_that_is_away_says_nothing_about_objects(lost: str) -> None:
    answers: dict[str, Answer] = {
        "SHOW TABLES": listed("t"),
        "SELECT struct": analysed(("id", "long")),
        "SHOW TBLPROPERTIES": [],
        "DESCRIBE TABLE": [],
    }
    assert set(look(answers, LAKE)) == {T}
    answers[lost] = refusal("", transient=True)
    with pytest.raises(SparkFailure):
        look(answers, LAKE)


def test_what_is_dropped_between_two_questions_is_missing() -> None:
    gone = refusal("TABLE_OR_VIEW_NOT_FOUND")
    answers: dict[str, Answer] = {"SELECT struct": gone, "SHOW TBLPROPERTIES": gone}
    assert look({"SHOW TABLES": deque([listed("t"), listed()]), **answers}, LAKE) == {}


def test_what_is_still_listed_is_there_whatever_else_is_said_of_it() -> None:
    """Spark 3.5 says so of a table that a database does not let it read."""
    gone = refusal("TABLE_OR_VIEW_NOT_FOUND")
    wanted = {T: Wanted(("db", "s", "t"), "table", "jdbc")}
    answers: dict[str, Answer] = {"SHOW TABLES": listed("t"), "SELECT": gone, "DESCRIBE TABLE": gone}
    assert look(answers, wanted) == {T: ObservedObject("table", readable=False)}


def test_a_function_that_cannot_be_described_is_there() -> None:
    listing: list[Row] = [{"function": "spark_catalog.s.f"}]
    wanted = {F: Wanted(("s", "F"), "function")}
    answers: dict[str, Answer] = {"SHOW USER FUNCTIONS": listing, "DESCRIBE FUNCTION": refusal("BROKEN")}
    assert look(answers, wanted) == {F: ObservedObject("function", readable=False)}
    answers["DESCRIBE FUNCTION"] = refusal("UNRESOLVED_ROUTINE")
    answers["SHOW USER FUNCTIONS"] = deque([listing, []])
    assert look(answers, wanted) == {}


@pytest.mark.parametrize("condition", ["MISSING_CATALOG_ABILITY.VIEWS", "_LEGACY_ERROR_TEMP_1184"])
def test_a_catalog_without_views_has_none(condition: str) -> None:
    v = ObjectName("s", "v")
    answers: dict[str, Answer] = {"SHOW TABLES": listed(), "SHOW VIEWS": refusal(condition)}
    assert look(answers, {v: Wanted(("db", "s", "v"), "view", "jdbc")}) == {}


def test_columns_that_are_not_analysed_are_described() -> None:
    text = "Catalog: spark_catalog\nDatabase: s\nTable: t\nType: MANAGED\nProvider: jdbc\nSchema: root\n"
    answers: dict[str, Answer] = {
        "SHOW TABLES": listed("t"),
        "SHOW TABLE EXTENDED IN `s` LIKE 't'": [
            {"tableName": "t", "isTemporary": False, "information": text}
        ],
        "SELECT struct": refusal("FAILED_JDBC"),
        "DESCRIBE TABLE `s`.`t`": [{"col_name": "a", "data_type": "varchar(3)", "comment": None}],
    }
    definition = TableDef((Column("a", "varchar(3)"),), "jdbc")
    assert look(answers, {T: Wanted(("s", "t"), "table")}) == {T: ObservedObject("table", definition)}


def test_nothing_is_asked_for_nothing() -> None:
    assert look({}, {}) == {}


def test_what_is_wanted() -> None:
    files = {
        "s/table/t.sql": "CREATE TABLE ${s}.t (a INT) TBLPROPERTIES ('k' = 'a, b')",
        "s/view/v.sql": "CREATE VIEW ${s}.v AS SELECT 1 AS a",
        "s/sink/out.sql": "INSERT OVERWRITE DIRECTORY '/x' SELECT 3 AS a",
        "s/migration/once.sql": "//// CHANGE name=one\nSET x = 1;\n",
    }
    before = healthy(files, "schemas: {s: lake.old}\ncatalogs: {lake: iceberg}")
    after = healthy(files | {"s/view/w.sql": "CREATE VIEW ${s}.w AS SELECT 1 AS a"})
    assert wanted_objects(before, {}) == {
        name("s.t"): Wanted(("lake", "old", "t"), "table", "iceberg", exact=True),
        name("s.v"): Wanted(("lake", "old", "v"), "view", "iceberg"),
    }
    # where it was deployed, not where it will be
    assert {key: item.physical for key, item in wanted_objects(after, everything(before)).items()} == {
        name("s.t"): ("lake", "old", "t"),
        name("s.v"): ("lake", "old", "v"),
        name("s.w"): ("s", "w"),
    }

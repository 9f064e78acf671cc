"""The log of a run: small entries, and what a task remembers when ``plan`` was made anew."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from sketch import healthy, plan

from airflow_provider_sparkdeploy.airflow.page.kept import log_of
from airflow_provider_sparkdeploy.airflow.runlog import Frozen, OperationLog, RunLog, compact, expanded
from airflow_provider_sparkdeploy.core.codec import encode_operation
from airflow_provider_sparkdeploy.core.deploylog import Entry
from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError
from airflow_provider_sparkdeploy.core.objects import Column, TableDef
from airflow_provider_sparkdeploy.core.operations import Operation
from airflow_provider_sparkdeploy.core.state import Observe, encode_definition

FILES = {
    "s/table/t.sql": "//// CHANGE name=init\nCREATE TABLE s.t (a INT);\n//// CHANGE name=wide\nALTER TABLE s.t ADD COLUMNS (b INT);\n"
    "//// CHANGE name=rows\nINSERT INTO s.t VALUES (1, 2);\n",
    "s/view/v.sql": "CREATE VIEW s.v AS SELECT a FROM s.t",
}
WIDE = TableDef(
    tuple(
        Column(f"measurement_number_{n}", "decimal(12,2)", True, f"What was measured, {n}")
        for n in range(100)
    ),
    "parquet",
)
FROZEN = Frozen("dag/run", "2026-01-02T00:00:00+00:00", "f", "default")


class Store(dict[str, Any]):
    """A task's own store, as Airflow's: values of JSON."""

    def set(self, key: str, value: Any) -> None:
        self[key] = json.loads(json.dumps(value))


class NoXComs(RunLog):
    """What a cleared ``plan`` leaves: nothing."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def _set(self, key: str, value: Any) -> None:
        self.values[key] = value

    def _get(self, key: str) -> Any:
        return self.values.get(key)


@pytest.fixture
def operations() -> dict[str, Operation]:
    return {item.id: item for item in plan(healthy(FILES), {}).plan.operations}


def _attempt(operation: Operation, at: str, *, done: bool = True, before: Any = None) -> list[Entry]:
    detail = {"operation": encode_operation(operation), "attempt": "a", "before": before}
    entries = [Entry("intent", FROZEN.run, at, operation.id, detail=detail)]
    if done:
        entries.append(Entry("done", FROZEN.run, at, operation.id, operation.effects, {"seconds": 0.1}))
    return entries


def test_an_entry_is_small_and_comes_back_as_it_was(operations: dict[str, Operation]) -> None:
    operation = operations["setup.s.t.wide.1"]
    seen = Observe(operation.object, operation.physical, WIDE)
    intent, done = _attempt(operation, FROZEN.at, before=encode_definition(WIDE))
    done = replace(done, effects=(*operation.effects, seen))
    failed = [
        Entry("failed", FROZEN.run, FROZEN.at, operation.id, detail={"error": letter * 90_000})
        for letter in ("x", "\N{CYRILLIC SMALL LETTER ZHE}", "\N{SPARKLES}", "\N{FIRE}")
    ]
    for entry in (intent, done):
        assert expanded(compact(entry, operation), operation) == entry
    for entry in (intent, done, *failed):
        assert len(json.dumps(compact(entry, operation))) < 4_000


def test_the_passes_of_a_long_fixpoint_fit_into_an_entry_and_the_page_shows_them(
    operations: dict[str, Operation],
) -> None:
    operation, log = operations["setup.s.v"], NoXComs()
    rows = [{"analytics.bundle_contains": 5_000 - n * n, "analytics.bundle_reaches": n} for n in range(70)]
    told = {"iterations": 70, "rows": tuple(rows), "converged": True}
    done = Entry("done", FROZEN.run, FROZEN.at, operation.id, operation.effects, told)
    log.freeze(replace(FROZEN, ids=(operation.id,)), [operation])
    [kept] = log.write(operation, [done])
    assert len(json.dumps(kept)) < 4_000
    [entry] = log.entries(operation)
    assert entry.detail == {**told, "rows": rows}
    found = log_of(log.values)
    assert found is not None
    assert found.entries[operation.id][0]["detail"]["rows"] == rows


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("setup.s.t.init.1", ["intent"]),  # looked for in the catalog
        ("setup.s.t.wide.1", ["intent"]),
        ("setup.s.t.rows.1", []),  # its mark tells, and the plan has read it
        ("setup.s.v", []),  # may be run again
    ],
)
def test_what_was_done_before_the_plan_was_made_does_not_count(
    operations: dict[str, Operation], name: str, left: list[str]
) -> None:
    operation, store = operations[name], Store()
    OperationLog(NoXComs(), FROZEN, operation, store).append(_attempt(operation, "2026-01-01T00:00:00+00:00"))
    again = OperationLog(NoXComs(), FROZEN, operation, store)
    assert [entry.type for entry in again.entries] == left
    assert not again.done


def test_what_was_done_since_counts(operations: dict[str, Operation]) -> None:
    operation, store = operations["setup.s.v"], Store()
    OperationLog(NoXComs(), FROZEN, operation, store).append(_attempt(operation, "2026-01-03T00:00:00+00:00"))
    assert OperationLog(NoXComs(), FROZEN, operation, store).done


def test_an_attempt_at_another_text_is_stopped_first(operations: dict[str, Operation]) -> None:
    operation, store = operations["setup.s.v"], Store()
    log = OperationLog(NoXComs(), FROZEN, operation, store)
    log.append(_attempt(operation, "2026-01-01T00:00:00+00:00", done=False))
    other = replace(operation, hash="another")
    assert OperationLog(NoXComs(), FROZEN, other, store).abandoned == FROZEN.run
    log.append(_attempt(operation, "2026-01-01T00:00:00+00:00")[1:])
    assert OperationLog(NoXComs(), FROZEN, other, store).abandoned == ""


def test_a_decision_is_about_one_plan() -> None:
    log = NoXComs()
    log.ask(FROZEN)
    log.decide(FROZEN, {"approved": True})
    again = replace(FROZEN, at="2026-01-05T00:00:00+00:00")
    assert log.asked(FROZEN)
    assert not log.asked(again)
    assert log.decision(FROZEN)["approved"]
    assert log.decision(again) == {}


def test_a_run_whose_connection_is_gone_says_so() -> None:
    """The DAG file may name another one by now: that one is not missing."""
    with pytest.raises(
        SparkDeployError, match=r"SD710 dag/run was planned through the connection gone, which"
    ):
        replace(FROZEN, conn_id="gone").sessions()

"""What is looked at once more when a person has approved."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sketch

from airflow_provider_sparkdeploy.airflow import keeping, planning
from airflow_provider_sparkdeploy.airflow.approve_task import SparkDeployApproveOperator
from airflow_provider_sparkdeploy.airflow.deploying import Deploying
from airflow_provider_sparkdeploy.airflow.runlog import Frozen
from airflow_provider_sparkdeploy.core.catalog import Catalog
from airflow_provider_sparkdeploy.core.objects import Column
from airflow_provider_sparkdeploy.spark import deployment

TABLE = "CREATE TABLE ${a}.t (x INT) USING parquet;\n"
EDITS = {
    "another": ("a/view/more.sql", "CREATE VIEW ${a}.more AS SELECT 1 AS x;\n"),
    "broken": ("a/view/more.sql", "CREATE VIEW ${nowhere}.more AS SELECT 1 AS x;\n"),
    "deleted": ("a/table/t.sql", None),
}


@contextlib.contextmanager
def _joined() -> Iterator[None]:
    yield


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("somebody", [False, True], ids=["as it was", "altered"])
def test_the_catalog_decides_whatever_became_of_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edit: str, somebody: bool
) -> None:
    """Also where they have errors now, and where what was selected has no file any more."""
    deploying = Deploying("d", sketch.write(tmp_path, {"a/table/t.sql": TABLE}))
    state = sketch.deploy(deploying.open())
    there = sketch.observed(state)
    sketch.write(tmp_path, {"a/table/t.sql": "//// METADATA DROP_TABLE\n" + TABLE})
    repository = deploying.open()
    operations = sketch.plan(repository, state, catalog=there, select=("path:a/table",)).plan.operations
    assert [item.action for item in operations] == ["drop"]
    if somebody:
        [(name, table)] = there.objects.items()
        columns = (*table.definition.columns, Column("precious", "int"))
        there = Catalog({name: replace(table, definition=replace(table.definition, columns=columns))})
    path, text = EDITS[edit]
    if text is None:
        (tmp_path / path).unlink()
    else:
        sketch.write(tmp_path, {path: text})

    lock = SimpleNamespace(expect=lambda seen: None, acquire=lambda: None, joined=_joined)
    monkeypatch.setattr(Frozen, "sessions", lambda frozen: None)
    monkeypatch.setattr(Frozen, "lock", lambda frozen, sessions: lock)
    monkeypatch.setattr(keeping, "read_recorded", lambda name: keeping.Recorded(1, state))
    monkeypatch.setattr(planning, "catch_up", lambda *about: about[-1])
    for module in (planning, deployment):
        monkeypatch.setattr(module, "observe", lambda *_: there)
    asked = {"select": ["path:a/table"]}
    frozen = Frozen("d/one", "", repository.fingerprint, "default", needs_approval=True, request=asked)
    log: Any = SimpleNamespace(operations=lambda frozen: operations)
    task = SparkDeployApproveOperator(deploying=deploying, task_id="approve")
    assert bool(task._moved(log, frozen)) == somebody

"""Airflow takes shorter ids than the operations of a group may have: only the ids of tasks are shortened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sketch
from airflow.sdk import DAG

from airflow_provider_sparkdeploy import SparkDeployDag, SparkDeployTaskGroup, SparkRefreshDag
from airflow_provider_sparkdeploy.airflow import keeping, operation_task
from airflow_provider_sparkdeploy.airflow.deploying import Deploying
from airflow_provider_sparkdeploy.airflow.page import kept as page
from airflow_provider_sparkdeploy.airflow.plan_task import SparkDeployPlanOperator
from airflow_provider_sparkdeploy.airflow.runlog import Frozen, RunLog
from airflow_provider_sparkdeploy.core.operations import Operation

GROUP = "deploy_warehouse"
TABLES = (
    "\N{CYRILLIC SMALL LETTER ZHE}" * 45,
    "\N{CYRILLIC SMALL LETTER ZHE}" * 44 + "\N{CYRILLIC SMALL LETTER SHA}",
)
FILES = {
    f"sales/table/{name}.sql": f"CREATE TABLE ${{sales}}.`{name}` (x INT) USING parquet;\n" for name in TABLES
}
SCHEMA = "s" * 210
WIDE = {
    f"{SCHEMA}/table/t.sql": f"CREATE TABLE ${{{SCHEMA}}}.t (x INT) USING parquet;\n",
    f"{SCHEMA}/materialized_view/m.sql": f"CREATE MATERIALIZED VIEW ${{{SCHEMA}}}.m AS SELECT x FROM ${{{SCHEMA}}}.t;\n",
}


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """An Airflow that has no Variables."""
    monkeypatch.setattr(keeping.Variable, "get", lambda key, default=None: default)


@pytest.fixture
def deploying(tmp_path: Path) -> Deploying:
    return Deploying("team", sketch.write(tmp_path, FILES), prefix=GROUP)


@pytest.fixture
def operations(deploying: Deploying) -> tuple[Operation, ...]:
    return sketch.plan(deploying.open(), {}).plan.operations


def in_a_group(deploying: Deploying) -> DAG:
    with DAG("team", schedule=None, max_active_runs=1) as dag:
        SparkDeployTaskGroup(GROUP, repository=deploying.repository)
    return dag


def asked_for(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", "team")
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_TASK_ID", name)


def test_an_operation_of_a_group_has_a_task_however_long_their_names_are(
    deploying: Deploying, operations: tuple[Operation, ...]
) -> None:
    dag = in_a_group(deploying)
    tasks = {deploying.task_id(item.id): item.id for item in operations}
    assert len(tasks) == 2
    for name, operation in tasks.items():
        assert len(name) <= 247 < len(f"{GROUP}.{operation}")
        assert dag.get_task(name).operation == operation
        assert dag.get_task(name).about["operation"] == operation
    assert deploying.operations(dag.task_ids, tasks.values()) == set(tasks.values())
    # What is not known any more is still one of ours, and can be skipped by what is known of it.
    [name, *_] = tasks
    [unknown] = deploying.operations([name], ())
    assert deploying.task_id(unknown) == name


def test_a_name_that_fits_is_left_as_it_is() -> None:
    name = "setup.sales.orders.init.1"
    whole = Deploying("team", Path("/r"))
    assert whole.task_id(name) == name
    assert Deploying("team", Path("/r"), prefix=GROUP).task_id(name) == f"{GROUP}.{name}"
    longest = "setup." + "x" * 234
    assert whole.task_id(longest) == longest


def test_a_run_finds_its_tasks(deploying: Deploying, operations: tuple[Operation, ...]) -> None:
    """By what is to be done, which is what is compared with the graph."""
    states = {deploying.task_id(item.id): None for item in operations}
    states |= {f"{GROUP}.plan": "running", f"{GROUP}.setup.sales.gone": "removed", "setup.a.other": None}
    plan = SparkDeployPlanOperator(deploying=deploying, task_id="plan")
    assert plan._operations(states, *operations) == {item.id for item in operations}


def test_a_worker_runs_the_operation_of_a_shortened_task(
    deploying: Deploying, operations: tuple[Operation, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    xcoms: dict[str, Any] = {}
    monkeypatch.setattr(RunLog, "_set", lambda self, key, value: xcoms.update({key: value}))
    monkeypatch.setattr(RunLog, "_get", lambda self, key: xcoms.get(key))
    log = RunLog(deploying, "run")
    log.freeze(Frozen("team/run", "", "f", "default", tuple(item.id for item in operations)), operations)
    for item in operations:
        asked_for(monkeypatch, deploying.task_id(item.id))
        task = in_a_group(deploying).get_task(deploying.task_id(item.id))
        assert isinstance(task, operation_task.SparkDeployOperator)
        task.render_template_fields({"run_id": "run"})  # type: ignore[typeddict-item]
        assert (task.operation, task.sql) == (item.id, item.sql)


def test_the_page_knows_the_operation_of_a_shortened_task(
    deploying: Deploying, operations: tuple[Operation, ...]
) -> None:
    tasks = [
        {
            "task_id": task.task_id, "task_type": task.task_type, "about": task.about,
            "downstream_task_ids": sorted(task.downstream_task_ids),
        }
        for task in in_a_group(deploying).tasks
        if task.task_type == "SparkDeployOperator"
    ]  # fmt: skip
    assert {step.id for step in page.drawn_steps(tasks, GROUP)} == {item.id for item in operations}


@pytest.mark.parametrize("factory", [SparkDeployDag, SparkRefreshDag])
def test_a_schema_may_have_a_longer_name_than_a_group_of_tasks(
    tmp_path: Path, factory: Callable[..., DAG]
) -> None:
    repository = sketch.write(tmp_path, WIDE)
    dag = factory("team", repository=repository)
    assert f"setup.{SCHEMA}.m" in dag.task_dict
    groups = [name for name in dag.task_group.get_task_group_dict() if name and "sss" in name]
    assert len(groups) == 1


def test_a_schema_of_which_no_id_has_room_is_deployed_all_the_same(tmp_path: Path) -> None:
    """The id of its operation is cut before the name of the table: it is an operation all the same."""
    schema = "\N{CYRILLIC SMALL LETTER ZHE}" * 50
    sql = f"CREATE TABLE ${{{schema}}}.t (x INT) USING parquet;\n"
    deploying = Deploying("team", sketch.write(tmp_path, {f"{schema}/table/t.sql": sql}))
    [operation] = sketch.plan(deploying.open(), {}).plan.operations
    assert operation.id.count(".") == 1
    dag = SparkDeployDag("team", repository=deploying.repository)
    assert deploying.operations(dag.task_ids, ()) == {operation.id}


@pytest.mark.parametrize("place", [("d" * 248, ""), ("d" * 200, "g" * 190), ("d", "g")])
def test_what_is_kept_has_room_for_its_name(place: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """In the key of a Variable, of which Airflow's database has 250 letters."""
    found: dict[str, str] = {}
    monkeypatch.setattr(keeping.Variable, "get", lambda key, default=None: found.get(key, default))
    monkeypatch.setattr(
        keeping.Variable, "set", lambda key, value, description=None: found.update({key: value})
    )
    dag_id, group = place
    names = [Deploying(f"{dag_id}{number}", Path("/r"), prefix=group).name for number in range(2)]
    for name in names:
        keeping.write_view(name, keeping.View(name))
        keeping.write_texts(name, {"name": name})
        keeping.write_recorded(name, keeping.Recorded(ends=name))
    assert len(found) == 6
    assert max(map(len, found)) <= 250
    for name in names:
        assert keeping.read_view(name) == keeping.View(name)
        assert keeping.read_texts(name) == {"name": name}
        assert keeping.read_recorded(name) == keeping.Recorded(ends=name)

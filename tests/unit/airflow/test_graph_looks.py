"""What Airflow shows of a plan: built by the real factory from files on disk, and stored as Airflow does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest
import sketch
from airflow.sdk import TaskGroup
from airflow.sdk.bases.xcom import BaseXCom
from airflow.serialization.serialized_objects import DagSerialization

from airflow_provider_sparkdeploy import SparkDeployDag
from airflow_provider_sparkdeploy.airflow import keeping
from airflow_provider_sparkdeploy.airflow.deploying import Deploying
from airflow_provider_sparkdeploy.airflow.operation_task import COLOURS
from airflow_provider_sparkdeploy.airflow.runlog import Frozen, RunLog
from airflow_provider_sparkdeploy.core.objects import Action
from airflow_provider_sparkdeploy.core.operations import PHASES, Operation
from airflow_provider_sparkdeploy.core.planner import make_plan

BEFORE = {
    "a/table/t.sql": "CREATE TABLE ${a}.t (x INT) USING parquet;\n",
    "a/table/k.sql": "CREATE TABLE ${a}.k (x INT) USING parquet;\n",
    "a/view/gone.sql": "CREATE VIEW ${a}.gone AS SELECT x FROM ${a}.t;\n",
    "b/table/i.sql": (
        "CREATE TABLE ${b}.i (x INT) USING parquet;\n"
        "-- //// INDEX name=by_x\nCREATE INDEX by_x ON ${b}.i (x);\n"
    ),
    "b/view/v.sql": "CREATE VIEW ${b}.v AS SELECT x FROM ${a}.t;\n",
    "b/materialized_view/m.sql": "CREATE MATERIALIZED VIEW ${b}.m AS SELECT x FROM ${b}.v;\n",
    "b/materialized_view/p.sql": (
        "CREATE MATERIALIZED VIEW ${b}.p (x INT) AS SELECT x FROM ${a}.t UNION SELECT x FROM ${b}.q;\n"
    ),
    "b/materialized_view/q.sql": "CREATE MATERIALIZED VIEW ${b}.q (x INT) AS SELECT DISTINCT x FROM ${b}.p;\n",
    "b/sink/out.sql": "INSERT OVERWRITE DIRECTORY '/exports/out' USING parquet SELECT x FROM ${b}.m;\n",
    "c/data/d.csv": "-- //// METADATA keys=x\nx\n1\n",
    "sparkdeploy.yaml": "allow_circular: true\n",
}
# A column more, a table that must be dropped and created, a view that is another.
AFTER = {
    "a/table/t.sql": "CREATE TABLE ${a}.t (x INT, y INT) USING parquet;\n",
    "a/table/k.sql": "CREATE TABLE ${a}.k (y STRING) USING parquet;\n",
    "b/view/v.sql": "CREATE VIEW ${b}.v AS SELECT x + 1 AS x FROM ${a}.t;\n",
}
FIXED = {"plan", "approve", "record"}


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The Variables of an Airflow that has nothing else."""
    found: dict[str, str] = {}
    monkeypatch.setattr(keeping.Variable, "get", lambda key, default=None: found.get(key, default))
    monkeypatch.setattr(
        keeping.Variable, "set", lambda key, value, description=None: found.update({key: value})
    )
    return found


def deploy(folder: Path) -> None:
    """As if everything had been deployed."""
    keeping.write_recorded("d", keeping.Recorded(1, sketch.deploy(Deploying("d", folder).open())))


def planned(folder: Path) -> dict[str, Operation]:
    """The plan of the core, with which the graph is compared."""
    recorded = keeping.read_recorded("d")
    plan = make_plan(Deploying("d", folder).open(), recorded.state if recorded else {}).plan
    assert not plan.errors
    return {item.id: item for item in plan.operations}


@pytest.fixture(params=["first deployment", "change"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, kept: dict[str, str]) -> Path:
    """Two repositories to look at: one of which nothing is deployed, and one that has changed since."""
    sketch.write(tmp_path, BEFORE)
    return changed(tmp_path) if request.param == "change" else tmp_path


def changed(folder: Path) -> Path:
    """All phases, and something that loses data."""
    sketch.write(folder, BEFORE)
    deploy(folder)
    sketch.write(folder, AFTER)
    (folder / "a/view/gone.sql").unlink()
    return folder


def stored(dag: SparkDeployDag) -> dict[str, dict[str, Any]]:
    """The tasks as Airflow stores the DAG, through JSON: what its UI gets to see."""
    data = json.loads(json.dumps(DagSerialization.to_dict(dag)))
    return {item["__var"]["task_id"]: item["__var"] for item in data["dag"]["tasks"]}


def group_ids(group: TaskGroup) -> dict[str, set[str]]:
    """The groups of a DAG, and the ids of what each holds."""
    below = [child for child in group.children.values() if isinstance(child, TaskGroup)]
    found = {group.group_id or "": set(group.children)}
    for child in below:
        found |= group_ids(child)
    return found


def test_groups_are_by_phase_and_then_by_schema(tmp_path: Path, kept: dict[str, str]) -> None:
    dag = SparkDeployDag("d", repository=changed(tmp_path))
    assert group_ids(dag.task_group) == {
        "": {"plan", "approve", "record", "teardown", "setup", "export"},
        "teardown": {"teardown.a"},
        "teardown.a": {"teardown.a.gone", "teardown.a.k"},
        "setup": {"setup.a", "setup.b"},
        "setup.a": {"setup.a.k", "setup.a.t.add_column.y"},
        "setup.b": {"setup.b.p.fixpoint", "setup.b.v", "setup.b.m"},
        "export": {"export.b"},
        "export.b": {"export.b.out.1"},
    }


def test_the_tasks_are_the_operations_of_the_plan(folder: Path) -> None:
    """The graph is the plan: nothing is missing, nothing is added."""
    dag = SparkDeployDag("d", repository=folder)
    assert set(dag.task_dict) - FIXED == set(planned(folder))


def test_the_edges_are_those_of_the_plan(folder: Path) -> None:
    """Within a phase exactly these, or tasks wait for nothing, or for too little."""
    dag, plan = SparkDeployDag("d", repository=folder), planned(folder)
    assert any(item.depends_on for item in plan.values())
    for name, operation in plan.items():
        task = dag.get_task(name)
        assert set(operation.depends_on) <= task.upstream_task_ids
        same_phase = {need for need in task.upstream_task_ids if need.startswith(f"{operation.phase}.")}
        assert same_phase == {need for need in operation.depends_on if plan[need].phase == operation.phase}


def test_every_phase_comes_after_all_of_the_one_before(folder: Path) -> None:
    """A failed teardown must stop all setup, also that of objects that have nothing to do with it."""
    dag, plan = SparkDeployDag("d", repository=folder), planned(folder)
    for name, operation in plan.items():
        before = {task.task_id for task in dag.get_task(name).get_flat_relatives(upstream=True)}
        earlier = PHASES[: PHASES.index(operation.phase)]
        assert {other for other, item in plan.items() if item.phase in earlier} <= before


def test_the_plan_comes_first_and_the_record_last(folder: Path) -> None:
    dag, plan = SparkDeployDag("d", repository=folder), planned(folder)
    assert dag.roots == [dag.get_task("plan")]
    assert dag.leaves == [dag.get_task("record")]
    needed = {need for name in plan for need in dag.get_task(name).upstream_task_ids}
    assert set(plan) - needed <= dag.get_task("record").upstream_task_ids  # record waits for all ends


def test_both_sides_of_every_edge_know_it(folder: Path) -> None:
    """Edges are set directly on both tasks, for speed: one side only would be another graph."""
    dag = SparkDeployDag("d", repository=folder)
    down = {(task.task_id, name) for task in dag.tasks for name in task.downstream_task_ids}
    up = {(name, task.task_id) for task in dag.tasks for name in task.upstream_task_ids}
    assert down == up


def test_what_loses_data_waits_for_a_person(tmp_path: Path, kept: dict[str, str]) -> None:
    dag = SparkDeployDag("d", repository=changed(tmp_path))
    assert dag.get_task("approve").upstream_task_ids == {"plan"}
    for name in planned(tmp_path):
        before = {task.task_id for task in dag.get_task(name).get_flat_relatives(upstream=True)}
        assert "approve" in before


def test_nobody_is_asked_where_nothing_is_lost(tmp_path: Path, kept: dict[str, str]) -> None:
    dag = SparkDeployDag("d", repository=sketch.write(tmp_path, BEFORE))
    assert "approve" not in dag.task_dict
    assert dag.get_task("setup.a.t").upstream_task_ids == {"plan"}


def test_nothing_to_do_is_a_graph_of_two_tasks(tmp_path: Path, kept: dict[str, str]) -> None:
    sketch.write(tmp_path, BEFORE)
    deploy(tmp_path)
    dag = SparkDeployDag("d", repository=tmp_path)
    assert set(dag.task_dict) == {"plan", "record"}
    assert dag.get_task("plan").downstream_task_ids == {"record"}
    assert group_ids(dag.task_group) == {"": {"plan", "record"}}
    assert dag.get_task("plan").doc_md == "0 operations are shown, 0 are blocked."


def test_every_action_has_a_colour() -> None:
    assert set(COLOURS) == set(get_args(Action))


def test_a_task_has_the_colour_of_its_action(folder: Path) -> None:
    found, plan = stored(SparkDeployDag("d", repository=folder)), planned(folder)
    assert {name: found[name]["ui_color"] for name in plan} == {
        name: COLOURS[item.action] for name, item in plan.items()
    }


def test_the_plans_of_these_tests_have_every_action(tmp_path: Path, kept: dict[str, str]) -> None:
    """Otherwise the test of colours would say little."""
    first = planned(sketch.write(tmp_path, BEFORE))
    then = planned(changed(tmp_path))
    assert {item.action for plan in (first, then) for item in plan.values()} == set(get_args(Action))


def test_the_documentation_of_a_task_says_what_why_and_how(tmp_path: Path, kept: dict[str, str]) -> None:
    found = stored(SparkDeployDag("d", repository=changed(tmp_path)))
    assert found["setup.b.v"]["doc_md"] == (
        "**replace view b.v**\n\nWhy:\n\n- changed\n- dependency a.t\n- schema b\n\n"
        f"```sql\n{planned(tmp_path)['setup.b.v'].sql}\n```"
    )


def test_only_what_loses_data_says_so(tmp_path: Path, kept: dict[str, str]) -> None:
    found = stored(SparkDeployDag("d", repository=changed(tmp_path)))
    assert {name for name, task in found.items() if "Loses data" in task.get("doc_md", "")} == {
        "teardown.a.k"
    }
    assert found["teardown.a.k"]["doc_md"].startswith("**drop table a.k**\n\n**Loses data.**\n\nWhy:")


def test_the_rendered_fields_are_the_operation(folder: Path) -> None:
    """Before anything has run, the graph is all that there is to read."""
    found = stored(SparkDeployDag("d", repository=folder))
    for name, operation in planned(folder).items():
        task = found[name]
        assert {"sql", "reasons", "about"} <= set(task["template_fields"])
        assert task["template_fields_renderers"] == {"sql": "sql", "reasons": "json", "about": "json"}
        assert task["sql"] == operation.sql
        assert task["reasons"] == [list(reason) for reason in operation.reasons]
        assert task["about"]["action"] == operation.action
        assert task["about"]["object"] == str(operation.object)
        assert task["about"]["destructive"] is operation.destructive


def test_what_the_plan_task_says_of_the_graph(tmp_path: Path, kept: dict[str, str]) -> None:
    """The page reads it there, also before the first run."""
    plan = stored(SparkDeployDag("d", repository=sketch.write(tmp_path, BEFORE)))["plan"]
    assert plan["template_fields_renderers"] == {"about": "json"}
    assert plan["about"]["fingerprint"] == Deploying("d", tmp_path).fingerprint()
    assert plan["about"]["guess"] is True
    assert plan["about"]["cycles"] == [[["b.p", "b.q"], 1, []]]


def test_sql_is_never_a_template(
    tmp_path: Path, kept: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``{{`` is legal in SQL. What is shown of a run is its frozen plan, to the letter, whatever the
    graph says by now."""
    text = "CREATE VIEW ${a}.v AS SELECT '{{ run_id }} {% raw %}' AS x;\n"
    deploying = Deploying("d", sketch.write(tmp_path, {"a/view/v.sql": text}))
    operation = planned(tmp_path)["setup.a.v"]
    xcoms: dict[str, Any] = {}
    monkeypatch.setattr(BaseXCom, "set", lambda key, value, **place: xcoms.update({key: value}))
    monkeypatch.setattr(BaseXCom, "get_one", lambda key, **place: xcoms.get(key))
    RunLog(deploying, "r").freeze(Frozen("d/r", "now", "", "dev", (operation.id,)), (operation,))
    sketch.write(tmp_path, {"a/view/v.sql": "CREATE VIEW ${a}.v AS SELECT 2 AS x;\n"})
    task = SparkDeployDag("d", repository=tmp_path).get_task("setup.a.v")
    assert "{{ run_id }}" not in task.sql
    task.render_template_fields({"run_id": "r"})
    assert task.sql == operation.sql
    assert "'{{ run_id }} {% raw %}'" in task.sql


def test_links_lead_to_the_plan_and_to_spark(folder: Path) -> None:
    found = stored(SparkDeployDag("d", repository=folder))
    names = {name: set(task.get("_operator_extra_links", ())) for name, task in found.items()}
    for name in planned(folder):
        assert names[name] == {"Plan", "Spark UI"}
    for name in FIXED & found.keys():
        assert "Plan" in names[name]


def link(task: Any, name: str) -> Callable[..., str]:
    [found] = [item for item in task.operator_extra_links if item.name == name]
    return lambda: found.get_link(task, ti_key=SimpleNamespace(dag_id="d", run_id="r"))


def test_where_the_links_lead(tmp_path: Path, kept: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The address of the page is that of the plugin; that of Spark is in the connection, or nowhere."""
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example/below/")
    spark = {"conn_type": "spark_connect", "host": "h", "extra": {"spark_ui": "https://spark.example"}}
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(spark))
    sketch.write(tmp_path, BEFORE)
    task = SparkDeployDag("d", repository=tmp_path, conn_id="lake").get_task("setup.a.t")
    assert link(task, "Plan")() == "https://airflow.example/below/dags/d/runs/r/plugin/sparkdeploy"
    assert link(task, "Spark UI")() == "https://spark.example"
    embedded = SparkDeployDag("e", repository=tmp_path).get_task("setup.a.t")
    assert link(embedded, "Spark UI")() == ""


def test_what_starts_a_task_and_how_much_it_weighs(folder: Path) -> None:
    """A skipped task must not skip what comes after it, ``record`` always runs, and a scheduler must
    not add up the weights of thousands of tasks."""
    found = stored(SparkDeployDag("d", repository=folder))
    rules = {name: task.get("trigger_rule", "all_success") for name, task in found.items()}
    assert rules == {
        **dict.fromkeys(FIXED & found.keys(), "all_success"),
        **dict.fromkeys(planned(folder), "none_failed"),
        "record": "all_done",
    }
    assert {task.get("weight_rule") for task in found.values()} == {"absolute"}


def test_between_two_large_phases_stands_a_task_that_does_nothing(
    tmp_path: Path, kept: dict[str, str]
) -> None:
    """33 operations after 33 others would be 1089 edges."""
    count = 33
    old = {f"a/view/o{i}.sql": f"CREATE VIEW ${{a}}.o{i} AS SELECT {i} AS x;\n" for i in range(count)}
    sketch.write(tmp_path, old)
    deploy(tmp_path)
    for path in old:
        (tmp_path / path).unlink()
    new = {f"a/view/n{i}.sql": f"CREATE VIEW ${{a}}.n{i} AS SELECT {i} AS x;\n" for i in range(count)}
    dag = SparkDeployDag("d", repository=sketch.write(tmp_path, new))
    [between] = [task for task in dag.tasks if task.task_type == "EmptyOperator"]
    assert between.upstream_task_ids == {f"teardown.a.o{i}" for i in range(count)}
    assert between.downstream_task_ids == {f"setup.a.n{i}" for i in range(count)}
    assert between.trigger_rule == "none_failed"
    assert sum(len(task.upstream_task_ids) for task in dag.tasks) < 6 * count

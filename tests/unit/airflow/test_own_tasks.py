"""Tasks of a team among ours: whatever a worker is asked for, it finds what the DAG processor has found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import sketch
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, TaskGroup, task
from airflow.sdk.exceptions import AirflowSkipException, DuplicateTaskIdFound

from airflow_provider_sparkdeploy import SparkDeployDag, SparkDeployTaskGroup, SparkRefreshDag
from airflow_provider_sparkdeploy.airflow import keeping, rendering
from airflow_provider_sparkdeploy.airflow.runlog import RunLog

FILES = {
    "a/table/t.sql": "CREATE TABLE ${a}.t (x INT) USING parquet;\n",
    "a/materialized_view/m.sql": "CREATE MATERIALIZED VIEW ${a}.m AS SELECT x FROM ${a}.t;\n",
}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In an Airflow that has no Variables."""
    monkeypatch.setattr(keeping.Variable, "get", lambda key, default=None: default)
    return sketch.write(tmp_path, FILES)


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """What Airflow tells the parse of a worker."""

    def asked(name: str) -> None:
        monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", "team")
        monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_TASK_ID", name)

    return asked


@task
def prepare() -> None: ...


@task
def notify() -> None: ...


def in_a_dag(repository: Path) -> DAG:
    with SparkDeployDag("team", repository=repository) as dag:
        prepare() >> dag.get_task("plan")
        dag.get_task("record") >> [notify(), EmptyOperator(task_id="tell.me.all")]
        with TaskGroup("checks"):
            notify()
    return dag


def in_a_refresh(repository: Path) -> DAG:
    with SparkRefreshDag("team", repository=repository) as dag:
        prepare() >> dag.get_task("plan")
        dag.get_task("record") >> [notify(), EmptyOperator(task_id="tell.me.all")]
        with TaskGroup("checks"):
            notify()
    return dag


def in_a_group(repository: Path) -> DAG:
    with DAG("team", schedule=None, max_active_runs=1) as dag:
        with SparkDeployTaskGroup("lake", repository=repository) as lake:
            prepare() >> lake["plan"]
            lake["record"] >> notify()
        prepare() >> lake >> notify()
    return dag


OWN = {
    in_a_dag: {"prepare", "notify", "tell.me.all", "checks.notify"},
    in_a_refresh: {"prepare", "notify", "tell.me.all", "checks.notify"},
    in_a_group: {"prepare", "notify", "lake.prepare", "lake.notify"},
}


def edges(dag: DAG, name: str) -> tuple[set[str], set[str]]:
    return dag.get_task(name).upstream_task_ids, dag.get_task(name).downstream_task_ids


@pytest.mark.parametrize("build", OWN, ids=lambda build: build.__name__)
def test_a_worker_finds_the_tasks_of_the_team(
    repository: Path, ask: Callable[[str], None], build: Callable[[Path], DAG]
) -> None:
    whole = build(repository)
    own = OWN[build]
    always = {f"{'lake.' if build is in_a_group else ''}{name}" for name in ("plan", "record")}
    assert own | always < set(whole.task_dict)
    for asked in own:
        ask(asked)
        found = build(repository)
        assert set(found.task_dict) == own | always
        for name in own:
            assert found.get_task(name).task_type == whole.get_task(name).task_type
            assert edges(found, name) == edges(whole, name)


@pytest.mark.parametrize("build", OWN, ids=lambda build: build.__name__)
def test_a_worker_of_ours_parses_the_file_of_the_team(
    repository: Path, ask: Callable[[str], None], build: Callable[[Path], DAG]
) -> None:
    whole = build(repository)
    for asked in whole.task_dict.keys() - OWN[build]:
        ask(asked)
        found = build(repository)
        assert found.get_task(asked).task_type == whole.get_task(asked).task_type
        for name in OWN[build]:
            assert edges(found, name) == edges(whole, name)


def test_the_group_of_a_team_is_one_thing_to_its_neighbours(repository: Path) -> None:
    """What comes before it comes before all of it, also before what the team has put into it."""
    dag = in_a_group(repository)
    assert edges(dag, "prepare") == (set(), {"lake.prepare"})
    assert edges(dag, "lake.plan")[0] == {"lake.prepare"}
    assert edges(dag, "notify") == ({"lake.notify"}, set())


def called(name: str) -> None:
    """Something of the team's with a name: a group where a plan has groups, otherwise a task."""
    if name in ("setup", "export", "teardown"):
        with TaskGroup(name):
            notify()
    else:
        notify.override(task_id=name)()


@pytest.mark.parametrize("name", ["approve", "setup", "export", "teardown", "begin-setup"])
def test_names_that_a_plan_may_need_are_refused_at_once(
    repository: Path, ask: Callable[[str], None], name: str
) -> None:
    """In the DAG processor, whatever is planned today. A worker could not tell whose is meant."""
    for asked in ("", "record"):
        if asked:
            ask(asked)
        with SparkDeployDag("team", repository=repository), pytest.raises(DuplicateTaskIdFound):
            called(name)
        with (
            DAG("team", schedule=None, max_active_runs=1),
            SparkDeployTaskGroup("lake", repository=repository),
            pytest.raises(DuplicateTaskIdFound),
        ):
            called(name)
        with DAG("team", schedule=None, max_active_runs=1) as dag:
            SparkDeployTaskGroup("lake", repository=repository)
            called(name)  # outside of it the names are the team's
        assert {"lake.plan", "lake.record"} < set(dag.task_dict)


@pytest.mark.parametrize("schema", ["plan", "record", "setup", "prepare", "notify", "checks"])
@pytest.mark.parametrize("build", [in_a_dag, in_a_refresh], ids=lambda build: build.__name__)
def test_a_schema_may_be_called_as_a_task_is(
    repository: Path, build: Callable[[Path], DAG], schema: str
) -> None:
    text = FILES["a/materialized_view/m.sql"].replace("${a}.m", f"${{{schema}}}.m")
    sketch.write(repository, {f"{schema}/materialized_view/m.sql": text})
    assert {"setup.a.m", f"setup.{schema}.m"} < set(build(repository).task_dict)


@pytest.mark.parametrize(("build", "prefix"), [(in_a_dag, ""), (in_a_group, "lake.")], ids=["dag", "group"])
def test_what_a_team_passes_over_is_skipped(
    repository: Path, build: Callable[[Path], DAG], prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task of theirs before ``plan`` may say that this run deploys nothing."""
    monkeypatch.setattr(RunLog, "frozen", lambda log: None)
    monkeypatch.setattr(rendering, "task_states", lambda *_: {f"{prefix}plan": "skipped"})
    dag = build(repository)
    for name in ("setup.a.t", "record"):
        with pytest.raises(AirflowSkipException):
            dag.get_task(f"{prefix}{name}").execute({"run_id": "one"})

"""Two deployments in one DAG, beside the tasks of the team that owns it."""

from __future__ import annotations

from pathlib import Path

import pytest
import sketch
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, TaskGroup

from airflow_provider_sparkdeploy import SparkDeployTaskGroup
from airflow_provider_sparkdeploy.airflow import keeping
from airflow_provider_sparkdeploy.airflow.deploying import Deploying

FILES = {
    "a/table/t.sql": "CREATE TABLE ${a}.t (x INT) USING parquet;\n",
    "b/view/v.sql": "CREATE VIEW ${b}.v AS SELECT x FROM ${a}.t;\n",
}
# One id is the beginning of the other: no task may be taken for one of the other group.
OURS = {
    f"{group}.{name}"
    for group in ("lake", "lake_two")
    for name in ("plan", "setup.a.t", "setup.b.v", "record")
}
TEAMS = {"extract", "report"}
ALWAYS = {f"{group}.{name}" for group in ("lake", "lake_two") for name in ("plan", "record")}


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
    """The Variables of an Airflow that has nothing else, and those that were asked for in vain."""
    found: dict[str, str | None] = {}
    monkeypatch.setattr(keeping.Variable, "get", lambda key, default=None: found.setdefault(key, default))
    monkeypatch.setattr(
        keeping.Variable, "set", lambda key, value, description=None: found.update({key: value})
    )
    return found


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return sketch.write(tmp_path, FILES)


def nightly(repository: Path) -> DAG:
    """The DAG of a team: extract, then both deployments at once, then a report."""
    with DAG("nightly", schedule=None, max_active_runs=1) as dag:
        first, last = EmptyOperator(task_id="extract"), EmptyOperator(task_id="report")
        for name in ("lake", "lake_two"):
            first >> SparkDeployTaskGroup(name, repository=repository) >> last
    return dag


def asked_for(monkeypatch: pytest.MonkeyPatch, task: str, dag: str = "nightly") -> None:
    """What Airflow tells the parse of a worker."""
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", dag)
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_TASK_ID", task)


def test_each_group_has_tasks_of_its_own(repository: Path, kept: dict[str, str | None]) -> None:
    dag = nightly(repository)
    assert set(dag.task_dict) == OURS | TEAMS
    for name in ("lake", "lake_two"):
        plan = dag.get_task(f"{name}.plan")
        assert plan.deploying.name == f"nightly:{name}"
        assert plan.upstream_task_ids == {"extract"}
        assert dag.get_task(f"{name}.record").downstream_task_ids == {"report"}
        assert dag.get_task(f"{name}.setup.b.v").upstream_task_ids == {f"{name}.setup.a.t"}
        assert dag.get_task(f"{name}.setup.b.v").operation == "setup.b.v"


def test_no_task_waits_for_one_of_the_other_group(repository: Path, kept: dict[str, str | None]) -> None:
    dag = nightly(repository)
    for task in dag.tasks:
        group = task.task_id.partition(".")[0]
        for name in task.downstream_task_ids - TEAMS:
            assert group in ("extract", name.partition(".")[0])


def test_groups_within_a_group_are_its_own(repository: Path, kept: dict[str, str | None]) -> None:
    groups = nightly(repository).task_group.get_task_group_dict()
    below = ("", ".setup", ".setup.a", ".setup.b")
    assert set(groups) - {None} == {f"{name}{more}" for name in ("lake", "lake_two") for more in below}


def test_each_group_has_variables_of_its_own(repository: Path, kept: dict[str, str | None]) -> None:
    nightly(repository)
    assert set(kept) == {
        f"sparkdeploy.{what}.nightly:{name}" for what in ("view", "state") for name in ("lake", "lake_two")
    }


def test_what_one_group_has_deployed_says_nothing_of_the_other(
    repository: Path, kept: dict[str, str | None]
) -> None:
    """They may deploy to different places, so one must show its plan when the other has nothing to do."""
    deploying = Deploying("nightly", repository, prefix="lake")
    keeping.write_recorded(deploying.name, keeping.Recorded(1, sketch.deploy(deploying.open())))
    done = {"lake.setup.a.t", "lake.setup.b.v"}
    assert set(nightly(repository).task_dict) == (OURS | TEAMS) - done


@pytest.mark.parametrize("task", sorted(OURS))
def test_a_worker_builds_its_task_and_those_of_the_team(
    repository: Path, kept: dict[str, str | None], monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    """What the team writes is not ours to leave out, and it may be tied to what is always there. Nothing is
    read: what runs is in the run's plan."""
    asked_for(monkeypatch, task)
    dag = nightly(repository)
    assert set(dag.task_dict) == {task} | ALWAYS | TEAMS
    assert dag.get_task(task).task_type == kind_of(task)
    assert dag.get_task(task).deploying.name == f"nightly:{task.partition('.')[0]}"
    assert kept == {}


def kind_of(task: str) -> str:
    """What works on a worker; what others are tied to there does nothing."""
    kinds = {"plan": "SparkDeployPlanOperator", "record": "SparkDeployRecordOperator"}
    return kinds.get(task.partition(".")[2], "SparkDeployOperator")


def test_a_worker_of_the_team_has_what_its_tasks_are_tied_to(
    repository: Path, kept: dict[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing else: a group stands between its neighbours as it does elsewhere."""
    asked_for(monkeypatch, "report")
    dag = nightly(repository)
    assert set(dag.task_dict) == ALWAYS | TEAMS
    assert dag.get_task("extract").downstream_task_ids == {"lake.plan", "lake_two.plan"}
    assert dag.get_task("report").upstream_task_ids == {"lake.record", "lake_two.record"}
    assert {dag.get_task(name).task_type for name in ALWAYS} == {"DeployTask"}
    assert kept == {}


def test_a_worker_of_another_dag_builds_nothing_of_ours(
    repository: Path, kept: dict[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file may hold two DAGs with a group of the same name."""
    asked_for(monkeypatch, "lake.setup.a.t", dag="weekly")
    assert set(nightly(repository).task_dict) == ALWAYS | TEAMS
    asked_for(monkeypatch, "lake.plan", dag="weekly")
    assert nightly(repository).get_task("lake.plan").task_type == "DeployTask"


def test_a_group_in_a_group_of_the_team(
    repository: Path, kept: dict[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its ids begin with both names, on a worker too."""

    def build() -> set[str]:
        with DAG("nightly", schedule=None, max_active_runs=1) as dag, TaskGroup("outer"):
            SparkDeployTaskGroup("lake", repository=repository)
        return set(dag.task_dict)

    expected = {f"outer.{name}" for name in OURS if name.startswith("lake.")}
    assert build() == expected
    for name in sorted(expected):
        asked_for(monkeypatch, name)
        assert build() == {name, "outer.lake.plan", "outer.lake.record"}


def test_two_runs_at_once_are_refused(repository: Path, kept: dict[str, str | None]) -> None:
    """The runs of one deployment exclude each other, and the DAG belongs to the team: it must say so."""
    with (
        DAG("nightly", schedule=None, max_active_runs=2),
        pytest.raises(ValueError, match=r"nightly: .* needs max_active_runs=1"),
    ):
        SparkDeployTaskGroup("lake", repository=repository)


def test_a_stale_group_leaves_the_dag_of_the_team_alone(
    repository: Path, kept: dict[str, str | None]
) -> None:
    """Another run of it would do the work of the team again. Who wants that can say so."""
    assert nightly(repository).get_task("lake.plan").deploying.on_stale == "fail"
    with DAG("weekly", schedule=None, max_active_runs=1) as dag:
        SparkDeployTaskGroup("lake", repository=repository, on_stale="replan")
    assert dag.get_task("lake.plan").deploying.on_stale == "replan"

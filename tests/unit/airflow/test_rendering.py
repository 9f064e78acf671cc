"""What a parse shows of a plan, and under which names it is kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_sparkdeploy.airflow import keeping
from airflow_provider_sparkdeploy.airflow.deploying import Deploying
from airflow_provider_sparkdeploy.airflow.rendering import what_to_show
from airflow_provider_sparkdeploy.core.planner import make_plan
from airflow_provider_sparkdeploy.core.state import fold

TABLE = "CREATE TABLE ${a}.t (x INT) USING parquet;\n"


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The Variables of an Airflow that has nothing else."""
    found: dict[str, str] = {}
    monkeypatch.setattr(keeping.Variable, "get", lambda key, default=None: found.get(key, default))
    monkeypatch.setattr(
        keeping.Variable, "set", lambda key, value, description=None: found.update({key: value})
    )
    return found


def write(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def deploy(deploying: Deploying) -> None:
    """As if everything had been deployed."""
    operations = make_plan(deploying.open(), {}).plan.operations
    effects = ((effect, "2026-01-01T00:00:00+00:00", "run") for item in operations for effect in item.effects)
    keeping.write_recorded(deploying.name, keeping.Recorded(1, fold(effects)))


@pytest.mark.parametrize(("policy", "asks"), [("approve", True), ("allow", False), ("block", False)])
def test_a_person_is_asked_only_where_the_policy_says_so(
    tmp_path: Path, kept: dict[str, str], policy: str, asks: bool
) -> None:
    write(tmp_path, {"a/table/t.sql": TABLE, "sparkdeploy.yaml": f"on_destructive: {policy}\n"})
    deploying = Deploying("d", tmp_path)
    deploy(deploying)
    assert not what_to_show(deploying).view.approval
    write(tmp_path, {"a/table/t.sql": TABLE.replace("x INT", "y STRING")})
    view = what_to_show(deploying).view
    assert any(item.destructive for item in view.operations) == (policy != "block")
    assert view.approval is asks


def test_what_is_shown_knows_its_environment(tmp_path: Path, kept: dict[str, str]) -> None:
    settings = "environments: {Dev: {}, prod: {}}\ndefault_environment: dev\n"
    write(tmp_path, {"a/table/t.sql": TABLE, "sparkdeploy.yaml": settings})
    assert what_to_show(Deploying("d", tmp_path)).view.environment == "Dev"
    assert what_to_show(Deploying("d", tmp_path, "prod")).view.environment == "prod"


def test_a_view_is_kept_as_it_is(tmp_path: Path, kept: dict[str, str]) -> None:
    write(tmp_path, {"a/table/t.sql": TABLE})
    view = what_to_show(Deploying("d", tmp_path)).view
    view = replace(view, active="run", approval=True, next=view)
    keeping.write_view("d", view)
    assert keeping.read_view("d") == view


def test_a_dag_and_a_group_of_another_share_nothing() -> None:
    """The id of a DAG may have dots."""
    dag, group = Deploying("a.b", Path("/")), Deploying("a", Path("/"), prefix="b")
    assert dag.name != group.name
    assert dag.run_name("r") != group.run_name("r")


def test_a_folder_that_is_not_there_is_told_so_that_it_helps_in_a_dag(kept: dict[str, str]) -> None:
    [told] = what_to_show(Deploying("d", Path("/nowhere"))).view.problems
    assert "SD100" in told
    assert "repository=" in told

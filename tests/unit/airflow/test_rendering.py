"""What a parse shows of a plan, and under which names it is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_sparkdeploy.airflow import keeping, rendering
from airflow_provider_sparkdeploy.airflow.deploying import Deploying
from airflow_provider_sparkdeploy.airflow.rendering import Showing, what_to_show
from airflow_provider_sparkdeploy.core.cache import cache_folder
from airflow_provider_sparkdeploy.core.names import ObjectName
from airflow_provider_sparkdeploy.core.operations import Plan
from airflow_provider_sparkdeploy.core.planner import make_plan
from airflow_provider_sparkdeploy.core.repository import Repository
from airflow_provider_sparkdeploy.core.state import State, fold

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


@pytest.fixture
def planned(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[object]]:
    """The repositories that were planned, with a cache of one's own."""
    found: list[object] = []
    plan = rendering.plan_against

    def counted(repository: Repository, state: State) -> Plan:
        found.append(repository)
        return plan(repository, state)

    monkeypatch.setattr(rendering, "plan_against", counted)
    monkeypatch.setenv("SPARKDEPLOY_CACHE", str(tmp_path_factory.mktemp("own") / "cache"))
    return found


def changed_since(folder: Path) -> Deploying:
    """A deployment of which one file was changed after it was recorded."""
    deploying = Deploying("d", write(folder, {"a/table/t.sql": TABLE}))
    deploy(deploying)
    write(folder, {"a/view/v.sql": "CREATE VIEW ${a}.v AS SELECT x FROM ${a}.t;\n"})
    return deploying


def ids(showing: Showing) -> list[str]:
    return [item.id for item in showing.view.operations]


def test_what_a_parse_has_planned_the_next_one_shows(
    tmp_path: Path, kept: dict[str, str], planned: list[object]
) -> None:
    deploying = changed_since(tmp_path)
    first = what_to_show(deploying)
    assert what_to_show(deploying) == first
    assert (ids(first), len(planned)) == (["setup.a.v"], 1)
    assert "SELECT x" in first.texts["setup.a.v"]


def test_a_parse_plans_again_once_anything_changes(
    tmp_path: Path, kept: dict[str, str], planned: list[object]
) -> None:
    deploying = changed_since(tmp_path)
    before = what_to_show(deploying)
    write(tmp_path, {"a/view/w.sql": "CREATE VIEW ${a}.w AS SELECT x FROM ${a}.t;\n"})
    assert ids(what_to_show(deploying)) == ["setup.a.v", "setup.a.w"]
    deploy(deploying)
    assert not what_to_show(deploying).view.operations
    assert len(ids(what_to_show(replace(deploying, render="all")))) == 3
    (tmp_path / "a/view/w.sql").unlink()
    kept.clear()
    lost = what_to_show(deploying).view
    assert lost.guess
    assert not before.view.guess
    assert len(planned) == 6  # render="all" makes two plans


@pytest.mark.parametrize("damage", ["torn", "not a folder"])
def test_a_parse_that_cannot_remember_plans(
    tmp_path: Path,
    kept: dict[str, str],
    planned: list[object],
    damage: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deploying = changed_since(tmp_path)
    if damage == "not a folder":
        (tmp_path / "README").touch()
        monkeypatch.setenv("SPARKDEPLOY_CACHE", str(tmp_path / "README"))
    first = what_to_show(deploying)
    for file in cache_folder().glob("*.shown"):
        file.write_bytes(file.read_bytes()[:-1] + b"?")
    assert what_to_show(deploying) == first
    assert len(planned) == 2


def test_the_state_is_kept_as_it_is(tmp_path: Path, kept: dict[str, str]) -> None:
    text = "//// CHANGE name=one\nCREATE TABLE ${a}.s (x INT);\n//// CHANGE name=two\nALTER TABLE ${a}.s ADD COLUMNS (y INT);\n"
    deploying = changed_since(write(tmp_path, {"a/table/s.sql": text}))
    found = make_plan(deploying.open(), {}).plan.operations
    state = fold((effect, "2026-01-01T00:00:00+00:00", "run") for item in found for effect in item.effects)
    recorded = keeping.Recorded(3, state, {ObjectName("a", "t"): "was edited"}, "2026-01-02T00:00:00+00:00")
    keeping.write_recorded("d", recorded)
    assert keeping.read_recorded("d") == recorded
    keeping.write_recorded("d", keeping.Recorded())
    assert keeping.read_recorded("d") == keeping.Recorded()
    kept["sparkdeploy.state.d"] = kept["sparkdeploy.view.d"] = "nonsense"
    assert keeping.read_recorded("d") is None


def test_a_variable_has_no_letter_that_means_something_in_a_regular_expression(
    tmp_path: Path, kept: dict[str, str]
) -> None:
    """Airflow escapes the text of every Variable that it reads: megabytes, at every parse."""
    keeping.write_texts("d", {str(number): "x" * number for number in range(500)})
    [text] = kept.values()
    assert re.escape(text) == text
    assert "_" in text
    assert len(keeping.read_texts("d")) == 500
    kept["sparkdeploy.texts.d"] = text.replace("_", "+")  # as it was written before
    assert len(keeping.read_texts("d")) == 500


@pytest.mark.parametrize(
    "text",
    [
        "rubbish",
        "",
        "bm90aGluZw==",
        keeping.base64.b64encode(keeping.zlib.compress(b"[]")).decode(),
        keeping.base64.b64encode(keeping.zlib.compress(b'{"v": 1}')).decode(),
        keeping.base64.b64encode(keeping.zlib.compress(b'{"v": 2}')).decode(),
        keeping.base64.b64encode(
            keeping.zlib.compress(
                b'{"v": 1, "fingerprint": 1, "operations": [[1]], "objects": [[{}, 1]], "texts": 1}'
            )
        ).decode(),
    ],
)
def test_what_somebody_has_written_over_is_as_if_it_were_lost(
    tmp_path: Path, kept: dict[str, str], text: str
) -> None:
    """A DAG that cannot be parsed would take the tasks of a run with it."""
    deploying = Deploying("d", write(tmp_path, {"a/table/t.sql": TABLE}))
    kept |= {f"sparkdeploy.{name}.d": text for name in ("view", "texts", "state")}
    showing = what_to_show(deploying)
    assert [item.id for item in showing.view.operations] == ["setup.a.t"]
    assert showing.view.guess
    assert keeping.read_texts("d") == {}

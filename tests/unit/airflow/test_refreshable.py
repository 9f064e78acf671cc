"""Which units a parse of a refresh DAG shows, whatever becomes of the files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import sketch

from airflow_provider_sparkdeploy.airflow import keeping, rendering
from airflow_provider_sparkdeploy.airflow.deploying import Deploying
from airflow_provider_sparkdeploy.airflow.keeping import View
from airflow_provider_sparkdeploy.airflow.refreshable import keep, what_to_refresh
from airflow_provider_sparkdeploy.airflow.units import Unit, decode_unit, encode_unit
from airflow_provider_sparkdeploy.core.names import ObjectName

HOURLY = '-- //// METADATA schedule="0 * * * *"\n'
FILES = {
    "a/table/t.sql": "CREATE TABLE ${a}.t (x INT) USING parquet;\n",
    "a/materialized_view/m.sql": f"{HOURLY}CREATE MATERIALIZED VIEW ${{a}}.m AS SELECT x FROM ${{a}}.t;\n",
    "a/materialized_view/n.sql": "CREATE MATERIALIZED VIEW ${a}.n AS SELECT x FROM ${a}.m;\n",
}
ALL = ("setup.a.m", "setup.a.n")
BROKEN = {"a/materialized_view/n.sql": FILES["a/materialized_view/n.sql"].replace("x FROM", "${none} FROM")}


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The Variables of an Airflow that has nothing else."""
    found: dict[str, str] = {}
    monkeypatch.setattr(keeping.Variable, "get", lambda key, default=None: found.get(key, default))
    monkeypatch.setattr(
        keeping.Variable, "set", lambda key, value, description=None: found.update({key: value})
    )
    return found


@pytest.fixture
def states(monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
    """Those of the tasks of the one run that there is."""
    found: dict[str, str | None] = {}
    monkeypatch.setattr(
        rendering, "task_states", lambda dag_id, run_id: found if (dag_id, run_id) == ("d", "run") else {}
    )
    return found


def refreshing(folder: Path) -> Deploying:
    return Deploying("d", sketch.write(folder, FILES))


def ids(view: View) -> tuple[str, ...]:
    return tuple(unit.id for unit in view.units)


def test_what_is_kept_of_units_reads_back_as_it_was(kept: dict[str, str]) -> None:
    unit = Unit("u", (ObjectName("a", "b.c"), ObjectName("a", "d")), ("v",), ("0 * * * *",), ("odd",))
    assert decode_unit(encode_unit(unit)) == unit
    view = View("f", environment="dev", units=(unit, Unit("v", (ObjectName("a", "e"),))))
    keeping.write_view("d", view)
    assert keeping.read_view("d") == view


def test_the_files_decide_while_no_run_is_active(
    tmp_path: Path, kept: dict[str, str], states: dict[str, str | None]
) -> None:
    deploying = refreshing(tmp_path)
    before = what_to_refresh(deploying)
    assert ids(before) == ALL
    keep(deploying, before, "run")
    states.update(plan="success", record="success")
    assert what_to_refresh(deploying) == replace(before, active="run")
    (tmp_path / "a/materialized_view/n.sql").unlink()
    assert ids(what_to_refresh(deploying)) == ALL[:1]


@pytest.mark.parametrize("what", ["edited", "broken", "deleted", "added", "no settings", "gone"])
def test_files_take_nothing_from_a_run_and_add_nothing(
    tmp_path: Path, kept: dict[str, str], states: dict[str, str | None], what: str
) -> None:
    deploying = refreshing(tmp_path / "repository")
    keep(deploying, what_to_refresh(deploying), "run")
    states.update({"plan": "success", "setup.a.m": "running", "setup.a.n": None, "record": None})
    shown = what_to_refresh(deploying)
    file = "a/materialized_view/n.sql"
    if what == "edited":
        sketch.write(deploying.repository, {file: HOURLY + FILES[file].replace(".m;", ".t;")})
    elif what == "broken":
        sketch.write(deploying.repository, BROKEN)
    elif what == "deleted":
        (deploying.repository / file).unlink()
    elif what == "added":
        sketch.write(deploying.repository, {file.replace("n.sql", "o.sql"): FILES[file].replace(".n", ".o")})
    elif what == "no settings":
        sketch.write(deploying.repository, {"sparkdeploy.yaml": "no_such_setting: 1\n"})
    else:
        deploying.repository.rename(tmp_path / "elsewhere")
    assert what_to_refresh(deploying) == shown
    states.update(dict.fromkeys((*ALL, "record"), "success"))
    assert what_to_refresh(deploying) != shown


@pytest.mark.parametrize("files", [BROKEN, {"sparkdeploy.yaml": "no_such_setting: 1\n"}])
def test_the_last_good_units_stay_while_files_have_errors(
    tmp_path: Path, kept: dict[str, str], states: dict[str, str | None], files: dict[str, str]
) -> None:
    deploying = refreshing(tmp_path)
    good = what_to_refresh(deploying)
    keep(deploying, good, "run")
    sketch.write(tmp_path, files)
    shown = what_to_refresh(deploying)
    assert (shown.units, shown.fingerprint, shown.environment) == (
        good.units,
        good.fingerprint,
        good.environment,
    )
    assert any("SD" in problem for problem in shown.problems)
    keep(deploying, shown, "another")  # a run meanwhile keeps the same
    assert what_to_refresh(deploying) == replace(shown, active="another")


def test_where_nothing_good_is_known_there_are_no_units(
    tmp_path: Path, kept: dict[str, str], states: dict[str, str | None]
) -> None:
    deploying = refreshing(tmp_path)
    sketch.write(tmp_path, BROKEN)
    shown = what_to_refresh(deploying)
    assert (shown.units, shown.fingerprint) == ((), "")
    assert any("none" in problem for problem in shown.problems)
    kept["sparkdeploy.view.d"] = "somebody has written over it"
    assert what_to_refresh(deploying) == shown


def test_a_run_that_begins_while_a_parse_reads_the_files_has_its_units(
    tmp_path: Path, kept: dict[str, str], states: dict[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parse began before the run, and reads files that were edited after the run had planned."""
    deploying = refreshing(tmp_path)
    good = what_to_refresh(deploying)
    states.update({"plan": "success", "setup.a.m": "running", "setup.a.n": None, "record": None})
    (tmp_path / "a/materialized_view/n.sql").unlink()
    read = Deploying.read

    def slowly(deploying: Deploying) -> object:
        contents = read(deploying)
        keep(deploying, good, "run")
        return contents

    monkeypatch.setattr(Deploying, "read", slowly)
    assert ids(what_to_refresh(deploying)) == ALL

"""SIGKILL of ``plan``, ``approve`` and ``record`` wherever they have written something. Whatever goes on
then, a retry, a cleared task or the next run, ends as if nobody had been killed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from deployments import FILES, ORDERS, Deployed
from test_interventions import DROPPED

# Stands before the DAG: the process of a task dies at the first of these places that nobody has died at.
_DEATHS = """
import importlib, os, signal
from pathlib import Path
from airflow.sdk import get_parsing_context

def dies(task, place, when):
    module, _, name = place.rpartition(":")
    owner = importlib.import_module(f"airflow_provider_sparkdeploy.{module}")
    *parts, name = name.split(".")
    for part in parts:
        owner = getattr(owner, part)
    original, note = getattr(owner, name), Path(FOLDER) / f"{task} {when} {place}"

    def die(moment):
        if moment == when and not note.exists():
            note.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def mortal(*args, **kwargs):
        die("before")
        found = original(*args, **kwargs)
        die("after")
        return found

    if get_parsing_context().task_id == task:
        setattr(owner, name, mortal)

for death in PLACES:
    dies(*death)
"""
PLAN = (
    ("plan", "airflow.runlog:RunLog.freeze", "before"),  # nothing is written
    ("plan", "airflow.runlog:RunLog._set", "after"),  # a part of the plan is frozen
    ("plan", "airflow.keeping:write_recorded", "after"),  # all of it is, and the graph does not know
    ("plan", "spark.lock:Lock.acquire", "after"),  # it has the lock
)
RECORD = (
    ("record", "spark.history:append", "before"),
    ("record", "spark.history:append", "after"),
    ("record", "airflow.keeping:write_view", "before"),  # the state is kept, the graph does not know
    ("record", "spark.lock:Lock.release", "before"),
    ("record", "spark.lock:Lock.release", "after"),
)


@pytest.fixture
def deaths(tmp_path: Path) -> Path:
    folder = tmp_path / "deaths"
    folder.mkdir()
    return folder


def _add_dag(
    deployed: Deployed, deaths: Path, places: tuple[tuple[str, str, str], ...], **arguments: object
) -> None:
    given = {"repository": str(deployed.folder), **arguments}
    listed = ", ".join(f"{key}={value!r}" for key, value in given.items())
    deployed.airflow.write_dag(
        deployed.dag_id,
        f"from datetime import timedelta\nfrom airflow_provider_sparkdeploy import SparkDeployDag\n\n"
        f"FOLDER, PLACES = {str(deaths)!r}, {places!r}\n{_DEATHS}\n"
        f"SparkDeployDag({deployed.dag_id!r}, retry_delay=timedelta(0), {listed})\n",
    )
    deployed.airflow.parsed(deployed.dag_id)


def _assert_as_if_nothing_had_happened(
    deployed: Deployed, deaths: Path, places: tuple[tuple[str, str, str], ...]
) -> None:
    assert len(list(deaths.iterdir())) == len(places)  # each was died at
    deployed.assert_settled()
    rows = deployed.sql("SELECT run, number, entry FROM {log}.deploy_log")
    assert len({(run, number) for run, number, _ in rows}) == len(rows)
    told = [json.loads(entry) for *_, entry in rows]
    done = [entry["operation"] for entry in told if entry["type"] == "done"]
    assert sorted(set(done)) == sorted(done)
    for run in {run for run, *_ in rows}:
        events = [
            entry["detail"]["event"] for entry in told if entry["run"] == run and entry["type"] == "run"
        ]
        assert sorted(set(events)) == sorted(events), rows


@pytest.mark.parametrize("places", [PLAN, RECORD], ids=["plan", "record"])
def test_killed_and_retried(
    deployed: Deployed, deaths: Path, places: tuple[tuple[str, str, str], ...]
) -> None:
    deployed.write(FILES)
    _add_dag(deployed, deaths, places, retries=len(places))
    deployed.deploy()
    assert deployed.sql("SELECT count(*) FROM {app}.orders") == [(2,)]
    _assert_as_if_nothing_had_happened(deployed, deaths, places)


@pytest.mark.parametrize("places", [PLAN, RECORD], ids=["plan", "record"])
def test_killed_and_run_again(
    deployed: Deployed, deaths: Path, places: tuple[tuple[str, str, str], ...]
) -> None:
    """Nobody retries: each run has one death, until the last."""
    deployed.write({"app/table/orders.sql": ORDERS})
    _add_dag(deployed, deaths, places, retries=0)
    more = "CREATE VIEW ${{app}}.more{0} AS SELECT amount FROM ${{app}}.orders;\n"
    for number, _ in enumerate(places):
        deployed.fails()
        if places == RECORD:  # the one before has done all: something for the next to do, and to record
            deployed.write({f"app/view/more{number}.sql": more.format(number)})
            deployed.airflow.parsed(
                deployed.dag_id, lambda tasks, name=f"setup.app.more{number}": name in tasks
            )
    deployed.deploy()
    assert deployed.sql("SELECT count(*) FROM {app}.orders") == [(2,)]
    _assert_as_if_nothing_had_happened(deployed, deaths, places)


def test_the_approval_killed_and_cleared(deployed: Deployed, deaths: Path) -> None:
    """Whoever clears it is asked again: an answer is never taken for one to another question."""
    places = (
        ("approve", "airflow.runlog:RunLog.ask", "after"),
        ("approve", "spark.lock:Lock.acquire", "after"),
        ("approve", "airflow.runlog:RunLog.decide", "after"),
    )
    deployed.write(FILES)
    _add_dag(deployed, deaths, places, retries=0)
    deployed.deploy()
    deployed.write(DROPPED)
    deployed.airflow.parsed(deployed.dag_id, lambda tasks: "approve" in tasks)
    run = deployed.fails()
    for asked in range(3):
        assert deployed.sql("SELECT * FROM {app}.report") == [(60,)]
        assert deployed.holder() == ""
        deployed.airflow.clear(deployed.dag_id, run, only_failed=True)
        deployed.running(run, "approve", "awaiting_input")
        deployed.airflow.answer(deployed.dag_id, run, "Approve")
        assert deployed.ended(run) == ("failed" if asked < 2 else "success"), deployed.airflow.why(
            deployed.dag_id, run
        )
    assert deployed.sql("SHOW TABLES IN {app}") == []
    _assert_as_if_nothing_had_happened(deployed, deaths, places)

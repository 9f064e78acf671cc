"""Whose graph is shown while a task of an earlier run is cleared, and who waits for whom."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sketch
from airflow.sdk.exceptions import AirflowFailException, AirflowRescheduleException
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

from airflow_provider_sparkdeploy.airflow import hook, keeping, plan_task, recording, runlog
from airflow_provider_sparkdeploy.airflow.deploying import Deploying
from airflow_provider_sparkdeploy.airflow.keeping import View
from airflow_provider_sparkdeploy.airflow.plan_task import SparkDeployPlanOperator
from airflow_provider_sparkdeploy.airflow.record_task import SparkDeployRecordOperator
from airflow_provider_sparkdeploy.airflow.rendering import what_to_show
from airflow_provider_sparkdeploy.airflow.runlog import Frozen, RunLog
from airflow_provider_sparkdeploy.airflow.shown import Shown
from airflow_provider_sparkdeploy.core.diagnostics import problem
from airflow_provider_sparkdeploy.spark import lock as locks

OLD = Shown("setup.a.old", "setup", "create", "a.old", "view", "a", "1:h")
DONE = dict.fromkeys(("extract", "lake.plan", "lake.setup.a.old", "lake.record", "report"), "success")
QUEUED: Mapping[str, str | None] = dict.fromkeys(("extract", "lake.plan", "lake.record"), None)
EXTRACTS: Mapping[str, str | None] = {**QUEUED, "extract": "running"}
BETWEEN: Mapping[str, str | None] = {**QUEUED, "extract": "success"}
PLANS: Mapping[str, str | None] = {**BETWEEN, "lake.plan": "up_for_reschedule"}


class Runs(dict[str, Mapping[str, str | None]]):
    """The tasks of the runs of a DAG, as the API server tells of them; the runs that are not queued."""

    running: Sequence[str] = ()

    def get_task_states(
        self, dag_id: str, run_ids: list[str] | None = None, task_ids: list[str] | None = None
    ) -> dict[str, dict[str, str | None]]:
        return {
            run: {name: state for name, state in states.items() if task_ids is None or name in task_ids}
            for run, states in self.items()
            if run_ids is None or run in run_ids
        }

    def get_dagrun_state(self, dag_id: str, run_id: str) -> str:
        return "running" if run_id in self.running else "queued"


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    found = Runs()
    for name in ("get_task_states", "get_dagrun_state"):
        monkeypatch.setattr(RuntimeTaskInstance, name, getattr(found, name))
    return found


@pytest.fixture(autouse=True)
def _variables(monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[str, str] = {}
    monkeypatch.setattr(keeping.Variable, "get", lambda key, default=None: found.get(key, default))
    monkeypatch.setattr(
        keeping.Variable, "set", lambda key, value, description=None: found.update({key: value})
    )


@pytest.fixture
def deploying(tmp_path: Path) -> Deploying:
    """A group in the DAG of a team, whose files are not those of the run before."""
    folder = sketch.write(tmp_path, {"a/view/new.sql": "CREATE VIEW ${a}.new AS SELECT 1 AS x;\n"})
    return Deploying("nightly", folder, prefix="lake")


def shows(deploying: Deploying, *, closed: float) -> str:
    """What is shown where the graph of run ``one`` is kept: its own, or what is to be done now."""
    keeping.write_view(deploying.name, View("1:old", (OLD,), active="one", closed=closed))
    [item] = what_to_show(deploying).view.operations
    return item.object.partition(".")[2]


@pytest.mark.parametrize("cleared", ["report", "extract", "lake.setup.a.old", "lake.record", "lake.plan"])
@pytest.mark.parametrize("other", [EXTRACTS, BETWEEN, PLANS])
def test_clearing_an_earlier_run_takes_nothing_from_the_one_of_today(
    deploying: Deploying, runs: Runs, cleared: str, other: Mapping[str, str | None]
) -> None:
    """The earlier one waits behind it, so none of what was cleared has a state."""
    runs.update(one={**DONE, cleared: None}, two=other)
    assert shows(deploying, closed=1) == "new"


@pytest.mark.parametrize("other", [EXTRACTS, BETWEEN, PLANS])
def test_a_run_whose_plan_failed_takes_nothing_from_the_one_of_today_when_it_is_cleared(
    deploying: Deploying, runs: Runs, other: Mapping[str, str | None]
) -> None:
    """Spark was gone, say: it has begun, and there is nothing that it could lose."""
    runs.update(one={"extract": "success", "lake.plan": None, "lake.setup.a.old": None}, two=other)
    keeping.write_view(deploying.name, View("1:old", (OLD,), active="one", planning=True))
    [item] = what_to_show(deploying).view.operations
    assert item.object == "a.new"


@pytest.mark.parametrize("cleared", ["report", "lake.setup.a.old"])
@pytest.mark.parametrize("others", [{}, {"two": QUEUED}, {"zero": DONE, "two": QUEUED}])
def test_a_run_that_is_cleared_has_its_graph_where_no_other_has_begun(
    deploying: Deploying, runs: Runs, cleared: str, others: Mapping[str, Mapping[str, str | None]]
) -> None:
    """A failed operation is cleared after the files have changed, say."""
    runs.update(one={**DONE, cleared: None}, **others)
    assert shows(deploying, closed=1) == "old"


@pytest.mark.parametrize("task", ["report", "lake.record", "lake.setup.a.old"])
@pytest.mark.parametrize("other", [QUEUED, {**DONE, "lake.plan": None}])
def test_a_run_at_work_has_its_graph(
    deploying: Deploying, runs: Runs, task: str, other: Mapping[str, str | None]
) -> None:
    """Also while the team's own tasks run behind the group, and another run is queued, new or cleared."""
    runs.update(one={**DONE, task: "running"}, two=other)
    assert shows(deploying, closed=1) == "old"


@pytest.mark.parametrize("other", [QUEUED, EXTRACTS])
def test_a_run_between_two_of_its_operations_has_its_graph(
    deploying: Deploying, runs: Runs, other: Mapping[str, str | None]
) -> None:
    """Beside another one of a backfill, too: it has not written down how it ended."""
    runs.update(one={**DONE, "lake.setup.a.old": None, "lake.record": None}, two=other)
    assert shows(deploying, closed=0) == "old"


def test_a_team_task_cleared_in_a_run_that_was_never_recorded_takes_nothing(
    deploying: Deploying, runs: Runs
) -> None:
    runs.update(one={**DONE, "report": None}, two=EXTRACTS)
    assert shows(deploying, closed=0) == "new"


def test_a_run_that_has_ended_or_is_gone_has_no_graph(deploying: Deploying, runs: Runs) -> None:
    runs["one"] = DONE
    assert shows(deploying, closed=0) == "new"
    del runs["one"]
    assert shows(deploying, closed=0) == "new"


@pytest.mark.parametrize("before", [0, 1])
def test_a_run_is_closed_when_it_is_written_down_how_it_ended(deploying: Deploying, before: float) -> None:
    """Also when it has ended a second time, because somebody had cleared what had failed."""
    view = View("1:old", (OLD,), active="one", closed=before)
    keeping.write_view(deploying.name, view)
    recording.close(deploying, "zero")  # recorded late, by the run after it
    assert keeping.read_view(deploying.name) == view
    recording.close(deploying, "one")
    kept = keeping.read_view(deploying.name)
    assert kept is not None
    assert (kept.active, kept.operations) == ("one", (OLD,))
    assert kept.closed > time.time()


def test_a_run_that_had_nothing_to_do_is_closed(
    deploying: Deploying, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As nearly all runs of a refresh are."""
    keeping.write_view(deploying.name, View("1:old", active="one"))
    monkeypatch.setattr(RunLog, "frozen", lambda log: Frozen("one", "", "1:old", "default", kind="refresh"))
    context: Any = {"run_id": "one"}
    SparkDeployRecordOperator(deploying=deploying, task_id="record").execute(context)
    kept = keeping.read_view(deploying.name)
    assert kept is not None
    assert kept.closed > time.time()


def test_the_graph_of_a_run_stays_until_the_scheduler_has_seen_that_it_is_over(
    deploying: Deploying, runs: Runs
) -> None:
    """Its last task has ended. With the next graph it would call that task, and all the others, removed."""
    runs["one"] = DONE
    assert shows(deploying, closed=time.time() + 60) == "old"
    assert shows(deploying, closed=time.time() - 1) == "new"
    runs["two"] = EXTRACTS  # it could not have begun before
    assert shows(deploying, closed=time.time() + 60) == "new"
    del runs["two"], runs["one"]  # somebody has deleted it
    assert shows(deploying, closed=time.time() + 60) == "new"


def test_a_run_that_begins_while_a_parse_reads_the_files_has_its_graph(
    deploying: Deploying, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parse began before the run, and reads files that were edited after the run had planned."""
    runs["one"] = {**DONE, "lake.setup.a.old": "running", "lake.record": None}
    read = Deploying.read

    def slowly(deploying: Deploying) -> object:
        contents = read(deploying)
        keeping.write_view(deploying.name, View("1:old", (OLD,), active="one"))
        return contents

    monkeypatch.setattr(Deploying, "read", slowly)
    [item] = what_to_show(deploying).view.operations
    assert item.object == "a.old"


def begins(deploying: Deploying, run_id: str, *, dry_run: bool = False) -> list[str]:
    """The graph with which the task ``plan`` of a run begins."""
    task = SparkDeployPlanOperator(deploying=deploying, task_id="plan")
    context: Any = {"run_id": run_id}
    return [item.object for item in task._begin(context, dry_run).operations]


def test_a_run_has_its_graph_before_it_looks_at_the_catalog(deploying: Deploying, runs: Runs) -> None:
    """Looking may take minutes; files that are edited meanwhile take nothing from it."""
    runs["one"] = {"lake.plan": "running", "lake.setup.a.new": None, "lake.record": None}
    assert begins(deploying, "one") == ["a.new"]
    sketch.write(deploying.repository, {"a/view/more.sql": "CREATE VIEW ${a}.more AS SELECT 2 AS x;\n"})
    assert [item.object for item in what_to_show(deploying).view.operations] == ["a.new"]
    assert "a.new" in what_to_show(deploying).texts["setup.a.new"]

    runs["one"] = {**runs["one"], "lake.plan": "up_for_reschedule"}  # it waits for a lock, and begins anew
    assert begins(deploying, "one") == ["a.more", "a.new"]
    assert [item.object for item in what_to_show(deploying).view.operations] == ["a.more", "a.new"]
    (deploying.repository / "a/view/more.sql").unlink()
    assert begins(deploying, "two") == ["a.more", "a.new"]  # another is bound by it


@pytest.mark.parametrize("failed", [False, True])
def test_a_run_begins_with_what_the_one_before_it_has_left(
    deploying: Deploying, runs: Runs, failed: bool
) -> None:
    left = View(deploying.fingerprint(), (replace(OLD, object="a.left"),))
    before = left if failed else View("1:old", (OLD,), next=left)
    keeping.write_view(deploying.name, replace(before, active="one", closed=1))
    runs["one"] = DONE
    assert begins(deploying, "two") == ["a.left"]
    assert keeping.read_view(deploying.name) == replace(left, active="two", planning=True)


def test_a_run_that_has_frozen_its_plan_keeps_its_graph_when_plan_is_cleared(
    deploying: Deploying, runs: Runs
) -> None:
    runs["one"] = {**DONE, "lake.plan": "running"}
    keeping.write_view(deploying.name, View("1:old", (OLD,), active="one", closed=1))
    assert begins(deploying, "one") == ["a.old"]


def test_a_dry_run_has_no_graph_of_its_own(deploying: Deploying, runs: Runs) -> None:
    """The one of a failed run stays, so that its tasks can be cleared."""
    view = View(deploying.fingerprint(), (OLD,), active="failed")
    keeping.write_view(deploying.name, view)
    runs["failed"] = DONE
    assert begins(deploying, "dry", dry_run=True) == ["a.old"]
    assert keeping.read_view(deploying.name) == view


def records(deploying: Deploying, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What ``plan`` of run ``two`` does about run ``one``: nothing but to look whether it was recorded."""
    keeping.write_view(deploying.name, View("1:old", (OLD,), active="one"))
    looked: list[str] = []
    monkeypatch.setattr(
        "airflow_provider_sparkdeploy.airflow.plan_task.RunLog",
        lambda deploying, run_id: SimpleNamespace(is_recorded=lambda: looked.append(run_id) or True),
    )
    task = SparkDeployPlanOperator(deploying=deploying, task_id="plan")
    instance = SimpleNamespace(get_first_reschedule_date=lambda context: None)
    context: Any = {"run_id": "two", "ti": instance}
    task._record_the_last(context)
    return looked


@pytest.mark.parametrize("cleared", ["report", "lake.setup.a.old", "lake.record"])
def test_a_plan_does_not_wait_for_a_run_that_waits_for_it(
    deploying: Deploying, runs: Runs, monkeypatch: pytest.MonkeyPatch, cleared: str
) -> None:
    runs.update(one={**DONE, cleared: None}, two=PLANS)
    runs.running = ("two",)
    assert records(deploying, monkeypatch) == ["one"]


def test_a_plan_does_not_wait_for_what_a_team_does_after_its_deployment(
    deploying: Deploying, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.update(one={**DONE, "report": "running"}, two=PLANS)
    runs.running = ("one", "two")
    assert records(deploying, monkeypatch) == ["one"]


def test_a_plan_waits_for_a_run_beside_it(
    deploying: Deploying, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.update(one={**DONE, "lake.record": None}, two=PLANS)
    runs.running = ("one", "two")
    with pytest.raises(AirflowRescheduleException):
        records(deploying, monkeypatch)


class Lock:
    """A lock as far as these tests need one: where it is let go."""

    def __init__(self, sessions: Any, schema: str, run: str, **_: Any) -> None:
        self.place = (sessions, schema, run)

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        LET_GO.append(self.place)

    def acquire(self) -> None: ...


LET_GO: list[tuple[Any, str, str]] = []


def test_the_lock_that_a_stale_run_has_left_is_let_go_where_it_was_taken(
    deploying: Deploying, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its plan was cleared while it had the lock, and found other files. It has recorded nothing, least of all in
    the Spark of a DAG without a connection."""
    deploying = replace(deploying, conn_id="spark", on_stale="fail")
    kept: list[Frozen] = []
    log = SimpleNamespace(freeze=lambda frozen, operations: kept.append(frozen), frozen=lambda: kept[-1])
    for module in (runlog, plan_task):
        monkeypatch.setattr(module, "RunLog", lambda *_: log)
    monkeypatch.setattr(
        hook, "SparkDeployHook", lambda conn_id: SimpleNamespace(sessions=lambda: f"those of {conn_id}")
    )
    recorded: list[Any] = []
    monkeypatch.setattr(
        recording, "record", lambda *about, tell: recorded.append(about) or recording.Recording(0)
    )
    monkeypatch.setattr(locks, "Lock", Lock)
    LET_GO.clear()
    task = SparkDeployPlanOperator(deploying=deploying, task_id="plan")
    repository = deploying.open()
    actual: Any = SimpleNamespace(planned=sketch.plan(repository), recorded=keeping.Recorded())
    context: Any = {"run_id": "one", "ti": SimpleNamespace(), "dag_run": SimpleNamespace(conf={})}
    shown = View("1:old", (OLD,), active="one")
    with pytest.raises(AirflowFailException, match="stale"):
        task._stop_as_stale(context, repository, actual, shown, ["a.old has changed"])

    runs["one"] = {**DONE, "lake.plan": "failed"}
    answers = [problem("SD801", "another deployment has the lock"), 7]

    def look() -> int:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    run = deploying.run_name("one")
    held: Any = SimpleNamespace(look=look, holder=lambda: run)
    assert task._look_at(held) == 7
    assert (LET_GO, recorded) == ([("those of spark", "sparkdeploy", run)], [])


def test_a_run_that_is_recorded_late_takes_no_graph_from_the_one_of_today(
    deploying: Deploying, runs: Runs
) -> None:
    """It was killed when it had all but let go of the lock, and the plan of today does that."""
    runs.update(one=DONE, two={**DONE, "lake.plan": "running", "lake.setup.a.old": None, "lake.record": None})
    keeping.write_view(deploying.name, View("1:old", (OLD,), active="two", planning=True))
    recording._show_next(deploying, "one", deploying.open(), keeping.Recorded())
    [item] = what_to_show(deploying).view.operations
    assert item.object == "a.old"
    runs["two"] = DONE
    recording._show_next(deploying, "one", deploying.open(), keeping.Recorded())
    [item] = what_to_show(deploying).view.operations
    assert item.object == "a.new"


def test_what_was_wrong_when_the_graph_was_made_is_forgotten_once_it_is_mended(
    deploying: Deploying, runs: Runs
) -> None:
    """Not in the files: a script was edited after it had run, and somebody has recorded it by the command line."""
    script = "//// CHANGE name=init\nCREATE TABLE ${a}.t (x INT);\n"
    state = sketch.deploy(
        Deploying("d", sketch.write(deploying.repository, {"a/table/t.sql": script})).open()
    )
    sketch.write(deploying.repository, {"a/table/t.sql": script.replace("x INT", "x BIGINT")})
    keeping.write_recorded(deploying.name, keeping.Recorded(1, state))
    shown = what_to_show(deploying).view
    assert shown.problems

    repository = deploying.open()
    mended = keeping.Recorded(2, sketch.everything(repository))
    planned = sketch.plan(repository, mended.state)
    assert not planned.plan.errors
    actual: Any = SimpleNamespace(planned=planned, recorded=mended)
    frozen = Frozen("one", "", planned.plan.fingerprint, "default")
    context: Any = {"run_id": "one"}
    SparkDeployPlanOperator(deploying=deploying, task_id="plan")._keep(
        context, repository, actual, frozen, shown
    )
    found = what_to_show(deploying).view
    assert (found.problems, found.operations) == ((), ())


def test_what_is_recorded_late_is_no_deployment(
    deploying: Deploying, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody clears a failed task of it, and ``record``, when another has deployed since: the task must not
    find that this run had the lock last, and go on with a plan of long ago."""
    runs["one"] = DONE
    taken: list[Any] = []

    class Kept(Lock):
        def expect(self, seen: int) -> None:
            taken.append(seen)

        def acquire(self, *, late: bool = False) -> None:
            taken.append(late)

    history = SimpleNamespace(batch=1, ends="")
    monkeypatch.setattr(locks, "Lock", Kept)
    monkeypatch.setattr(recording, "with_history", lambda *_: keeping.Recorded())
    monkeypatch.setattr(recording, "add_to_history", lambda *_: history)
    frozen = Frozen(deploying.run_name("one"), "", "1:old", "default", seen=7)
    sessions: Any = SimpleNamespace(open=lambda key="": contextlib.nullcontext(None))
    log: Any = SimpleNamespace(operations=lambda frozen: [])
    recording.record(deploying, "one", sessions, log, frozen, tell=lambda *_: None)
    assert taken == [7, True]


def test_a_stale_run_that_was_asked_for_a_part_leaves_a_graph_of_all(
    deploying: Deploying, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the next run, which is asked for nothing, would be stale as well."""
    deploying = replace(deploying, on_stale="fail")
    sketch.write(deploying.repository, {"a/view/more.sql": "CREATE VIEW ${a}.more AS SELECT 2 AS x;\n"})
    log = SimpleNamespace(freeze=lambda *_: None)
    monkeypatch.setattr("airflow_provider_sparkdeploy.airflow.runlog.RunLog", lambda *_: log)
    repository = deploying.open()
    planned = sketch.plan(repository, select=("more",))
    actual: Any = SimpleNamespace(planned=planned, recorded=keeping.Recorded())
    task = SparkDeployPlanOperator(deploying=deploying, task_id="plan")
    context: Any = {"run_id": "one", "ti": SimpleNamespace(), "params": {"select": ["more"]}}
    with pytest.raises(AirflowFailException, match="stale"):
        task._stop_as_stale(context, repository, actual, View("1:old", (OLD,)), ["a.more is new"])
    runs["one"] = DONE
    showing = what_to_show(deploying)
    assert [item.object for item in showing.view.operations] == ["a.more", "a.new"]
    assert showing.texts.keys() == {"setup.a.more", "setup.a.new"}

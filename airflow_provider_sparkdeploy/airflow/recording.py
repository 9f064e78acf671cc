"""The end of a run: what was done becomes history, and the state that the next plan starts from.

May be killed anywhere and run again. What the history has of the run is never written a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core.deploylog import Entry, encode_entry, now
from ..core.diagnostics import SparkDeployError
from ..core.operations import Operation
from ..core.repository import Repository
from ..core.state import State
from ..spark import history, marks
from ..spark.apply import Runner, applied, settle_unfinished, unfinished
from ..spark.history import Numbered, Point
from ..spark.session import Sessions, SparkFailure
from ..spark.target import Target
from ..spark.verify import broken_views, touched
from . import keeping
from .deploying import Deploying
from .keeping import Recorded
from .planning import Notebook, with_entries, with_history
from .rendering import kept_view, plan_against, task_states, texts_of, view_of
from .runlog import Frozen, RunLog, all_entries


@dataclass(frozen=True, slots=True)
class Recording:
    """How a run ended: what was done, and everything that makes it a failure. Of what is ``uncertain``
    nobody can tell whether it was done."""

    done: int
    problems: tuple[str, ...] = ()
    uncertain: tuple[str, ...] = ()


def record(
    deploying: Deploying,
    run_id: str,
    sessions: Sessions,
    log: RunLog,
    frozen: Frozen,
    *,
    tell: Callable[..., Any],
) -> Recording:
    """Fold the log of a run into the history and the recorded state, and release the lock.

    Whoever has deployed meanwhile: what was done was done, and is written down.
    """
    target = Target(**frozen.target)
    lock = frozen.lock(sessions)
    operations = log.operations(frozen)
    with lock:
        lock.expect(frozen.seen)
        lock.acquire(late=True)
        states = task_states(deploying.dag_id, run_id)
        decided = {item.id for item in operations if states.get(deploying.task_id(item.id)) == "success"}
        entries, uncertain = _settled(
            Runner(sessions, Notebook(), lock, target, frozen.run), log, operations, decided
        )
        done = {entry.operation for entry in entries if entry.type == "done"}
        with sessions.open() as spark:
            known = with_history(spark, target, keeping.read_recorded(deploying.name) or Recorded())
        deployed = with_entries(known, [*_opening(frozen), *entries])
        repository = _as_it_is_now(deploying)
        problems = [*_undone(deploying, states, frozen, entries, done), *uncertain]
        problems += _broken(sessions, deployed.state, repository, operations, done)
        whole = [*_opening(frozen), *entries, _closing(frozen, problems)]
        end = add_to_history(sessions, target, whole, entries)
        tell("The history has %d entries of this run", len(whole))
        mended = {item.object for item in operations if item.id in done}
        drift = {name: why for name, why in known.drift.items() if name not in mended}
        recorded = replace(deployed, serial=end.batch, ends=end.ends, drift=drift)
        keeping.write_recorded(deploying.name, recorded)
        is_deployment = frozen.kind != "refresh"  # after which other operations are left to do
        if is_deployment and repository is not None and len(done) == len(frozen.ids):
            _show_next(deploying, run_id, repository, recorded)
        close(deploying, run_id)  # last: what is left to do takes long to find out where there is much
    return Recording(len(done), tuple(problems), tuple(uncertain))


def is_recorded(sessions: Sessions, log: RunLog, frozen: Frozen) -> bool:
    """Whether the history has the end of a run, and every outcome that its log has."""
    outcomes: list[Entry] = []
    for _, entries in all_entries(log, log.operations(frozen)):
        if unfinished(entries):
            return False
        outcomes += [entry for entry in entries if entry.type != "intent"]
    with sessions.open() as spark:
        known = [
            item.entry for item in history.read_run(spark, Target(**frozen.target).log_schema, frozen.run)
        ]
    told = set(map(_identity, known))
    ended = any(entry.type == "run" and entry.detail.get("event") in _ENDS for entry in known)
    return ended and all(_identity(entry) in told for entry in outcomes)


def _settled(
    runner: Runner, log: RunLog, operations: Sequence[Operation], decided: set[str]
) -> tuple[list[Entry], list[str]]:
    """Every outcome, in the order of the plan: also of what was begun and never reported. What
    nobody can tell is told about, unless somebody has ``decided`` it: a task never ends as a success
    without an outcome, so one that has was marked by a person."""
    found: list[Entry] = []
    uncertain: list[str] = []
    for operation, entries in all_entries(log, operations):
        if begun := unfinished(entries):
            notebook = Notebook(entries)
            left = settle_unfinished(replace(runner, log=notebook), begun)
            if left and operation.id in decided:
                notebook.append(
                    applied(item, runner.run, "a person marked its task as done") for item in begun
                )
            else:
                uncertain += map(str, left)
            entries = notebook.entries
            log.write(operation, entries)
        found += [entry for entry in entries if entry.type != "intent"]
    return found, uncertain


def _undone(
    deploying: Deploying,
    states: Mapping[str, str | None],
    frozen: Frozen,
    entries: Sequence[Entry],
    done: set[str],
) -> list[str]:
    """What was planned and not done, and why: by the log; by the state of its task where it has no
    entry."""
    undone = [name for name in frozen.ids if name not in done]
    if not undone:
        return []
    failed = {entry.operation: entry for entry in entries if entry.type == "failed"}
    told = [f"{len(undone)} of {len(frozen.ids)} operations were not done:"]
    for name in undone:
        if entry := failed.get(name):
            told.append(f"  {name}: {str(entry.detail.get('error', '')).partition(chr(10))[0]}")
        else:
            state = states.get(deploying.task_id(name), "removed") or "not started"
            told.append(f"  {name}: its task is {state}")
    told.append(
        "Correct what failed, then clear the failed tasks; after a change of the files, start a new run."
    )
    return told


def _as_it_is_now(deploying: Deploying) -> Repository | None:
    """The files may have changed since the run was planned, and be broken by now: a run is recorded all
    the same."""
    try:
        return deploying.open()
    except SparkDeployError:
        return None


def _broken(
    sessions: Sessions,
    deployed: State,
    repository: Repository | None,
    operations: Sequence[Operation],
    done: set[str],
) -> list[str]:
    """The views that the run broke, redeployed or not."""
    changed = {name for operation in operations if operation.id in done for name in touched(operation)}
    missed = frozenset(operation.object for operation in operations if operation.id not in done)
    files = repository.objects if repository else {}
    try:
        return [str(item) for item in broken_views(sessions, deployed, files, changed, missed)]
    except SparkFailure as failure:
        return [f"whether all views can still be read is not known: {failure}"]


def _opening(frozen: Frozen) -> list[Entry]:
    started = {
        "event": "started", "kind": frozen.kind, "environment": frozen.environment, "fingerprint": frozen.fingerprint,
    }  # fmt: skip
    noted = [Entry("noted", frozen.run, frozen.at, effects=frozen.notes)] if frozen.notes else []
    return [Entry("run", frozen.run, frozen.at, detail=started), *noted]


_ENDS = ("failed", "succeeded")


def _closing(frozen: Frozen, problems: Sequence[str]) -> Entry:
    return Entry("run", frozen.run, now(), detail={"event": "failed" if problems else "succeeded"})


def add_to_history(
    sessions: Sessions, target: Target, whole: Sequence[Entry], entries: Sequence[Entry]
) -> Point:
    """Add what the history does not have of this run; where it ends then."""
    run = whole[0].run
    with history.writing(sessions, run) as spark:
        known = history.read_run(spark, target.log_schema, run)
        told = {_identity(item.entry) for item in known}
        number = max((item.number for item in known), default=0)
        news = [entry for entry in whole if _identity(entry) not in told]
        if len(news) == 1 and _same_end(news[0], known[-1].entry):
            news = []  # nothing but the time at which the same is said again
        due = [Numbered(number + place, replace(entry, run=run)) for place, entry in enumerate(news, 1)]
        if due:
            history.append(spark, target.log_schema, target.environment, due)
        marks.drop(
            spark, target.log_schema, {entry.detail["mark"] for entry in entries if "mark" in entry.detail}
        )
        return history.last_point(spark, target.log_schema, target.environment)


def _identity(entry: Entry) -> bytes:
    """Entries of one moment and content are one. When a run is recorded again, so is its end, unless that
    is all."""
    return encode_entry(replace(entry, run=""))


def _same_end(first: Entry, second: Entry) -> bool:
    return first.type == second.type == "run" and first.detail == second.detail


def close(deploying: Deploying, run_id: str) -> None:
    """From here on the run has nothing that it must not lose: if somebody clears a task of it while another
    run is under way, it is that one's graph which is shown."""
    kept = keeping.read_view(deploying.name)
    if kept is not None and kept.active == run_id:
        keeping.write_view(deploying.name, replace(kept, closed=keeping.until_seen()))


def _show_next(deploying: Deploying, run_id: str, repository: Repository, recorded: Recorded) -> None:
    """What the graph shows once the last task of this run has ended: what is left to do, which is
    nothing where everything was asked for. After a failure the graph stays as it is as long as the
    files do, so that its tasks can be cleared."""
    kept, is_shown = kept_view(deploying)
    active = kept if kept is not None and kept.active == run_id else None
    if is_shown and active is None:
        return  # recorded late, by the run of today: from that nothing may be taken
    try:
        plan = plan_against(repository, recorded.state)
    except SparkDeployError:
        return
    view = view_of(deploying, repository, plan, serial=recorded.serial)
    texts = dict(keeping.read_texts(deploying.name)) if active else {}
    keeping.write_texts(deploying.name, texts | texts_of(plan.operations))
    keeping.write_view(deploying.name, replace(active, next=view) if active else view)

"""The actual plan: what has to be done now. Talks to Spark.

What is deployed is what the history in the environment says, from where the recorded state ends;
what is really there is looked at. So a deployment by somebody else is known, and so is everything
when what Airflow kept is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..core.deploylog import Entry, LogContent, now
from ..core.diagnostics import SparkDeployError
from ..core.planner import Planned, Request, make_plan
from ..core.repository import Repository
from ..core.state import Effect, fold
from ..spark import history, marks
from ..spark.apply import Runner, settle_unfinished, unfinished
from ..spark.deployment import observe
from ..spark.lock import Lock
from ..spark.rebuild import rebuilt
from ..spark.recover import left_marks
from ..spark.session import Sessions, Spark
from ..spark.target import Target
from .keeping import Recorded


@dataclass(frozen=True, slots=True)
class Actual:
    """What has to be done, and what it was found from."""

    planned: Planned
    recorded: Recorded
    found: tuple[Effect, ...] = ()  # what was deployed, and nobody had recorded: known by what is there


class Notebook:
    """A deploy log that lasts as long as a process: for what is folded, and recorded elsewhere."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries = list(entries)

    def read(self) -> LogContent:
        return LogContent(tuple(self.entries))

    def append(self, entries: Iterable[Entry]) -> None:
        self.entries += entries


def catch_up(sessions: Sessions, target: Target, lock: Lock, run: str, recorded: Recorded) -> Recorded:
    """What is deployed by now: the history since, what free-form statements left, and what became of
    those that were begun and never reported."""
    with sessions.open() as spark:
        known = with_history(spark, target, recorded)
        marked = left_marks(spark, target.log_schema, target.environment, run)
    notebook = Notebook(marked)
    if begun := unfinished(marked):
        lock.acquire()
        left = settle_unfinished(Runner(sessions, notebook, lock, target, run), begun)
        if left:
            raise SparkDeployError(left)
    return with_entries(known, notebook.entries)


def with_history(spark: Spark, target: Target, recorded: Recorded) -> Recorded:
    """What is deployed by now, as the history of the environment says; also where nothing is recorded,
    or what is recorded was of another history: the DAG names another environment or connection now."""
    known = history.Point(recorded.serial, recorded.ends)
    told, end, goes_on = history.read_after(spark, target.log_schema, target.environment, known)
    start = recorded if goes_on else Recorded()
    return replace(with_entries(start, (item.entry for item in told)), serial=end.batch, ends=end.ends)


def look_and_plan(repository: Repository, sessions: Sessions, recorded: Recorded, request: Request) -> Actual:
    """The plan from what is really there."""
    looked = now()
    catalog = observe(sessions, repository, recorded.state)
    planned = make_plan(repository, recorded.state, catalog=catalog, request=request)
    return Actual(planned, replace(recorded, drift=planned.drift, looked=looked))


def with_lost(
    actual: Actual, repository: Repository, sessions: Sessions, target: Target, request: Request, run: str
) -> Actual:
    """The same, where tables are there that nothing tells of: a run was killed, and what Airflow kept of
    it is lost. They carry the markers of their scripts."""
    if all(item.code != "SD431" for item in actual.planned.plan.errors):
        return actual
    with sessions.open() as spark:
        left = marks.read_all(spark, target.log_schema, target.environment).values()
    entries = rebuilt(sessions, repository, target, actual.recorded.state, left, run)
    done = [entry for entry in entries if entry.type == "done"]
    if not done:
        return actual
    again = look_and_plan(repository, sessions, with_entries(actual.recorded, done), request)
    return replace(again, found=tuple(effect for entry in done for effect in entry.effects))


def with_entries(recorded: Recorded, entries: Iterable[Entry]) -> Recorded:
    """What is deployed once these are written down."""
    effects = ((effect, entry.at, entry.run) for entry in entries for effect in entry.effects)
    return replace(recorded, state=fold(effects, recorded.state))

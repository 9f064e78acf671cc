"""What a parse of the DAG file shows. Reads Variables and the repository; never Spark.

While a run is under way its own graph is shown, so that no parse can take a task from it. Otherwise
the kept graph is shown as long as it was made for this very repository: no SQL is parsed then.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..core.collecting import without_collector
from ..core.diagnostics import SparkDeployError
from ..core.fingerprint import Contents
from ..core.operations import Operation, Plan
from ..core.repository import Repository
from ..core.state import State
from . import keeping
from .deploying import Deploying
from .keeping import View
from .shown import shown, shown_cycles, together

ENDED = frozenset({"success", "failed", "skipped", "upstream_failed", "removed"})
_LONGEST = 4_000  # characters of SQL of one operation that people are shown in the graph
_ALL = 400_000  # and of all operations of a graph


@dataclass(frozen=True, slots=True)
class Showing:
    """A graph, and the SQL of its operations by their ids, for people."""

    view: View
    texts: Mapping[str, str] = field(default_factory=dict)


def what_to_show(deploying: Deploying, planning: str = "") -> Showing:
    """The graph of this parse; or for a run that is ``planning``, and has no graph of its own yet.

    The files are read first, and what is kept after them: if a run begins while they are read, it is its
    graph that is shown, and never one of files that were edited since.
    """
    try:
        contents = deploying.read()
    except SparkDeployError as error:
        problems = tuple(map(str, error.diagnostics))
        contents = None
    kept, is_shown = kept_view(deploying, planning)
    if kept is not None and is_shown:
        return _kept(deploying, kept)
    if contents is None:
        return Showing(View("", problems=problems))
    kept = kept.next or kept if kept is not None else None
    if kept is not None and kept.fingerprint == contents.fingerprint:
        return _kept(deploying, kept)
    return _planned(deploying, contents)


def kept_view(deploying: Deploying, planning: str = "") -> tuple[View | None, bool]:
    """What is kept, and whether it is the graph of a run under way: then it is shown, and no other. A run
    that is ``planning`` is not bound by what an earlier try of its plan has found."""
    kept = keeping.read_view(deploying.name)
    if kept is None or not kept.active or (kept.planning and kept.active == planning):
        return kept, False
    return kept, _is_under_way(deploying, kept)


@without_collector()
def _planned(deploying: Deploying, contents: Contents) -> Showing:
    """What is to be done by what is recorded as deployed; remembered until one of the two changes."""
    from .remembering import recall, remember

    text = keeping.recorded_text(deploying.name)
    known = recall(deploying, contents.fingerprint, text)
    if known is not None:
        return Showing(*known)
    recorded = keeping.recorded_of(text)
    repository = deploying.parse(contents)
    plan = plan_against(repository, recorded.state if recorded else {})
    view = view_of(deploying, repository, plan, guess=recorded is None)
    texts = texts_of(plan.operations)
    remember(deploying, contents.fingerprint, text, view, texts)
    return Showing(view, texts)


def _kept(deploying: Deploying, view: View) -> Showing:
    return Showing(view, keeping.read_texts(deploying.name) if view.operations else {})


def _is_under_way(deploying: Deploying, kept: View) -> bool:
    """Whether a view's run would lose by another graph. One that has ended has no tasks to lose, and one
    that is gone has none.

    A parse cannot ask for the state of a run, only of its tasks. One that is somewhere between *scheduled*
    and its end tells that the run is at work. Where none is, the run is between two of its tasks, or
    somebody has cleared a task of it, and it waits until the run of today has ended. As long as it is not
    written down how it ended, what it has to do for the deployment is enough to keep its graph, if that is
    frozen. And once its last task has ended the scheduler has yet to see that: with another graph it would
    call that task, and all the others, removed.
    """
    states = task_states(deploying.dag_id, kept.active)
    open_ = {name: state for name, state in states.items() if state not in ENDED}
    may_lose = not (kept.closed or kept.planning)
    if any(open_.values()) or (may_lose and any(map(deploying.own, open_))):
        return True
    may_be_seen = bool(open_) or (bool(states) and time.time() < kept.closed)
    return may_be_seen and not _is_behind_another(deploying, kept.active)


def _is_behind_another(deploying: Deploying, run_id: str) -> bool:
    """Whether another run has begun, and not come as far as to have its own graph kept. Asked only where
    it matters: of a DAG with a long history it takes as long as to read all of a small table."""
    plan = deploying.task_id("plan")
    others = [
        run
        for run, states in _states_of(deploying.dag_id, task_ids=[plan]).items()
        if run != run_id and states[plan] not in ENDED
    ]
    found = _states_of(deploying.dag_id, run_ids=others) if others else {}
    return any(state is not None for states in found.values() for state in states.values())


def task_states(dag_id: str, run_id: str) -> Mapping[str, str | None]:
    """The states of all tasks of a run, in one call."""
    return _states_of(dag_id, run_ids=[run_id]).get(run_id, {})


def _states_of(
    dag_id: str, *, run_ids: list[str] | None = None, task_ids: list[str] | None = None
) -> Mapping[str, Mapping[str, str | None]]:
    """The states of tasks by their runs."""
    from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

    return RuntimeTaskInstance.get_task_states(dag_id=dag_id, run_ids=run_ids, task_ids=task_ids)


def plan_against(repository: Repository, state: State) -> Plan:
    from ..core.planner import make_plan

    return make_plan(repository, state).plan


def view_of(
    deploying: Deploying,
    repository: Repository,
    plan: Plan,
    *,
    serial: int = 0,
    guess: bool = False,
) -> View:
    """How a plan is shown. ``render="all"`` adds what a first deployment would do."""
    items = tuple(shown(operation) for operation in plan.operations)
    if deploying.render == "all":
        everything = plan_against(repository, {})
        items = together(items, tuple(shown(operation) for operation in everything.operations))
    settings = repository.settings
    return View(
        plan.fingerprint,
        items,
        serial,
        problems=tuple(map(str, plan.errors)),
        blocked=len(plan.blocked),
        guess=guess,
        cycles=shown_cycles(plan),
        environment=settings.environment,
        approval=settings.on_destructive == "approve" and any(item.destructive for item in items),
    )


def with_more(view: View, more: View) -> View:
    """Both of them in one graph; where both have an operation, that of the first."""
    operations = together(view.operations, more.operations)
    return replace(view, operations=operations, approval=view.approval or more.approval)


def texts_of(operations: tuple[Operation, ...]) -> dict[str, str]:
    """The SQL that people see in the graph, by the id of its operation."""
    longest = min(_LONGEST, max(200, _ALL // max(1, len(operations))))
    return {operation.id: _shortened(operation.sql, longest) for operation in operations}


def _shortened(text: str, longest: int) -> str:
    return (
        text
        if len(text) <= longest
        else f"{text[:longest].rstrip()}\n-- and {len(text) - longest:,} characters more"
    )

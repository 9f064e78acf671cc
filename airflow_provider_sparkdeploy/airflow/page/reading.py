"""What the page asks Airflow's database, through the models that Airflow's own routes use.

This runs in the API server only. There is no Spark here, and none is started.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from airflow.models.dag import DagModel, DagTag
from airflow.models.dagrun import DagRun
from airflow.models.serialized_dag import SerializedDagModel
from airflow.models.taskinstance import TaskInstance
from airflow.models.variable import Variable
from airflow.models.xcom import XComModel
from sqlalchemy import select
from sqlalchemy.orm import Session

from ..deploying import Deploying, replans_of
from ..keeping import recorded_of, unpack, variable
from .kept import drawn_plan, drawn_steps, fitting_view, groups, kept, log_of, serialized_tasks
from .values import Kept, Log, Run, Step, Task

TAG = "sparkdeploy"
_MOST_RUNS = 20  # of one page of the history
_MOST_OPERATIONS = 4_000  # and of all of its runs; one run is always shown


@dataclass(frozen=True, slots=True)
class Deployment:
    """What a DAG, or a group of one, deploys: what is kept, and what its graph shows now."""

    place: Deploying
    kept: Kept
    steps: tuple[Step, ...]


def read_groups(session: Session, dag_id: str) -> tuple[str, ...]:
    """The deployments of a DAG; nothing where it has none, or is not there."""
    return groups(_tasks_of(session, dag_id))


def read_deployment(session: Session, dag_id: str, group: str) -> Deployment | None:
    """A deployment by the id of its group. Only the DAG's own: a name that looks like another's
    Variable finds nothing."""
    tasks = _tasks_of(session, dag_id)
    if group not in groups(tasks):
        return None
    place = Deploying(dag_id, Path(), prefix=group)
    view, texts, state = (
        _variable(session, variable(what, place.name)) for what in ("view", "texts", "state")
    )
    fitting, steps = fitting_view(
        unpack(view)[0], unpack(texts)[0], drawn_plan(tasks, group), drawn_steps(tasks, group)
    )
    found = kept(fitting, recorded_of(state))
    if found.active and not _is_under_way(read_run(session, dag_id, found.active)):
        found = replace(found, active="")
    return Deployment(place, found, steps)


def _is_under_way(run: Run | None) -> bool:
    return run is not None and run.state in ("queued", "running")


def _tasks_of(session: Session, dag_id: str) -> Sequence[Mapping[str, Any]]:
    found = SerializedDagModel.get(dag_id, session=session)
    return serialized_tasks(found.data) if found is not None else ()


def _variable(session: Session, key: str) -> str | None:
    found = session.scalar(select(Variable).where(Variable.key == key))
    return found.get_val() if found is not None else None


def read_dags(session: Session, readable: Collection[str]) -> list[tuple[str, bool]]:
    """Those of the DAGs that a user may read that deploy something, and whether each is paused."""
    tagged = select(DagTag.dag_id).where(DagTag.name == TAG)
    names = set(session.scalars(tagged))
    prefix = f"{TAG}.view."
    names |= {
        key.removeprefix(prefix)
        for key in session.scalars(select(Variable.key).where(Variable.key.startswith(prefix)))
    }
    alive = session.execute(
        select(DagModel.dag_id, DagModel.is_paused).where(
            DagModel.dag_id.in_(readable), DagModel.is_stale.is_(False)
        )
    )
    return sorted(
        (dag_id, bool(paused))
        for dag_id, paused in alive
        if any(name.partition(":")[0] == dag_id for name in names)
    )


def read_runs(session: Session, dag_id: str, limit: int = _MOST_RUNS, offset: int = 0) -> list[Run]:
    """The newest first."""
    asked = (
        select(DagRun).where(DagRun.dag_id == dag_id).order_by(DagRun.id.desc()).limit(limit).offset(offset)
    )
    return [_run(item) for item in session.scalars(asked)]


def read_run(session: Session, dag_id: str, run_id: str) -> Run | None:
    found = session.scalar(select(DagRun).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))
    return _run(found) if found is not None else None


def _run(item: DagRun) -> Run:
    conf = item.conf if isinstance(item.conf, dict) else {}
    return Run(
        item.run_id, str(item.state), str(item.run_type), item.start_date, item.end_date, item.clear_number or 0,
        item.triggering_user_name or "", replans_of(conf),
    )  # fmt: skip


def read_log(session: Session, place: Deploying, run_id: str) -> Log | None:
    """Everything that the ``plan`` task of a run holds."""
    rows = session.execute(_xcoms(place).where(XComModel.run_id == run_id))
    return log_of({key: value for _, key, value in rows})


def _xcoms(place: Deploying) -> Any:
    return select(XComModel.run_id, XComModel.key, XComModel.value).where(
        XComModel.dag_id == place.dag_id,
        XComModel.task_id == place.task_id("plan"),
        XComModel.map_index == -1,
    )


def read_tasks(session: Session, place: Deploying, run_id: str, operations: Iterable[str]) -> dict[str, Task]:
    """The tasks of a run, by the ids of their ``operations``, or by the names that they have within the
    deployment."""
    return _tasks(session, place, {run_id: operations}).get(run_id, {})


def read_retried(
    session: Session, place: Deploying, operations: Mapping[str, Iterable[str]]
) -> dict[str, dict[str, Task]]:
    """Of several runs, the tasks that were tried more than once."""
    return _tasks(session, place, operations, TaskInstance.try_number > 1)


def _tasks(
    session: Session, place: Deploying, operations: Mapping[str, Iterable[str]], *conditions: Any
) -> dict[str, dict[str, Task]]:
    whole = {run: {place.task_id(name): name for name in names} for run, names in operations.items()}
    asked = select(
        TaskInstance.run_id,
        TaskInstance.task_id,
        TaskInstance.state,
        TaskInstance.try_number,
        TaskInstance.duration,
    ).where(TaskInstance.dag_id == place.dag_id, TaskInstance.run_id.in_(whole), *conditions)
    found: dict[str, dict[str, Task]] = {}
    for run_id, task_id, state, tries, seconds in session.execute(asked):
        name = whole[run_id].get(task_id) or place.own(task_id)
        if name is not None:
            found.setdefault(run_id, {})[name] = Task(
                task_id, str(state) if state else None, tries or 0, seconds
            )
    return found


def read_logs(
    session: Session, place: Deploying, runs: Sequence[Run], *, only: str = ""
) -> dict[str, Log | None]:
    """The logs of the newest of these runs, as many as one answer can hold. ``only``: of those that
    have an operation whose id ends so."""
    ids = [run.run_id for run in runs]
    asked = _xcoms(place).where(XComModel.run_id.in_(ids), XComModel.key == "frozen")
    frozen = {run_id: value or {} for run_id, _, value in session.execute(asked)}
    found: dict[str, Log | None] = {}
    left = _MOST_OPERATIONS
    for run_id in ids:
        names = frozen.get(run_id, {}).get("ids", ())
        if only and not any(name.endswith(only) for name in names):
            continue
        left -= len(names)
        if left < 0 and found:
            break
        found[run_id] = read_log(session, place, run_id) if run_id in frozen else None
    return found

"""What users write to refresh materialized views: ``SparkRefreshDag``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, MultipleCronTriggerTimetable, Param, TaskGroup, get_parsing_context

from .arguments import caller, check_runs, check_zone, checked, folder, known_to_dag, pairs, tell
from .deploying import Deploying
from .keeping import View
from .refresh_task import SparkRefreshOperator
from .tasks import (
    COMMON,
    LONGEST_LABEL,
    reserve_names,
    retry_settings,
    tasks_on_a_worker,
    without_params,
)

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator

    from .units import Unit

PARAMS = {
    "refresh_all": Param(
        False, type="boolean", description="Refresh every materialized view now, also one that has no schedule."
    ),
    "select": Param(
        [], type=["null", "array"], items={"type": "string"},
        description="Refresh these now, due or not: tag:, path:, schema:, +name, name+. Nothing: what is due.",
    ),
}  # fmt: skip
VIEWS = "views"
_TO_TELL = "0 * * * *"  # when a run fails that can do nothing else, because no schedule can be read


class SparkRefreshDag(DAG):
    """A DAG that refreshes materialized views when their ``schedule`` attributes say so.

    ``plan -> one task per unit -> record``. A unit is a materialized view, or all views of a cycle,
    which are computed together. A unit comes after those that it reads, directly or by way of other
    objects; it is due when the first of its members' schedules has come round since it was last
    computed, by whomever. What is not due is skipped, without holding up what is; what has no
    schedule is refreshed by a deployment, by ``sparkdeploy refresh``, or when a run is asked to. A
    unit that fails stops only those that read it.

    What is deployed is refreshed also while files have errors. A view that is due then, and is not
    deployed as its file says, fails with these errors, and so does ``plan`` where nothing can be known.

    It takes the lock of the environment for as long as a run lasts, and changes nothing but contents:
    a view that is not deployed as the repository says is left to ``SparkDeployDag``.

    :param dag_id: the id of the DAG.
    :param repository: the folder of SQL files; relative to the DAG file if it is not absolute.
    :param environment: the environment of ``sparkdeploy.yaml``; its default one if not given.
    :param conn_id: a connection as for ``SparkDeployDag``.
    :param overrides: settings over those of ``sparkdeploy.yaml``, each as ``key=value``.
    :param schedule: when to look what is due. By default whenever a schedule of a view comes round;
        anything that Airflow takes, where it should be less often, or after something else.
    :param timezone: the time zone that the schedules of the views are meant in.
    :param retries: how often a task is tried again after a failure that may pass by itself.
    :param retry_delay: how long to wait before the first retry; each next one waits longer, up to five minutes.

    Everything else is passed on to Airflow's ``DAG``; ``max_active_runs`` is always 1; another
    value is an error.
    """

    @checked(known_to_dag)
    def __init__(
        self,
        dag_id: str,
        *,
        repository: str | Path,
        environment: str | None = None,
        conn_id: str | None = None,
        overrides: Mapping[str, str] | Sequence[str] = (),
        schedule: Any = VIEWS,
        timezone: str = "UTC",
        retries: int = 2,
        retry_delay: timedelta = timedelta(seconds=10),
        params: Mapping[str, Any] | None = None,
        **dag_arguments: Any,
    ) -> None:
        check_runs(dag_id, dag_arguments)
        check_zone(dag_id, timezone)
        fileloc = caller()
        deploying = Deploying(dag_id, folder(repository, fileloc), environment, conn_id, pairs(overrides))
        asked = get_parsing_context()
        found = _found(deploying) if asked.task_id is None else View("")
        tell(dag_id, deploying.repository, found.problems)
        super().__init__(
            dag_id,
            schedule=_timetable(found, timezone) if schedule == VIEWS else schedule,
            **{"catchup": False, "tags": ["sparkdeploy"], **dag_arguments, "max_active_runs": 1},
            params={**PARAMS, **(params or {})},
        )
        self.fileloc = fileloc
        settings = {**COMMON, **retry_settings(retries, retry_delay)}
        with self, without_params(self):
            if asked.task_id is None:
                _all_tasks(deploying, found, timezone, settings)
            else:
                name = deploying.own(asked.task_id) if asked.dag_id == dag_id else None
                build = partial(_single_task, deploying, timezone=timezone, settings=settings)
                tasks_on_a_worker(deploying, name, build)
        reserve_names(self.task_group)


def _found(deploying: Deploying) -> View:
    from .refreshable import what_to_refresh

    return what_to_refresh(deploying)


def _timetable(found: View, timezone: str) -> MultipleCronTriggerTimetable | None:
    """Whenever a schedule comes round; None where there is none. Where nobody knows, there are runs all the
    same: nothing else tells people that nothing is refreshed."""
    schedules = sorted({item for unit in found.units for item in unit.schedules})
    if found.problems and not found.fingerprint:
        schedules = [_TO_TELL]
    return MultipleCronTriggerTimetable(*schedules, timezone=timezone) if schedules else None


def _single_task(
    deploying: Deploying, name: str, *, timezone: str, settings: Mapping[str, Any]
) -> BaseOperator:
    """The one task that a worker was asked to run. What it does comes from the plan of its run."""
    common = {"deploying": deploying, "task_id": name, **settings}
    if name == "plan":
        from .refresh_plan_task import SparkRefreshPlanOperator

        return SparkRefreshPlanOperator(timezone=timezone, **common)
    if name == "record":
        from .record_task import SparkDeployRecordOperator

        return SparkDeployRecordOperator(trigger_rule="all_done", **common)
    return SparkRefreshOperator(operation=name, trigger_rule="none_failed", **common)


def _all_tasks(deploying: Deploying, found: View, timezone: str, settings: Mapping[str, Any]) -> None:
    from ..core.names import task_part
    from ..core.operations import shortened
    from .assets import deployed_object
    from .record_task import SparkDeployRecordOperator
    from .refresh_plan_task import SparkRefreshPlanOperator

    plan = SparkRefreshPlanOperator(
        deploying=deploying, task_id="plan", timezone=timezone, doc_md=_plan_doc(found), **settings
    )
    record = SparkDeployRecordOperator(
        deploying=deploying, task_id="record", trigger_rule="all_done", **settings
    )
    _link([plan], record)
    phase = TaskGroup("setup")  # a name that is kept free, and a schema may have any
    groups: dict[str, TaskGroup] = {}
    tasks: dict[str, BaseOperator] = {}
    for unit in found.units:
        schema = task_part(unit.members[0].schema)
        if schema not in groups:
            groups[schema] = TaskGroup(
                shortened(schema, LONGEST_LABEL), parent_group=phase, prefix_group_id=False
            )
        tasks[unit.id] = SparkRefreshOperator(
            deploying=deploying,
            operation=unit.id,
            task_id=unit.id,
            task_group=groups[schema],
            about={"action": _action(unit)},
            doc_md=_doc(unit),
            trigger_rule="none_failed",
            outlets=[
                deployed_object(str(name), environment=found.environment)
                for name in unit.members
                if not unit.index
            ],
            **settings,
        )
    for unit in found.units:
        _link([tasks[name] for name in unit.after] or [plan], tasks[unit.id])
        _link([tasks[unit.id]], record)


def _link(first: Sequence[BaseOperator], then: BaseOperator) -> None:
    for task in first:
        task.set_downstream(then)


def _action(unit: Unit) -> str:
    if unit.index:
        return "index"
    return "fixpoint" if len(unit.members) > 1 else "refresh"


def _doc(unit: Unit) -> str:
    members = "\n".join(f"- {name}" for name in unit.members)
    schedule = ", ".join(f"`{item}`" for item in unit.schedules) or "no schedule: only when asked for"
    problems = "".join(f"\n\n**{problem}**" for problem in unit.problems)
    what = "Makes an index anew, once this is computed:" if unit.index else "Computes"
    return f"{what}\n\n{members}\n\nWhen: {schedule}{problems}"


def _plan_doc(found: View) -> str:
    if found.problems:
        listed = "\n".join(f"- {problem}" for problem in found.problems)
        known = "What is deployed is refreshed as before" if found.fingerprint else "Nothing can be refreshed"
        return f"{known}; the files have errors:\n\n{listed}"
    views = [unit for unit in found.units if not unit.index]
    scheduled = sum(bool(unit.schedules) for unit in views)
    return f"Finds out what is due, of {len(views)}, {scheduled} of them with a schedule."

"""The task ``plan`` of ``SparkRefreshDag``: what is due, frozen for the run.

The tasks of a refresh are those of a deployment whose plan is to refresh what is due. So a refresh can
be killed and started again anywhere, takes the same lock, and is in the same history.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from airflow.sdk.exceptions import AirflowFailException, DownstreamTasksSkipped
from airflow.sdk.observability.stats import Stats

from ..core.deploylog import now
from ..core.diagnostics import Diagnostic, SparkDeployError
from . import keeping
from .due import is_due, units_of
from .plan_task import SparkDeployPlanOperator
from .refresh_task import WRONG
from .refreshable import keep, what_to_refresh
from .rendering import task_states
from .runlog import Frozen
from .units import Unit

if TYPE_CHECKING:
    from airflow.sdk import Context

    from ..core.planner import Planned
    from ..core.repository import Repository
    from ..spark.lock import Lock
    from .planning import Actual

_MOST = 10  # errors that a task tells of; the task `plan` tells of all


class SparkRefreshPlanOperator(SparkDeployPlanOperator):
    """Finds out which materialized views are due, freezes that for the run, and skips the others.

    It looks at the catalog and changes nothing in it. A view that is not deployed as the repository
    says is left to the next deployment, and named in the log. While files have errors there may be no next
    deployment: the task of such a view fails then.

    :param timezone: the time zone that the schedules of the views are meant in.
    """

    def __init__(self, *, timezone: str = "UTC", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.timezone = timezone

    def _plan(self, context: Context) -> Mapping[str, Any]:
        from ..spark.lock import Lock
        from ..spark.target import target_of

        repository = self.deploying.open()
        errors, view = errors_of(repository), what_to_refresh(self.deploying)
        if not view.fingerprint or (
            errors and not repository.objects
        ):  # nothing is known, or not even a folder
            raise AirflowFailException("\n".join(view.problems or map(str, errors)))
        run, target = self._run(context), target_of(repository.settings)
        with Lock(self.hook.sessions(), target.log_schema, run, refreshes=True) as lock:
            seen = self._look_at(lock)
            keep(self.deploying, view, context["run_id"])
            tasks = self._operations(task_states(self.deploying.dag_id, context["run_id"]))
            actual, held = self._look_what_is_due(context, repository, view.units, errors, lock)
            seen = lock.seen or seen
        self._tell(actual)
        keeping.write_recorded(self.deploying.name, actual.recorded)
        plan = actual.planned.plan
        operations = [item for item in plan.operations if item.id in tasks]
        for item in plan.operations:
            if item.id not in tasks:  # it came with a later parse
                self.log.warning("%s is due, and this run has no task for it: the next one has", item.object)
        frozen = Frozen(
            run=run,
            kind="refresh",
            at=now(),
            fingerprint=plan.fingerprint,
            environment=repository.settings.environment,
            ids=(*(item.id for item in operations), *sorted(tasks & held.keys())),
            seen=seen,
            target=target.encode(),
            conn_id=self.conn_id,
            request={WRONG: {unit.id: list(unit.problems) for unit in view.units if unit.problems} | held},
        )
        self._log_of(context).freeze(frozen, operations)
        Stats.gauge("sparkdeploy.refresh.due", len(frozen.ids), tags={"dag_id": self.deploying.dag_id})
        told = {"due": list(frozen.ids), "not_due": len(tasks) - len(frozen.ids)}
        context["ti"].xcom_push(key="return_value", value=told)
        if frozen.ids:
            self._take_lock(frozen)
        if skipped := [self.deploying.task_id(name) for name in sorted(tasks.difference(frozen.ids))]:
            raise DownstreamTasksSkipped(tasks=skipped)  # type: ignore[no-untyped-call]
        return told

    def _look_what_is_due(
        self,
        context: Context,
        repository: Repository,
        units: Sequence[Unit],
        errors: Sequence[Diagnostic],
        lock: Lock,
    ) -> tuple[Actual, dict[str, list[str]]]:
        """What is to be refreshed; and the units that ought to be, and cannot because of the errors, with the
        reason, by their ids."""
        from ..core.refresh import make_refresh
        from ..spark.catalog import inspect, wanted_objects
        from ..spark.target import target_of
        from .planning import Actual, catch_up

        params = context["params"]
        select = tuple(params.get("select") or ())
        sessions = self.hook.sessions()
        recorded = keeping.read_recorded(self.deploying.name) or keeping.Recorded()
        recorded = catch_up(sessions, target_of(repository.settings), lock, self._run(context), recorded)
        if select or params.get("refresh_all"):
            chosen = list(units)
        else:
            run_after = getattr(context["dag_run"], "run_after", None) or datetime.now(UTC)
            chosen = self._due(repository, units, recorded, max(datetime.now(UTC), run_after))
        members = {name for unit in chosen for name in unit.members}
        everything = wanted_objects(repository, recorded.state)
        catalog = inspect(
            sessions,
            {name: item for name, item in everything.items() if name in members},
            data_schema=repository.settings.data_schema,
        )
        for error in errors:
            self.log.warning("%s", error)
        planned = make_refresh(
            repository, recorded.state, catalog=catalog, include=select, despite_errors=bool(errors)
        )
        actual = Actual(_only(planned, chosen), recorded)
        if not errors or select:
            return actual, {}
        fit = {item.id for item in actual.planned.plan.operations}
        held = [unit for unit in chosen if unit.id not in fit and recorded.state.keys() >= set(unit.members)]
        return actual, {unit.id: _held_up(unit, errors) for unit in held}

    def _due(
        self, repository: Repository, units: Sequence[Unit], recorded: keeping.Recorded, moment: datetime
    ) -> list[Unit]:
        """The units whose schedule has come round at a moment, and those whose schedule nobody can
        read: their tasks say so."""
        from .freshness import last_refreshed

        records = [
            record
            for unit in units
            if unit.schedules and not unit.index
            for name in unit.members
            if (record := recorded.state.get(name)) is not None
        ]
        if repository.settings.materialized_views == "native":  # the catalog keeps them, and does not tell
            refreshed = {record.name: datetime.fromisoformat(record.at) for record in records if record.at}
        else:
            refreshed = last_refreshed(self.hook.sessions(), records)
        zone = ZoneInfo(self.timezone)
        due = [unit for unit in units if unit.problems or is_due(unit, refreshed, moment, zone)]
        for unit in (unit for unit in due if not unit.index):
            for name in unit.members:
                since = (
                    f"{refreshed[name]:%Y-%m-%d %H:%M:%S} UTC" if name in refreshed else "nobody knows when"
                )
                self.log.info("%s is due: %s; computed %s", name, ", ".join(unit.schedules), since)
        return due


def errors_of(repository: Repository) -> tuple[Diagnostic, ...]:
    """What is wrong with the files."""
    try:
        units_of(repository)
    except SparkDeployError as error:
        return tuple(error.diagnostics)
    return ()


def _held_up(unit: Unit, errors: Sequence[Diagnostic]) -> list[str]:
    """Why a unit that is deployed is not refreshed. Otherwise that is left to the next deployment; here
    there is none before the errors are gone."""
    told = [
        Diagnostic(
            "", 0, "SD506", f"{name} is not refreshed: it is not deployed as the repository says",
            "It cannot be deployed while files have errors: correct these, then deploy it.", object=str(name),
        )
        for name in unit.members
    ]  # fmt: skip
    more = [f"and {len(errors) - _MOST} more errors"] if len(errors) > _MOST else []
    return [*map(str, told), *map(str, errors[:_MOST]), *more]


def _only(planned: Planned, units: Sequence[Unit]) -> Planned:
    """The part of a plan that is about these units."""
    ids = {unit.id for unit in units}
    names = {str(name) for unit in units for name in unit.members}
    plan = planned.plan
    return replace(
        planned,
        plan=replace(
            plan,
            operations=tuple(item for item in plan.operations if item.id in ids),
            diagnostics=tuple(item for item in plan.diagnostics if item.object in names),
        ),
        selected=frozenset(name for unit in units for name in unit.members),
    )

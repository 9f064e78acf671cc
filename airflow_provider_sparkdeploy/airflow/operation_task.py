"""The task of one operation. Light to import: every worker that runs one parses the DAG file first.

It never templates SQL: ``{{`` is legal there, and means nothing to Airflow.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException
from airflow.sdk.observability.stats import Stats

from ..core.operations import PHASES
from .links import PlanPageLink, SparkUILink
from .task import HELD, DeployTask

if TYPE_CHECKING:
    from airflow.sdk import Asset, Context

    from ..core.operations import Operation
    from .runlog import Frozen, RunLog

_FIRST = 100  # events of an asset that are looked at; that of a run is among the first after its plan
COLOURS = {
    "create": "#a9dfbf", "replace": "#f9e79f", "alter": "#f9e79f", "run": "#d2b4de", "drop": "#f5b7b1",
    "refresh": "#aed6f1", "fixpoint": "#85c1e9", "index": "#d5dbdb", "load": "#a3e4d7",
}  # fmt: skip


class SparkDeployOperator(DeployTask):
    """Runs one operation of the run's frozen plan, and nothing else.

    Safe to retry and to clear at any time: it first finds out what became of an earlier attempt. An
    operation that the plan does not have is skipped, and one that was done is not done again.
    """

    template_fields: Sequence[str] = ("conn_id", "about", "sql", "reasons")
    template_fields_renderers: ClassVar[dict[str, str]] = {"sql": "sql", "reasons": "json", "about": "json"}
    operator_extra_links = (PlanPageLink(), SparkUILink())

    def __init__(
        self,
        *,
        operation: str,
        about: Mapping[str, Any] | None = None,
        sql: str = "",
        reasons: Any = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.operation = operation
        self.sql = sql
        self.reasons = [list(reason) for reason in reasons]
        self.about = dict(about or {})
        self.ui_color = COLOURS.get(self.about.get("action", ""), "#eaeded")
        self._found: Operation | None = None
        self._environment = ""
        self._was_done = False

    def render_template_fields(self, context: Context, jinja_env: Any = None) -> None:
        """What is shown is what runs: the statement of the frozen plan, never templated."""
        log = self._log_of(context)
        self.operation = log.whole(self.operation)
        found = log.operation(self.operation)
        self._found = found
        self.sql = found.sql if found else ""
        self.reasons = [list(reason) for reason in found.reasons] if found else []
        self.about = _about(found) if found else {}
        if self.conn_id is not None:
            self.conn_id = self.render_template(self.conn_id, context, jinja_env)

    def execute(self, context: Context) -> Mapping[str, Any]:
        from ..core.diagnostics import SparkDeployError
        from ..spark.failure import SparkFailure

        log = self._log_of(context)
        frozen = log.frozen()
        if frozen is None:
            self._skip_with_plan(context)
            raise AirflowFailException("this run has no plan; clear the task plan")
        operation = self._found
        if operation is None and self.operation in frozen.ids:
            raise AirflowFailException("the plan of this run is no longer complete; start a new run")
        if operation is None or frozen.dry_run:
            raise AirflowSkipException("the plan of this run does not need it")
        self._environment = frozen.environment
        self._check_decision(log, frozen)
        self._check_order(context, frozen, operation)
        try:
            with Stats.timer("sparkdeploy.operation.duration", tags={"action": operation.action}):
                told = self._operate(context, log, frozen, operation)
        except (SparkDeployError, SparkFailure):
            Stats.incr("sparkdeploy.operation.failed", tags={"action": operation.action})
            self._tell_of_new_files(frozen)
            raise
        self.outlets = self._assets(operation)
        if self._was_done:
            self.outlets = [asset for asset in self.outlets if not self._was_told(context, frozen, asset)]
        Stats.incr("sparkdeploy.operation.done", tags={"action": operation.action})
        if passes := told.get("iterations"):
            Stats.gauge("sparkdeploy.fixpoint.iterations", passes, tags={"object": str(operation.object)})
        return dict(told)

    def _tell_of_new_files(self, frozen: Frozen) -> None:
        """A run keeps to the texts that it was planned with, also when it is cleared."""
        from ..core.diagnostics import SparkDeployError

        with contextlib.suppress(SparkDeployError):
            if self.deploying.fingerprint() != frozen.fingerprint:
                self.log.warning(
                    "The files have changed since this run was planned, and it keeps to what they said then: to "
                    "deploy them as they are now, start a new run."
                )

    def _assets(self, operation: Operation) -> list[Asset]:
        """What is as its file says now. A worker's task is built without looking at the plan, so the
        assets that it has news of are known only here."""
        from ..core.names import display
        from ..core.operations import settled_objects
        from .assets import deployed_object

        return [
            deployed_object(display(name), environment=self._environment)
            for name in settled_objects(operation)
        ]

    def _was_told(self, context: Context, frozen: Frozen, asset: Asset) -> bool:
        """Whether there is news of an asset from this task since its run was planned. There is where somebody
        has cleared it, and none where its worker died as soon as all was done."""
        from airflow.sdk.execution_time.context import InletEventsAccessor

        events = InletEventsAccessor(asset_name=asset.name, asset_uri=asset.uri).after(frozen.at)
        own = (self.deploying.dag_id, context["run_id"], self.task_id)
        return any(
            (event.source_dag_id, event.source_run_id, event.source_task_id) == own
            for event in events.limit(_FIRST)
        )

    def _operate(
        self, context: Context, log: RunLog, frozen: Frozen, operation: Operation
    ) -> Mapping[str, Any]:
        from ..core.diagnostics import SparkDeployError
        from ..spark.apply import Runner, session_key, settle_unfinished, unfinished
        from ..spark.resume import uncertain
        from ..spark.target import Target
        from .runlog import OperationLog

        entries = OperationLog(log, frozen, operation, context.get("task_state_store"))
        if entries.done:
            self.log.info("Done before, by an earlier attempt of this task: %s", entries.entries[-1].at)
            entries.append(())
            self._was_done = True
            return {}
        target = Target(**frozen.target)
        sessions = frozen.sessions()
        lock = frozen.lock(sessions)
        lock.expect(frozen.seen)
        runner = Runner(sessions, entries, lock, target, frozen.run)
        # Who had it since the plan was made is not waited for: what was planned no longer holds.
        with self._waiting_for_the_lock(context, (HELD,)):
            lock.acquire()
        with lock.joined():
            if entries.abandoned and not sessions.settle(session_key(entries.abandoned, operation)):
                raise SparkDeployError(
                    [uncertain(operation, "Spark may still be running an earlier text of it")]
                )
            if left := settle_unfinished(runner, unfinished(entries.entries)):
                self.log.error(
                    "Nobody can tell whether an earlier attempt of this task was done. Look at the object. If it was "
                    "done: mark this task as a success, then clear the task record. If not: sparkdeploy resolve %s "
                    "--rerun with --spark or --warehouse of this environment, then clear this task.",
                    operation.id,
                )
                raise SparkDeployError(left)
            if entries.done:
                self.log.info("An earlier attempt had done it: %s", entries.entries[-1].detail.get("saw"))
                return {}
            self.log.info("%s\n%s", operation.id, operation.sql)
            told = runner.operate(operation)
        if detail := {key: value for key, value in told.items() if key != "attempt"}:
            self.log.info("%s", detail)
        return told

    def _check_decision(self, log: RunLog, frozen: Frozen) -> None:
        if not frozen.needs_approval:
            return
        decision = log.decision(frozen)
        if not decision.get("approved"):
            raise AirflowFailException(
                "this run loses data, and nobody has approved it: "
                + (decision.get("why") or "see the task approve")
            )

    def _check_order(self, context: Context, frozen: Frozen, operation: Operation) -> None:
        """A graph that was parsed a moment ago may have other edges than the frozen plan: wait."""
        needed = {name for name in operation.depends_on if name in frozen.ids}
        earlier = PHASES[: PHASES.index(operation.phase)]
        needed |= {name for name in frozen.ids if name.partition(".")[0] in earlier}
        if not needed:
            return
        from .rendering import task_states

        states = task_states(self.deploying.dag_id, context["run_id"])
        open_ = {name: states.get(self.deploying.task_id(name)) for name in sorted(needed)}
        late = {name: state for name, state in open_.items() if state != "success"}
        if not late:
            return
        name, state = next(iter(late.items()))
        if state in ("failed", "upstream_failed", "skipped", "removed"):
            raise AirflowFailException(
                f"it needs {name}, which is {state}: clear that task, and this one with it"
            )
        self._come_back(context, f"{name} has to be done first")

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        """Inputs and outputs for OpenLineage, where its provider is installed."""
        from .lineage import lineage_of

        return lineage_of(self._found, self._environment)


def _about(operation: Operation) -> dict[str, Any]:
    from .shown import about_operation, shown

    return about_operation(shown(operation))

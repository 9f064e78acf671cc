"""The task ``approve``: a person decides before anything loses data."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from ..core.deploylog import now
from ..core.diagnostics import SparkDeployError
from . import keeping
from .deploying import Deploying
from .hook import SparkDeployHook
from .links import PlanPageLink
from .plan_task import request_of
from .runlog import Frozen, RunLog

if TYPE_CHECKING:
    from airflow.sdk import Context

    from ..core.operations import Operation
    from ..spark.lock import Lock

_LONGEST_WAIT = 600.0  # seconds, for the lock
_POLL = 5.0


class SparkDeployApproveOperator(ApprovalOperator):
    """Asks a person before anything that loses data. Airflow's own approval; no slot is held.

    A rejection fails the run. Every operation looks at the decision itself, so nothing runs without
    one, whatever the shape of the DAG. After an approval the catalog is looked at again: what was
    approved must still be what is needed.
    """

    template_fields: Sequence[str] = ()
    ui_color = "#fdebd0"
    operator_extra_links = (PlanPageLink(),)

    def __init__(self, *, deploying: Deploying, **kwargs: Any) -> None:
        kwargs["retries"] = 0  # a rejection is an answer, not an accident
        super().__init__(subject="Operations that lose data", fail_on_reject=True, **kwargs)
        self.deploying = deploying

    def execute(self, context: Context) -> Any:
        log = RunLog(self.deploying, context["run_id"])
        frozen = log.frozen()
        if frozen is None:
            raise AirflowFailException("there is no plan to decide about; clear the task plan")
        if not frozen.needs_approval:
            raise AirflowSkipException("nothing in this run needs a decision")
        destructive = [operation for operation in log.operations(frozen) if operation.destructive]
        count = f"{len(destructive)} operation{'s' if len(destructive) != 1 else ''}"
        self.subject = f"{self.deploying.name}: {count} will lose data in environment {frozen.environment}"
        self.body = approval_text(destructive)
        return super().execute(context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        log = RunLog(self.deploying, context["run_id"])
        chosen = event.get("chosen_options") or []
        by = event.get("responded_by_user") or {}
        decision = {"approved": chosen == [self.APPROVE], "by": by.get("name") or by.get("id"), "at": now()}
        log.decide(decision)
        told = super().execute_complete(context, event)
        frozen = log.frozen()
        if frozen is not None:
            self._check_again(context, log, frozen)
        return told

    def _check_again(self, context: Context, log: RunLog, frozen: Frozen) -> None:
        """Take the lock, then look whether A is still what is needed."""
        from ..spark.lock import Lock
        from ..spark.target import Target
        from .planning import catch_up, look_and_plan

        repository = self.deploying.open()
        target = Target(**frozen.target)
        sessions = SparkDeployHook(self.deploying.conn_id).sessions()
        lock = Lock(sessions, target.log_schema, frozen.run)
        recorded = keeping.read_recorded(self.deploying.name) or keeping.Recorded()
        if repository.fingerprint == frozen.fingerprint:
            _take(lock)
            with lock.joined():
                recorded = catch_up(sessions, target, lock, frozen.run, recorded, ())
                request = request_of(frozen.request)
                plan = look_and_plan(repository, sessions, recorded, request).planned.plan
            if _same(plan.operations, log.operations(frozen)):
                return
            moved = "the catalog changed while this run waited for a decision"
        else:
            moved = "the repository changed while this run waited for a decision"
        log.decide({"approved": False, "why": moved})
        raise AirflowFailException(
            f"stale: {moved}; what was approved is not what is needed now. Run it again"
        )


def _take(lock: Lock) -> None:
    """Whoever deploys at this moment is waited for, here: a task that a person has answered cannot come
    back later without asking again."""
    patience = time.monotonic() + _LONGEST_WAIT
    while True:
        try:
            return lock.acquire()
        except SparkDeployError as error:
            if time.monotonic() > patience or all(item.code != "SD801" for item in error.diagnostics):
                raise
        time.sleep(_POLL)


def approval_text(destructive: Sequence[Operation]) -> str:
    """What a person decides about: every operation, why, and its SQL. Markdown."""
    parts = []
    for operation in destructive[:50]:
        why = ", ".join(" ".join(reason) for reason in operation.reasons) or "changed"
        parts.append(
            f"**`{operation.id}`** {operation.action} {operation.kind} ({why})\n\n```sql\n{operation.sql}\n```"
        )
    if len(destructive) > 50:
        parts.append(f"... and {len(destructive) - 50} more, on the plan page.")
    return "\n\n".join(parts)


def _same(first: Sequence[Operation], second: Sequence[Operation]) -> bool:
    """Whether two plans do the same."""
    return [(item.id, item.action, item.hash) for item in first] == [
        (item.id, item.action, item.hash) for item in second
    ]

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
from .links import PlanPageLink
from .plan_task import replan, request_of
from .runlog import Frozen, RunLog
from .shown import sql_block

if TYPE_CHECKING:
    from airflow.sdk import Context

    from ..core.operations import Operation
    from ..spark.lock import Lock

_LONGEST_WAIT = 600.0  # seconds, for the lock
_POLL = 5.0
_WHOLE = 50  # operations whose SQL a person is shown in full; of more, the beginning of each
_BEGINNING = 200  # characters


class SparkDeployApproveOperator(ApprovalOperator):
    """Asks a person before anything that loses data. Airflow's own approval; no slot is held.

    A rejection fails the run. Every operation looks at the decision itself, so nothing runs without
    one, whatever the shape of the DAG; and one is about the plan that was shown, not about another that
    was made meanwhile. After an approval the catalog is looked at again: what was approved must still
    be what is needed. Files that change while somebody thinks change nothing about it.
    """

    template_fields: Sequence[str] = ("conn_id",)  # neither the subject nor the body, which holds SQL
    ui_color = "#fdebd0"
    operator_extra_links = (PlanPageLink(),)

    def __init__(self, *, deploying: Deploying, **kwargs: Any) -> None:
        kwargs["retries"] = 0  # a rejection is an answer, not an accident
        super().__init__(subject="Operations that lose data", fail_on_reject=True, **kwargs)
        self.deploying = deploying
        self.conn_id = deploying.conn_id

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
        log.ask(frozen)
        return super().execute(context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        log = RunLog(self.deploying, context["run_id"])
        frozen = log.frozen()
        if frozen is None or not log.asked(frozen):
            raise AirflowFailException(
                "the plan was made anew while somebody was asked about the one before; clear this task to ask again"
            )
        chosen = event.get("chosen_options") or []
        by = event.get("responded_by_user") or {}
        decision = {"approved": chosen == [self.APPROVE], "by": by.get("name") or by.get("id"), "at": now()}
        if not decision["approved"]:
            log.decide(frozen, decision)
        told = super().execute_complete(context, event)  # raises where it was rejected
        if moved := self._moved(log, frozen):
            log.decide(frozen, {"approved": False, "why": moved})
            raise AirflowFailException(
                f"stale: {moved}; what was approved is not what is needed now: {replan(self.deploying, context)}"
            )
        log.decide(frozen, decision)
        return told

    def _moved(self, log: RunLog, frozen: Frozen) -> str:
        """Take the lock, then look whether A is still what is needed: what has moved, if it is not."""
        from ..core.reconcile import reconcile
        from ..spark.deployment import observe
        from ..spark.target import Target
        from .planning import catch_up, look_and_plan

        sessions = frozen.sessions()
        lock = frozen.lock(sessions)
        lock.expect(frozen.seen)
        recorded = keeping.read_recorded(self.deploying.name) or keeping.Recorded()
        operations = log.operations(frozen)
        try:
            _take(lock)
        except SparkDeployError as error:
            if any(item.code == "SD806" for item in error.diagnostics):
                return "somebody else deployed while this run waited for a decision"
            raise
        with lock.joined():
            repository = self.deploying.open()
            known = catch_up(sessions, Target(**frozen.target), lock, frozen.run, recorded)
            if repository.fingerprint == frozen.fingerprint:
                actual = look_and_plan(repository, sessions, known, request_of(frozen.request))
                same = _same(actual.planned.plan.operations, operations)
            else:  # other files, of which there may be no plan: what this one touches must be as it was
                seen = reconcile(repository, known.state, observe(sessions, repository, known.state)).differs
                touched = {operation.object for operation in operations}
                same = all(seen.get(name) == recorded.drift.get(name) for name in touched)
        return "" if same else "the catalog changed while this run waited for a decision"


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
    for operation in destructive:
        why = ", ".join(" ".join(reason) for reason in operation.reasons) or "changed"
        sql = operation.sql
        if len(destructive) > _WHOLE and len(sql) > _BEGINNING:
            sql = f"{sql[:_BEGINNING].rstrip()}\n-- ... in full on the plan page"
        parts.append(f"**`{operation.id}`** {operation.action} {operation.kind} ({why})\n\n{sql_block(sql)}")
    return "\n\n".join(parts)


def _same(first: Sequence[Operation], second: Sequence[Operation]) -> bool:
    """Whether two plans do the same."""
    return [(item.id, item.action, item.hash) for item in first] == [
        (item.id, item.action, item.hash) for item in second
    ]

"""What all tasks of a deployment have in common. Light: every parse on a worker imports it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, BaseOperatorLink
from airflow.sdk.exceptions import AirflowRescheduleException, AirflowSkipException

from .deploying import Deploying
from .links import PlanPageLink
from .retrying import DeployRetryPolicy

if TYPE_CHECKING:
    from airflow.sdk import Context

    from .hook import SparkDeployHook
    from .runlog import RunLog

_SHORTEST, _LONGEST = timedelta(seconds=2), timedelta(minutes=1)  # pauses between two looks
_LONGEST_FOR_LOCK = timedelta(hours=1)
HELD, _HAD = "SD801", "SD806"  # somebody has the lock, or had it a moment ago


class DeployTask(BaseOperator):
    """What all four have in common."""

    template_fields: Sequence[str] = ("conn_id",)
    operator_extra_links: Collection[BaseOperatorLink] = (PlanPageLink(),)

    def __init__(self, *, deploying: Deploying, **kwargs: Any) -> None:
        kwargs.setdefault("retry_policy", DeployRetryPolicy())
        super().__init__(**kwargs)
        self.deploying = deploying
        self.conn_id = deploying.conn_id

    def _log_of(self, context: Context) -> RunLog:
        from .runlog import RunLog

        return RunLog(self.deploying, context["run_id"])

    def _run(self, context: Context) -> str:
        return self.deploying.run_name(context["run_id"])

    def _skip_with_plan(self, context: Context) -> None:
        """Where a team has decided that a deployment does not run (a branch before it, say), Airflow skips
        ``plan``, and none of what comes after it."""
        from .rendering import task_states

        states = task_states(self.deploying.dag_id, context["run_id"])
        if states.get(self.deploying.task_id("plan")) == "skipped":
            raise AirflowSkipException("this run does not deploy: the task plan was skipped")

    def _come_back(
        self, context: Context, why: str, longest: timedelta = timedelta.max, *, reason: str = ""
    ) -> None:
        """Let the scheduler start this task again after a pause, which grows: no worker waits, and no
        retry is used up. Returns where that has gone on for too long; each ``reason`` has its own clock."""
        moment = datetime.now(UTC)
        waited = moment - self._waiting_since(context, reason, moment)
        if waited < longest:
            self.log.info("Waiting: %s", why)
            pause = min(max(waited / 10, _SHORTEST), _LONGEST)
            raise AirflowRescheduleException(moment + pause)  # type: ignore[no-untyped-call]

    def _waiting_since(self, context: Context, reason: str, moment: datetime) -> datetime:
        """When this try of the task began to wait for a reason; now, where it does from now on."""
        store = context.get("task_state_store")
        if store is None:  # as in `dag.test()`
            return context["ti"].get_first_reschedule_date(context) or moment
        key = f"waiting.{context['ti'].try_number}.{reason}"
        since = store.get(key)
        if since is None:
            store.set(key, moment.isoformat())
            return moment
        return datetime.fromisoformat(str(since))

    @contextmanager
    def _waiting_for_the_lock(
        self, context: Context, codes: Collection[str] = (HELD, _HAD)
    ) -> Iterator[None]:
        """Whoever has the lock of the environment is waited for."""
        from ..core.diagnostics import SparkDeployError

        try:
            yield
        except SparkDeployError as error:
            if any(item.code in codes for item in error.diagnostics):
                self._come_back(context, str(error), _LONGEST_FOR_LOCK, reason="lock")
            raise

    @cached_property
    def hook(self) -> SparkDeployHook:
        """One for a task: its sessions may have been expensive to start."""
        from .hook import SparkDeployHook

        return SparkDeployHook(self.conn_id)

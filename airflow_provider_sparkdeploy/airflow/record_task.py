"""The task ``record``: the end of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowFailException

from .task import DeployTask

if TYPE_CHECKING:
    from airflow.sdk import Context

    from .runlog import Frozen


class SparkDeployRecordOperator(DeployTask):
    """Folds what was done into the recorded state and the history, and lets others have the lock.

    It always runs, and fails if anything that was planned was not done: it judges by the log, not by
    the colours of tasks.
    """

    ui_color = "#d6eaf8"

    def execute(self, context: Context) -> Mapping[str, Any]:
        from .recording import close, record

        log = self._log_of(context)
        frozen = log.frozen()
        if frozen is None:
            self._skip_with_plan(context)
            raise AirflowFailException(
                "there is no plan to record: the task plan failed, and its log says why"
            )
        if frozen.stale:
            raise AirflowFailException(
                "nothing of this plan was done: the run is stale, see the log of the task plan"
            )
        if frozen.dry_run or not (frozen.ids or frozen.notes):
            close(self.deploying, context["run_id"])
            return {"done": 0}
        self._wait_for_the_last(context, frozen)
        with self._waiting_for_the_lock(context):
            outcome = record(
                self.deploying, context["run_id"], frozen.sessions(), log, frozen, tell=self.log.info
            )
        if outcome.problems:
            raise AirflowFailException("\n".join(outcome.problems))
        return {"done": outcome.done}

    def _wait_for_the_last(self, context: Context, frozen: Frozen) -> None:
        """A failure ends all that comes after it at once, and so what this task waits for, while
        operations that have nothing to do with it are still at work."""
        from .rendering import ENDED, task_states

        states = task_states(self.deploying.dag_id, context["run_id"])
        for name in frozen.ids:
            if states.get(self.deploying.task_id(name), "removed") not in ENDED:
                self._come_back(context, f"{name} has not ended yet")

"""Operations that run in the triggerer instead of in workers: for measuring what that would save.

Not part of the product: a task that ends in the triggerer has no state store, no retry policy and no asset
events, and Airflow hands the whole serialised DAG to each of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from airflow.triggers.base import (
    BaseTrigger,
    StartTriggerArgs,
    TaskFailedEvent,
    TaskSuccessEvent,
    TriggerEvent,
)

from airflow_provider_sparkdeploy.airflow.deploying import Deploying
from airflow_provider_sparkdeploy.airflow.operation_task import SparkDeployOperator

_POOL = ThreadPoolExecutor(4)  # as many as the workers that it is compared with


class OperationTrigger(BaseTrigger):
    """What ``SparkDeployOperator`` does in a worker, when nothing goes wrong."""

    def __init__(self, *, dag_id: str, repository: str, conn_id: str, operation: str) -> None:
        super().__init__()
        self.arguments = {
            "dag_id": dag_id, "repository": repository, "conn_id": conn_id, "operation": operation
        }  # fmt: skip

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return ("triggered.OperationTrigger", self.arguments)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        assert self.task_instance is not None
        run_id = self.task_instance.run_id
        try:
            await asyncio.get_running_loop().run_in_executor(_POOL, self.operate, run_id)
        except Exception:
            self.log.exception("it failed")
            yield TaskFailedEvent()
        else:
            yield TaskSuccessEvent()

    def operate(self, run_id: str) -> None:
        from airflow_provider_sparkdeploy.airflow.hook import SparkDeployHook
        from airflow_provider_sparkdeploy.airflow.runlog import OperationLog, RunLog
        from airflow_provider_sparkdeploy.spark.apply import Runner
        from airflow_provider_sparkdeploy.spark.target import Target

        given = self.arguments
        log = RunLog(Deploying(given["dag_id"], Path(given["repository"])), run_id)
        frozen, operation = log.frozen(), log.operation(given["operation"])
        assert frozen is not None
        assert operation is not None
        sessions = SparkDeployHook(given["conn_id"]).sessions()
        lock = frozen.lock(sessions)
        lock.expect(frozen.seen)
        entries = OperationLog(log, frozen, operation, None)
        with lock.joined():
            Runner(sessions, entries, lock, Target(**frozen.target), frozen.run).operate(operation)


class TriggeredOperator(SparkDeployOperator):
    """The task of an operation, which no worker sees."""

    start_from_trigger = True

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        given = {
            "dag_id": self.deploying.dag_id,
            "repository": str(self.deploying.repository),
            "conn_id": self.deploying.conn_id,
            "operation": self.operation,
        }
        self.start_trigger_args = StartTriggerArgs("triggered.OperationTrigger", "execute", given)

"""The tasks of a deployment: ``plan``, ``approve``, one per operation, ``record``.

Each can be killed anywhere and started again. What they know of each other is in the run's log
(``runlog``); what outlives a run is in the environment's history, and in Variables (``keeping``).
Each has a module of its own, so that a worker imports only what its task needs.
"""

from __future__ import annotations

from .approve_task import SparkDeployApproveOperator
from .operation_task import SparkDeployOperator
from .plan_task import SparkDeployPlanOperator
from .record_task import SparkDeployRecordOperator

__all__ = [
    "SparkDeployApproveOperator",
    "SparkDeployOperator",
    "SparkDeployPlanOperator",
    "SparkDeployRecordOperator",
]

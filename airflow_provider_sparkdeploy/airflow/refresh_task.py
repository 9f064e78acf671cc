"""The task that refreshes one unit. Light to import, as that of an operation is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowFailException

from .operation_task import SparkDeployOperator

if TYPE_CHECKING:
    from airflow.sdk import Asset, Context

    from ..core.operations import Operation

WRONG = "wrong"  # where the plan of a run keeps which schedules cannot be read


class SparkRefreshOperator(SparkDeployOperator):
    """Computes one materialized view, or all views of a cycle, and lets readers have the result.

    Cleared after it succeeded it finds its work done; to compute it again, start a run that selects it.
    """

    def execute(self, context: Context) -> Mapping[str, Any]:
        frozen = self._log_of(context).frozen()
        if frozen is not None and (wrong := frozen.request.get(WRONG, {}).get(self.operation)):
            raise AirflowFailException("\n".join(wrong))
        return super().execute(context)

    def _assets(self, operation: Operation) -> list[Asset]:
        """All members of a cycle, which were computed together."""
        from ..core.state import PutObject
        from .assets import deployed_object

        return [
            deployed_object(str(effect.record.name), environment=self._environment)
            for effect in operation.effects
            if isinstance(effect, PutObject)
        ]

"""Which failures of an operation may pass by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk.definitions.retry_policy import RetryDecision, RetryPolicy

if TYPE_CHECKING:
    from airflow.sdk import Context

# A full disk, a server that does not start, a lock that expired while Spark or this machine was away.
_MAY_PASS = ("SD603", "SD704", "SD802")


class DeployRetryPolicy(RetryPolicy):
    """A SQL error is not a network error: what Spark refuses is refused again, so it is not retried.

    A broken connection, what was done by half, and whatever is not ours to judge, are retried as the task
    says, with its backoff. A lock that somebody else holds is waited for instead, see ``DeployTask``.
    """

    def evaluate(
        self, exception: BaseException, try_number: int, max_tries: int, context: Context | None = None
    ) -> RetryDecision:
        from ..core.diagnostics import SparkDeployError
        from ..spark.failure import HalfDone, SparkFailure

        is_refused = isinstance(exception, SparkFailure) and not exception.transient
        if is_refused and not isinstance(exception, HalfDone):
            return RetryDecision.fail("Spark refused the statement; it would refuse it again")
        if isinstance(exception, SparkDeployError) and not any(
            item.code in _MAY_PASS for item in exception.diagnostics
        ):
            return RetryDecision.fail("this does not pass by itself")
        return RetryDecision.default()

    def serialize(self) -> dict[str, Any]:
        return {}

    @classmethod
    def deserialize(cls, data: dict[str, Any]) -> DeployRetryPolicy:
        return cls()

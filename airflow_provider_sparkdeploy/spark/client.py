"""The client of Spark Connect below ``pyspark.sql``: what is used of it, and only here.

The client, not ``SparkSession``: it has no global state, every question can have a time limit,
and the rows of a command come with its answer.
"""

from __future__ import annotations

import concurrent.futures
import logging
import threading
import time
import warnings
from collections.abc import Mapping
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

from .. import __version__
from ..core.diagnostics import problem

_USER = "sparkdeploy"  # not the account's name: a retry may run as somebody else
ANSWER = 15.0  # seconds for a question that needs no work
_END = 120.0  # seconds for an interrupted statement to end
# A statement may take hours, and nobody knows how many. So a connection is asked for a sign of life, and
# given up when there is none. Servers take it amiss if they are asked more often than every five minutes.
_ALIVE = [("grpc.keepalive_time_ms", 310_000), ("grpc.keepalive_timeout_ms", 60_000)]
# Terminating: it has ended, and its client, which was killed, never came for the result.
ENDED = frozenset({"SUCCEEDED", "FAILED", "CANCELLED", "TERMINATING"})

_importing = threading.Lock()


@cache
def pyspark() -> SimpleNamespace:
    """What is used of pyspark, imported at the first use and quietly."""
    with _importing, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import pyarrow
            from pyspark.logger import PySparkLogger
            from pyspark.sql.connect import proto
            from pyspark.sql.connect.client import DefaultChannelBuilder, SparkConnectClient
            from pyspark.sql.connect.client.retries import DefaultPolicy, RetryPolicyState
            from pyspark.sql.conversion import ArrowTableToRowsConversion
            from pyspark.sql.pandas.types import from_arrow_schema
        except ImportError as error:
            raise problem(
                "SD703",
                f"the client of Spark Connect is not installed: {error}",
                advice="pip install 'airflow-provider-sparkdeploy[embedded]'",
            ) from None

    class Countdown(RetryPolicyState):  # type: ignore[misc]
        def can_retry(self, exception: BaseException) -> bool:
            # Asked before the count, which warns on standard error when it has come to its end.
            return self._attempt < self.policy.max_retries and bool(super().can_retry(exception))

    class Policy(DefaultPolicy):  # type: ignore[misc]
        def to_state(self) -> Countdown:
            return Countdown(self)

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True  # they print what is raised anyway
    return SimpleNamespace(
        pb2=proto,
        pyarrow=pyarrow,
        Builder=DefaultChannelBuilder,
        Client=SparkConnectClient,
        Policy=Policy,
        rows=ArrowTableToRowsConversion.convert,
        schema_of=from_arrow_schema,
    )


def new_client(url: str, session: str, *, patient: bool) -> Any:
    spark = pyspark()
    builder = spark.Builder(url, _ALIVE)
    builder.set("session_id", session)
    builder.set("user_agent", builder.getDefault("user_agent", f"sparkdeploy/{__version__}"))
    client = spark.Client(builder, user_id=_USER)
    # Sent in the background, without a time limit; a process waits for it before it ends.
    client._stub.ReleaseExecute = partial(client._stub.ReleaseExecute, timeout=ANSWER)
    # About twenty seconds: longer than a hiccup, shorter than a person's patience.
    client.set_retry_policies([spark.Policy(max_retries=6 if patient else 0, max_backoff=8000)])
    return client


def hello(client: Any) -> None:
    request = pyspark().pb2.ConfigRequest()
    request.operation.get.SetInParent()
    for attempt in client._retrying():
        with attempt:
            client._verify_response_integrity(ask(client, "Config", request))


def ask(client: Any, method: str, request: Any) -> Any:
    """One question with a time limit, which the client's own methods do not have."""
    request.session_id = client._session_id
    request.client_type = client._builder.userAgent
    request.user_context.user_id = client._user_id
    return getattr(client._stub, method)(request, metadata=client._builder.metadata(), timeout=ANSWER)


def settle(client: Any) -> bool:
    """Interrupt every operation of the session, and wait until the last has ended. An interrupted
    one may have succeeded all the same: whoever asks looks at the catalog afterwards."""
    pb2 = pyspark().pb2
    until = time.monotonic() + _END
    while time.monotonic() < until:
        # In every round: a statement may have been on its way at the first.
        ask(client, "Interrupt", pb2.InterruptRequest(interrupt_type=pb2.InterruptRequest.INTERRUPT_TYPE_ALL))
        if states(client) <= ENDED:
            return True
        time.sleep(0.1)
    return False


def states(client: Any) -> set[str]:
    """The states that the operations of the session are in."""
    request = pyspark().pb2.GetStatusRequest()
    request.operation_status.SetInParent()
    name_of = pyspark().pb2.GetStatusResponse.OperationStatus.OperationState.Name
    found = ask(client, "GetStatus", request).operation_statuses
    return {name_of(item.state).removeprefix("OPERATION_STATE_") for item in found}


def end(client: Any) -> None:
    """End a session so that its key can be used again; a server that is gone has ended it."""
    try:
        # What the client acknowledges in the background must arrive while the session exists.
        concurrent.futures.wait(client._release_futures, timeout=ANSWER)
        ask(client, "ReleaseSession", pyspark().pb2.ReleaseSessionRequest(allow_reconnect=True))
    except Exception as error:
        logging.getLogger(__name__).debug("the session was not released: %s", type(error).__name__)
    finally:
        client.close()


def rows(table: Any, schema: Any) -> list[Mapping[str, Any]]:
    spark = pyspark()
    schema = schema or spark.schema_of(table.schema, prefer_timestamp_ntz=True)
    return [row.asDict(recursive=True) for row in spark.rows(table, schema, binary_as_bytes=True)]

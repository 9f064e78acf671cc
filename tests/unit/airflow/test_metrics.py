"""What operations report to Airflow's own metrics: the real ``Stats``, in front of a backend that remembers.

What talks to Spark is left out; all around it is the task as a worker runs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import sketch
from airflow.sdk._shared.observability.metrics import stats
from airflow.sdk._shared.observability.metrics.base_stats_logger import NoStatsLogger
from airflow.sdk._shared.observability.metrics.protocols import Timer
from airflow.sdk.bases.xcom import BaseXCom
from airflow.sdk.exceptions import AirflowSkipException

from airflow_provider_sparkdeploy.airflow.deploying import Deploying
from airflow_provider_sparkdeploy.airflow.operation_task import SparkDeployOperator
from airflow_provider_sparkdeploy.airflow.runlog import Frozen, RunLog
from airflow_provider_sparkdeploy.core.diagnostics import problem
from airflow_provider_sparkdeploy.spark.failure import SparkFailure

CYCLE = {
    "b/materialized_view/p.sql": (
        "CREATE MATERIALIZED VIEW b.p (x INT) AS SELECT 1 AS x UNION SELECT x FROM b.q;\n"
    ),
    "b/materialized_view/q.sql": "CREATE MATERIALIZED VIEW b.q (x INT) AS SELECT DISTINCT x FROM b.p;\n",
}
CREATE, FIXPOINT = "setup.b.p", "setup.b.p.fixpoint"
DEPLOYING = Deploying("d", Path("/nowhere"))


class Backend(NoStatsLogger):
    """Where Airflow sends its metrics to, as StatsD or OpenTelemetry would be."""

    def __init__(self) -> None:
        self.sent: list[tuple[Any, ...]] = []

    def incr(self, stat: str, count: int = 1, rate: float = 1, *, tags: Any = None) -> None:  # type: ignore[override]
        self.sent.append(("count", stat, tags))

    def gauge(  # type: ignore[override]
        self, stat: str, value: float, rate: float = 1, delta: bool = False, *, tags: Any = None
    ) -> None:
        self.sent.append(("gauge", stat, tags, value))

    def timer(self, stat: str | None = None, *args: Any, tags: Any = None, **more: Any) -> Timer:  # type: ignore[override]
        return Timer(_Stopwatch(lambda: self.sent.append(("time", stat, tags))))  # type: ignore[arg-type]


class _Stopwatch:
    def __init__(self, stop: Any) -> None:
        self.stop = stop

    def start(self) -> None:
        pass


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    backend = Backend()
    monkeypatch.setattr(stats, "_backend", backend)
    return backend.sent


@pytest.fixture(autouse=True)
def _frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose plan is frozen, in XComs that this process keeps."""
    found: dict[str, Any] = {}
    monkeypatch.setattr(BaseXCom, "set", lambda key, value, **place: found.update({key: value}))
    monkeypatch.setattr(BaseXCom, "get_one", lambda key, **place: found.get(key))
    plan = sketch.plan(sketch.healthy(CYCLE, "allow_circular: true\n")).plan
    picked = [item.placed((), ()) for item in plan.operations if item.id in (CREATE, FIXPOINT)]
    frozen = Frozen("d/r", "2026-11-18T08:00:00+00:00", "1:f", "dev", tuple(item.id for item in picked))
    RunLog(DEPLOYING, "r").freeze(frozen, picked)


def execute(name: str, outcome: Mapping[str, Any] | Exception) -> None:
    """The task of an operation, which ends as given where it would talk to Spark."""

    class Task(SparkDeployOperator):
        def _operate(self, *given: Any, **more: Any) -> Mapping[str, Any]:
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

    task = Task(deploying=DEPLOYING, operation=name, task_id=name)
    context: Any = {"run_id": "r"}
    task.render_template_fields(context)
    task.execute(context)


def test_an_operation_that_is_done_is_timed_and_counted(sent: list[tuple[Any, ...]]) -> None:
    execute(CREATE, {})
    assert sent == [
        ("time", "sparkdeploy.operation.duration", {"action": "create"}),
        ("count", "sparkdeploy.operation.done", {"action": "create"}),
    ]


@pytest.mark.parametrize("error", [SparkFailure("no such column"), problem("SD802", "the lock is lost")])
def test_one_that_fails_is_timed_and_counted_as_failed(sent: list[tuple[Any, ...]], error: Exception) -> None:
    """How long it took until then is often what one wants to know: a timeout looks like that."""
    with pytest.raises(type(error)):
        execute(CREATE, error)
    assert sent == [
        ("time", "sparkdeploy.operation.duration", {"action": "create"}),
        ("count", "sparkdeploy.operation.failed", {"action": "create"}),
    ]


def test_a_cycle_tells_how_many_passes_it_took(sent: list[tuple[Any, ...]]) -> None:
    execute(FIXPOINT, {"iterations": 7})
    assert sent == [
        ("time", "sparkdeploy.operation.duration", {"action": "fixpoint"}),
        ("count", "sparkdeploy.operation.done", {"action": "fixpoint"}),
        ("gauge", "sparkdeploy.fixpoint.iterations", {"object": "b.p"}, 7),
    ]


def test_what_the_plan_does_not_need_is_not_counted(sent: list[tuple[Any, ...]]) -> None:
    with pytest.raises(AirflowSkipException):
        execute("setup.b.other", {})
    assert sent == []

"""Which failures are tried again, and after how long."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sketch
from airflow.models.taskinstance import TaskInstance
from airflow.sdk import DAG
from airflow.sdk.definitions.retry_policy import RetryAction
from airflow.sdk.exceptions import AirflowRescheduleException
from airflow.serialization.serialized_objects import DagSerialization

from airflow_provider_sparkdeploy.airflow.deploying import Deploying
from airflow_provider_sparkdeploy.airflow.operation_task import SparkDeployOperator
from airflow_provider_sparkdeploy.airflow.retrying import DeployRetryPolicy
from airflow_provider_sparkdeploy.airflow.runlog import Frozen, RunLog
from airflow_provider_sparkdeploy.airflow.tasks import retry_settings, single_task
from airflow_provider_sparkdeploy.core.diagnostics import Diagnostic, SparkDeployError, problem
from airflow_provider_sparkdeploy.core.repository import open_repository
from airflow_provider_sparkdeploy.spark.failure import HalfDone, SparkFailure, translate
from airflow_provider_sparkdeploy.spark.resume import uncertain

TASKS = ("plan", "setup.a.t", "record")
SETTINGS = retry_settings(4, timedelta(seconds=10))


def is_retried(error: BaseException) -> bool:
    """What the policy of a task, as a worker builds it, says on the first failure of three."""
    with DAG("d", schedule=None):
        task = single_task(Deploying("d", Path("/nowhere")), "setup.a.t", SETTINGS)
    policy = task.retry_policy
    assert policy is not None
    decision = policy.evaluate(error, try_number=1, max_tries=3)
    assert (decision.action is RetryAction.FAIL) == bool(decision.reason)  # a refusal says why
    assert decision.retry_delay is None  # the delays are those of the task
    return decision.action is not RetryAction.FAIL


def test_what_spark_refuses_is_not_tried_again() -> None:
    """The exception that Spark's client raises for a table that is not there."""
    errors = pytest.importorskip("pyspark.errors.exceptions.connect")
    refused = errors.AnalysisException(
        message="[TABLE_OR_VIEW_NOT_FOUND] The table or view `a`.`t` cannot be found.",
        errorClass="TABLE_OR_VIEW_NOT_FOUND",
    )
    found = translate(refused, "sc://h")
    assert found.condition == "TABLE_OR_VIEW_NOT_FOUND"
    assert not is_retried(found)


def test_a_connection_that_cannot_be_made_is_tried_again() -> None:
    """A real one, to a port where nobody listens."""
    grpc = pytest.importorskip("grpc")
    with (
        grpc.insecure_channel("127.0.0.1:1") as channel,
        pytest.raises(grpc.RpcError) as caught,
    ):
        channel.unary_unary("/spark.connect.SparkConnectService/Config")(b"", timeout=10)
    found = translate(caught.value, "sc://127.0.0.1:1")
    assert isinstance(found, SparkFailure)
    assert is_retried(found)


def test_a_session_that_the_server_forgot_is_tried_again() -> None:
    """A server that was restarted in the middle of a run."""
    errors = pytest.importorskip("pyspark.errors")
    gone = errors.SessionNotSameException("[NO_ACTIVE_SESSION] the server side session is gone")
    assert is_retried(translate(gone, "sc://h"))


def test_what_was_done_by_half_is_finished() -> None:
    """Some views of a cycle are swapped, and then the connection broke, or the lock was lost."""
    assert is_retried(HalfDone("1 of 2 materialized views are swapped"))


@pytest.mark.parametrize(("code", "waits"), [("SD801", True), ("SD806", False)])
def test_an_operation_that_was_cleared_waits_for_the_lock(
    monkeypatch: pytest.MonkeyPatch, code: str, waits: bool
) -> None:
    """Which a refresh has, say. When another has deployed there is nothing to wait for."""

    def acquire() -> None:
        raise problem(code, "the lock is another's")

    found = sketch.plan(sketch.healthy({"a/view/v.sql": "CREATE VIEW a.v AS SELECT 1 AS x;\n"}))
    operation = sketch.operation(found, "setup.a.v")
    monkeypatch.setattr(Frozen, "sessions", lambda frozen: None)
    lock = SimpleNamespace(expect=lambda seen: None, acquire=acquire)
    monkeypatch.setattr(Frozen, "lock", lambda frozen, sessions: lock)
    monkeypatch.setattr(RunLog, "entries", lambda log, operation: [])
    deploying = Deploying("d", Path("/nowhere"))
    task = SparkDeployOperator(deploying=deploying, operation=operation.id, task_id=operation.id)
    instance = SimpleNamespace(get_first_reschedule_date=lambda context: None)
    context: Any = {"run_id": "r", "ti": instance}
    with pytest.raises(AirflowRescheduleException if waits else SparkDeployError):
        task._operate(context, RunLog(deploying, "r"), Frozen("d/r", "", "f", "dev"), operation)


def test_what_nobody_can_tell_is_not_tried_again() -> None:
    """A retry would do it twice, or not at all: a person decides."""
    operation = sketch.operation(
        sketch.plan(sketch.healthy({"a/sink/out.sql": "INSERT INTO ${a}.t VALUES (1);\n"})), "export.a.out.1"
    )
    assert not is_retried(SparkDeployError([uncertain(operation, "it was sent")]))


def test_a_repository_that_cannot_be_read_is_not_tried_again(tmp_path: Path) -> None:
    with pytest.raises(SparkDeployError) as missing:
        open_repository(tmp_path / "nowhere")
    assert not is_retried(missing.value)
    found = open_repository(sketch.write(tmp_path, {"a/view/v.sql": "this is no SQL"}))
    assert found.problems
    assert not is_retried(SparkDeployError(found.problems))


@pytest.mark.parametrize("code", ["SD603", "SD704", "SD802"])
def test_a_full_disk_a_server_that_does_not_start_and_an_expired_lock_may_pass(code: str) -> None:
    assert is_retried(problem(code, "for now"))
    for_good = Diagnostic("", 0, "SD810", "for good")
    assert is_retried(SparkDeployError([Diagnostic("", 0, code, "for now"), for_good]))


@pytest.mark.parametrize("error", [OSError("reset by peer"), RuntimeError("the API server is away")])
def test_what_is_not_ours_to_judge_is_left_to_airflow(error: Exception) -> None:
    assert is_retried(error)


@pytest.mark.parametrize("name", TASKS)
def test_every_task_has_the_policy_and_the_settings(name: str) -> None:
    with DAG("d", schedule=None):
        task = single_task(Deploying("d", Path("/nowhere")), name, SETTINGS)
    assert isinstance(task.retry_policy, DeployRetryPolicy)
    assert (task.retries, task.retry_delay) == (4, timedelta(seconds=10))


def test_an_answer_of_a_person_is_not_asked_for_again() -> None:
    with DAG("d", schedule=None):
        task = single_task(Deploying("d", Path("/nowhere")), "approve", SETTINGS)
    assert task.retries == 0


def delays(retry_delay: timedelta, tries: int) -> list[timedelta]:
    """How long the scheduler waits after each try, as it works that out itself from the stored DAG."""
    with DAG("d", schedule=None) as dag:
        single_task(Deploying("d", Path("/nowhere")), "setup.a.t", retry_settings(tries, retry_delay))
    task = DagSerialization.from_dict(DagSerialization.to_dict(dag)).get_task("setup.a.t")
    found = TaskInstance(task, run_id="r", dag_version_id=None)
    found.end_date = datetime(2026, 11, 18, tzinfo=UTC)
    waits = []
    for number in range(1, tries + 1):
        found.try_number = number
        waits.append(found.next_retry_datetime() - found.end_date)
    return waits


def test_the_delays_grow_from_the_given_one_up_to_five_minutes() -> None:
    """Each is between the doubled one and twice that: Airflow scatters them."""
    first, second, third, *more = delays(timedelta(seconds=10), 8)
    assert timedelta(seconds=10) <= first < timedelta(seconds=20)
    assert timedelta(seconds=20) <= second < timedelta(seconds=40)
    assert timedelta(seconds=40) <= third < timedelta(seconds=80)
    assert more[-1] == timedelta(minutes=5)


def test_who_wants_to_wait_longer_than_five_minutes_does() -> None:
    assert delays(timedelta(minutes=20), 2) == [timedelta(minutes=20)] * 2

"""What Airflow keeps of a deployment, and the history that it goes on from."""

from __future__ import annotations

from airflow_provider_sparkdeploy.airflow.keeping import Recorded
from airflow_provider_sparkdeploy.airflow.planning import with_history
from airflow_provider_sparkdeploy.airflow.recording import add_to_history
from airflow_provider_sparkdeploy.core.deploylog import Entry
from airflow_provider_sparkdeploy.core.names import ObjectName
from airflow_provider_sparkdeploy.core.state import DeployedObject, PutObject
from airflow_provider_sparkdeploy.spark import history
from airflow_provider_sparkdeploy.spark.history import Numbered
from airflow_provider_sparkdeploy.spark.session import Sessions
from airflow_provider_sparkdeploy.spark.target import Target


def test_a_dag_that_names_another_environment_now_takes_nothing_for_done_there(
    sessions: Sessions, schema: str
) -> None:
    """The other history is as long, so that its numbers alone would fit: a migration that ran here only
    would never run there."""

    def deploy(environment: str, name: str) -> None:
        made = PutObject(DeployedObject(ObjectName("app", name), "migration", ("app", name)))
        entry = Entry("done", f"run {name}", "2026-03-01T12:00:00+00:00", name, (made,))
        history.append(spark, schema, environment, [Numbered(1, entry)])

    def names(recorded: Recorded) -> list[str]:
        return [name.object for name in sorted(recorded.state)]

    with sessions.open() as spark:
        deploy("stage", "here")
        recorded = with_history(spark, Target("stage", schema), Recorded())
        deploy("prod", "there")
        deploy("prod", "and_there")
        deploy("stage", "here_too")
        moved = with_history(spark, Target("prod", schema), recorded)
        assert names(moved) == ["and_there", "there"]
        assert names(with_history(spark, Target("stage", schema), recorded)) == ["here", "here_too"]
        assert names(with_history(spark, Target("stage", schema), moved)) == ["here", "here_too"]


def test_a_run_that_is_recorded_again_adds_only_what_is_new(sessions: Sessions, schema: str) -> None:
    """A ``record`` that was killed after it had written the history says the end of the run once more."""
    target = Target("prod", schema)

    def record(at: int, event: str, *done: str) -> list[str]:
        begin = Entry("run", "r", "2026-03-01T12:00:00+00:00", detail={"event": "started"})
        entries = [Entry("done", "r", "2026-03-01T12:00:01+00:00", name) for name in done]
        end = Entry("run", "r", f"2026-03-01T12:01:{at}+00:00", detail={"event": event})
        add_to_history(sessions, target, [begin, *entries, end], entries)
        with sessions.open() as spark:
            rows = spark.sql(f"SELECT number FROM {schema}.{history.TABLE}")
            found = [item.entry for item in history.read(spark, schema, "prod")]
        assert len(rows) == len(found)
        return [entry.operation or entry.detail["event"] for entry in found]

    assert record(10, "failed", "a") == ["started", "a", "failed"]
    assert record(11, "failed", "a") == ["started", "a", "failed"]
    assert record(12, "succeeded", "a", "b") == ["started", "a", "failed", "b", "succeeded"]
    assert record(13, "succeeded", "a", "b") == ["started", "a", "failed", "b", "succeeded"]

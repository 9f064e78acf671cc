"""Redeploys by sensor and by event, in a real Airflow with a real triggerer."""

from __future__ import annotations

import time
import urllib.parse
from typing import Any

import pytest
from deployments import FILES, TOTALS, Deployed
from machine import Airflow

pytestmark = pytest.mark.timeout(1200)  # a real Airflow on a machine that others use, too
WATCHED = """
from airflow.sdk import AssetWatcher
from airflow_provider_sparkdeploy import RepositoryChangeTrigger, SparkDeployDag, repository_asset

trigger = RepositoryChangeTrigger(repository={folder!r}, dag_id={dag_id!r}, poll_interval=1)
asset = repository_asset({dag_id!r}, watchers=[AssetWatcher(name="files of {dag_id}", trigger=trigger)])
SparkDeployDag({dag_id!r}, repository={folder!r}, schedule=[asset])
"""
SENSING = """
from airflow.sdk import DAG
from airflow_provider_sparkdeploy import {sensor}

with DAG({dag_id!r}, schedule=None):
    {sensor}(task_id="wait", repository={folder!r}, poke_interval=1, timeout=600)
"""
DOWNSTREAM = """
from airflow.sdk import DAG, task
from airflow_provider_sparkdeploy import deployed_object

with DAG({dag_id!r}, schedule=[deployed_object({name!r}, environment={environment!r})]):
    @task
    def look(triggering_asset_events):
        return [asset.uri for asset in triggering_asset_events]
    look()
"""


def test_a_changed_file_is_deployed_without_anybody_asking(deployed: Deployed) -> None:
    airflow, dag_id = deployed.airflow, deployed.dag_id
    deployed.write(FILES)
    airflow.write_dag(dag_id, WATCHED.format(folder=str(deployed.folder), dag_id=dag_id))
    airflow.parsed(dag_id)
    airflow.api("PATCH", f"dags/{dag_id}", {"is_paused": False})

    succeeds(airflow, dag_id, 1)  # it was never deployed
    deployed.assert_settled()

    deployed.write({"app/view/totals.sql": TOTALS.replace("sum(amount)", "max(amount)")})
    changed = time.monotonic()
    airflow.until(lambda: len(airflow.runs(dag_id)) == 2, "a run begins")
    print(f"from the change of a file to a run: {time.monotonic() - changed:.1f} s")
    succeeds(airflow, dag_id, 2)
    assert deployed.sql("SELECT * FROM {app}.report") == [(40,)]

    airflow.kill("triggerer")
    deployed.write({"app/view/totals.sql": TOTALS.replace("sum(amount)", "min(amount)")})
    time.sleep(3)
    airflow.start("triggerer")
    succeeds(airflow, dag_id, 3)  # nobody was there to see the change
    assert deployed.sql("SELECT * FROM {app}.report") == [(20,)]
    deployed.assert_settled()
    time.sleep(5)
    assert len(deployed.airflow.runs(dag_id)) == 3  # and that was all


def test_the_sensor_returns_the_new_fingerprint(deployed: Deployed) -> None:
    deployed.write(FILES)
    with Sensing(deployed, "RepositoryChangeSensor") as sensing:
        sensing.waits()
        deployed.write({"app/view/totals.sql": TOTALS.replace("sum", "min")})
        told = sensing.returns()
    assert told["repository"] == str(deployed.folder)
    assert len(told["fingerprint"]) == 64


def test_drift_names_the_objects_and_what_is_wrong_with_them(deployed: Deployed) -> None:
    deployed.write(FILES)
    deployed.add_dag()
    deployed.deploy()
    with Sensing(deployed, "CatalogDriftSensor") as sensing:
        sensing.waits()
        deployed.sql("DROP VIEW {app}.report")
        told = sensing.returns()
    assert told == {"environment": "default", "drift": {"app.report": "missing in the catalog"}}
    deployed.tasks()
    run = deployed.trigger()  # the graph does not have it yet: the next one goes on
    deployed.ended(run)
    deployed.airflow.until(lambda: deployed.left() == [], "the drift is healed")


def test_other_dags_run_after_what_they_read_was_deployed(deployed: Deployed) -> None:
    airflow, follower = deployed.airflow, f"follow_{deployed.name}"
    environment = f"env_{deployed.name}"
    deployed.set(environments={environment: {}}, propagation={"schema": False})
    deployed.write(FILES)
    airflow.write_dag(
        follower, DOWNSTREAM.format(dag_id=follower, name="app.totals", environment=environment)
    )
    try:
        airflow.parsed(follower)
        airflow.api("PATCH", f"dags/{follower}", {"is_paused": False})
        deployed.add_dag(environment=environment)
        deployed.deploy()
        airflow.until(lambda: airflow.runs(follower), "the other DAG runs", 60)
        [run] = succeeds(airflow, follower, 1)
        assert returned(airflow, follower, run, "look") == [f"sparkdeploy://{environment}/app/totals"]
        deployed.write(
            {"app/view/report.sql": "CREATE VIEW ${app}.report AS SELECT total FROM ${app}.totals;\n"}
        )
        deployed.tasks("setup.app.report")
        deployed.deploy()
        assert len(airflow.runs(follower)) == 1  # totals was not touched
    finally:
        (airflow.dags / f"{follower}.py").unlink()


class Sensing:
    """A DAG of one sensor, and a run of it."""

    def __init__(self, deployed: Deployed, sensor: str) -> None:
        self.airflow, self.dag_id = deployed.airflow, f"sense_{deployed.name}"
        folder = str(deployed.folder)
        text = SENSING.format(dag_id=self.dag_id, sensor=sensor, folder=folder)
        self.airflow.write_dag(self.dag_id, text)

    def __enter__(self) -> Sensing:
        self.airflow.parsed(self.dag_id)
        self.run = self.airflow.trigger(self.dag_id)
        return self

    def __exit__(self, *_: object) -> None:
        (self.airflow.dags / f"{self.dag_id}.py").unlink()

    def waits(self) -> None:
        self.airflow.until(
            lambda: self.airflow.states(self.dag_id, self.run).get("wait") == "deferred",
            "the sensor waits without a slot",
        )
        time.sleep(3)  # a few looks
        assert self.airflow.states(self.dag_id, self.run)["wait"] == "deferred"

    def returns(self) -> Any:
        assert self.airflow.ended(self.dag_id, self.run) == "success", self.airflow.why(self.dag_id, self.run)
        return returned(self.airflow, self.dag_id, self.run, "wait")


def succeeds(airflow: Airflow, dag_id: str, count: int) -> list[str]:
    """The runs of a DAG once there are so many, and all have succeeded."""

    def look() -> list[str] | None:
        runs = airflow.runs(dag_id)
        assert not [run for run in runs if run["state"] == "failed"], airflow.why(
            dag_id, runs[-1]["dag_run_id"]
        )
        ended = [run["dag_run_id"] for run in runs if run["state"] == "success"]
        return ended if len(ended) == count else None

    found: list[str] = airflow.until(look, f"{dag_id} has succeeded {count} times")
    return found


def returned(airflow: Airflow, dag_id: str, run: str, task: str) -> Any:
    path = f"dags/{dag_id}/dagRuns/{urllib.parse.quote(run)}/taskInstances/{task}/xcomEntries/return_value"
    return airflow.api("GET", f"{path}?stringify=false")["value"]

"""A deployment through a connection of type ``spark``: every task is a driver on a standalone cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deployments import Deployed
from machine import Airflow

from airflow_provider_sparkdeploy.spark.submit import SubmitSessions

TABLE = "CREATE TABLE ${app}.numbers USING parquet AS SELECT id AS n FROM range(3);\n"
VIEW = "CREATE VIEW ${app}.largest AS SELECT max(n) AS n FROM ${app}.numbers;\n"


@pytest.fixture
def submitted(airflow: Airflow, cluster: Any, tmp_path: Path) -> Iterator[Deployed]:
    """A repository whose DAG submits to the cluster. What the tests ask is asked by a driver, too."""
    host, _, port = cluster.master.rpartition(":")
    connection = {"connection_id": "cluster", "conn_type": "spark", "host": host, "port": int(port)}
    airflow.api("POST", "connections", connection)
    conf = {"SPARK_CONF_DIR": airflow.environment["SPARK_CONF_DIR"]}
    with SubmitSessions(cluster.master, spark_home=cluster.home, environment=conf) as sessions:
        made = Deployed(airflow, sessions, tmp_path / "repository", "submitted")
        yield made
        made.remove()
    airflow.api("DELETE", "connections/cluster")


def test_every_task_is_a_driver_on_the_cluster(submitted: Deployed) -> None:
    script = f"-- //// CHANGE name=init\n{TABLE}"
    submitted.write({"app/table/numbers.sql": script, "app/view/largest.sql": VIEW})
    submitted.add_dag(conn_id="cluster")
    run = submitted.deploy()
    assert submitted.done(run) == {"setup.app.numbers.init.1", "setup.app.largest"}
    assert submitted.sql("SELECT n FROM {app}.largest") == [(2,)]
    submitted.assert_settled()

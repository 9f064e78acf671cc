"""Every example, as it is, by ``airflow dags test``: in one process, on a real Spark."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from deployments import FILES, REPORT, Deployed
from machine import Airflow

from airflow_provider_sparkdeploy.spark.session import ConnectSessions

EXAMPLES = Path(__file__).parents[2] / "dags_examples"
# In this order: the shop is deployed by the first of an environment, and found deployed by the others.
DAGS = (
    "deploy_shop",
    "deploy_shop_with_approval",
    "redeploy_shop_on_change",
    "deploy_shop_to_dev",
    "deploy_shop_to_stage",
    "nightly",
    "refresh_shop",
    "after_orders_were_deployed",
)


@pytest.fixture(scope="module")
def examples(airflow: Airflow) -> Iterator[Airflow]:
    """The examples in the DAGs folder: a copy. Their DAGs are parsed before they are tried, because the
    assets of a DAG that no DAG processor knows are inactive, and tasks that tell of them fail."""
    place = airflow.dags / "examples"
    shutil.copytree(EXAMPLES, place, ignore=shutil.ignore_patterns(".sparkdeploy", "__pycache__"))
    for dag_id in DAGS:
        airflow.parsed(dag_id)
    yield airflow
    shutil.rmtree(place)


@pytest.mark.parametrize("dag_id", DAGS)
def test_an_example_runs_as_it_is(examples: Airflow, sessions: ConnectSessions, dag_id: str) -> None:
    examples.command("dags", "test", dag_id)
    with sessions.open() as spark:
        [row] = spark.sql("SELECT count(*) AS found FROM sales.orders")
    assert row["found"] > 0


def test_the_examples_are_all_tried(examples: Airflow) -> None:
    shown = examples.api("GET", "dags?limit=1000")["dags"]
    assert {item["dag_id"] for item in shown if Path(item["fileloc"]).parent.name == "examples"} == set(DAGS)


def test_a_deployment_a_change_and_a_mistake_in_one_process(deployed: Deployed) -> None:
    """What ``dag.test()`` does, which is for trying things out: the same tasks, no scheduler."""
    deployed.write(FILES)
    deployed.add_dag()
    deployed.airflow.command("dags", "test", deployed.dag_id)
    assert deployed.sql("SELECT * FROM {app}.report") == [(60,)]
    assert deployed.left() == []

    deployed.write({"app/view/report.sql": REPORT.replace("* 2", "* 5")})
    deployed.airflow.command("dags", "test", deployed.dag_id)
    assert deployed.sql("SELECT * FROM {app}.report") == [(150,)]

    deployed.write({"app/view/report.sql": REPORT.replace("total *", "totla *")})
    with pytest.raises(RuntimeError, match="DagRun failed"):
        deployed.airflow.command("dags", "test", deployed.dag_id)
    assert [item["state"] for item in deployed.airflow.runs(deployed.dag_id)] == [
        "success",
        "success",
        "failed",
    ]
    assert deployed.sql("SELECT * FROM {app}.report") == [(150,)]
    assert deployed.holder() == ""

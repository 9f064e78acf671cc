"""Tasks of a team beside ours and among them: each is run, in the order in which it is shown."""

from __future__ import annotations

from deployments import FILES, Deployed

_WITHIN = """
from datetime import timedelta

from airflow.sdk import task
from airflow_provider_sparkdeploy import SparkDeployDag

with SparkDeployDag({dag_id!r}, repository={folder!r}) as dag:

    @task(retries=2, retry_delay=timedelta(seconds=2))
    def prepare():
        print("prepared by the team")

    @task(retries=2, retry_delay=timedelta(seconds=2))
    def notify():
        print("told by the team")

    prepare() >> dag.get_task("plan")
    dag.get_task("record") >> notify()
"""
_AROUND = """
from datetime import timedelta

from airflow.sdk import DAG, task
from airflow_provider_sparkdeploy import SparkDeployTaskGroup

@task(retries=2, retry_delay=timedelta(seconds=2))
def told(what):
    print("told by the team:", what)

with DAG({dag_id!r}, schedule=None, max_active_runs=1):
    with SparkDeployTaskGroup({group!r}, repository={folder!r}) as group:
        group["record"] >> told.override(task_id="check")("checked")
    told.override(task_id="before")("before") >> group >> told.override(task_id="after")("after")
"""


def _starts(deployed: Deployed, run: str) -> dict[str, str]:
    """When the tasks of a run began."""
    found = deployed.airflow.api("GET", f"dags/{deployed.dag_id}/dagRuns/{run}/taskInstances?limit=100")
    return {item["task_id"]: str(item["start_date"]) for item in found["task_instances"]}


def test_tasks_of_a_team_within_the_dag(deployed: Deployed) -> None:
    deployed.write(FILES)
    text = _WITHIN.format(dag_id=deployed.dag_id, folder=str(deployed.folder))
    deployed.airflow.write_dag(deployed.dag_id, text)
    deployed.airflow.parsed(deployed.dag_id)
    run = deployed.deploy()
    states = deployed.airflow.states(deployed.dag_id, run)
    assert set(states.values()) == {"success"}, states
    assert "prepared by the team" in deployed.log(run, "prepare")
    assert "told by the team" in deployed.log(run, "notify")
    assert deployed.sql("SELECT * FROM {app}.report") == [(60,)]
    starts = _starts(deployed, run)
    order = ["prepare", "plan", "setup.app.report", "record", "notify"]
    assert sorted(order, key=starts.__getitem__) == order


def test_tasks_of_a_team_around_a_group_and_in_it(deployed: Deployed) -> None:
    """The group has so long a name that a task of it needs a shorter one than its operation has. (With one of
    250 letters, which Airflow takes, it would have no log.)"""
    group, table = "deploy_" + "warehouse_" * 12, "t" + "_long" * 23
    deployed.write(
        {**FILES, f"app/view/{table}.sql": f"CREATE VIEW ${{app}}.{table} AS SELECT 7 AS seven;\n"}
    )
    text = _AROUND.format(dag_id=deployed.dag_id, group=group, folder=str(deployed.folder))
    deployed.airflow.write_dag(deployed.dag_id, text)
    tasks = deployed.airflow.parsed(deployed.dag_id)
    assert f"{group}.setup.app.{table}" not in tasks
    assert max(map(len, tasks)) == 247
    run = deployed.deploy()
    states = deployed.airflow.states(deployed.dag_id, run)
    assert set(states.values()) == {"success"}, states
    for name, said in (("before", "before"), (f"{group}.check", "checked"), ("after", "after")):
        assert f"told by the team: {said}" in deployed.log(run, name)
    assert deployed.sql(f"SELECT * FROM {{app}}.{table}") == [(7,)]
    assert deployed.left() == []
    starts = _starts(deployed, run)
    order = [
        "before",
        f"{group}.plan",
        f"{group}.setup.app.report",
        f"{group}.record",
        f"{group}.check",
        "after",
    ]
    assert sorted(order, key=starts.__getitem__) == order

"""A deployment as a part of a DAG that a team already has: after one task, before another."""

# [START group]
from airflow.sdk import dag, task

from airflow_provider_sparkdeploy import SparkDeployTaskGroup


@dag(schedule=None, max_active_runs=1)
def nightly():
    @task
    def extract() -> None:
        print("the files of the night are there")

    @task
    def report() -> None:
        print("everything is deployed")

    deploy = SparkDeployTaskGroup("deploy", repository="repository_shop", environment="stage")
    extract() >> deploy >> report()


nightly()
# [END group]

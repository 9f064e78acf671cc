"""A DAG of another team that runs when a table of the shop was deployed."""

# [START downstream]
from airflow.sdk import dag, task

from airflow_provider_sparkdeploy import deployed_object


@dag(schedule=[deployed_object("sales.orders", environment="stage")])
def after_orders_were_deployed():
    @task
    def tell() -> None:
        print("sales.orders was deployed")

    tell()


after_orders_were_deployed()
# [END downstream]

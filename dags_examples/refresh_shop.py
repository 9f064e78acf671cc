"""Refreshes the materialized views of the shop on their schedules, two of which read each other."""

# [START refresh]
from airflow_provider_sparkdeploy import SparkRefreshDag

SparkRefreshDag("refresh_shop", repository="repository_shop", environment="stage")
# [END refresh]

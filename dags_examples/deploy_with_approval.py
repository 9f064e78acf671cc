"""A deployment that asks a person before it loses data, and never drops a protected table.

``on_destructive: approve`` is the default of ``sparkdeploy.yaml``: where the plan loses data, the DAG
has a task ``approve``, and nothing runs before somebody has answered. Tables with
``lifecycle=protected`` in their file (``sales.orders``, ``sales.customers``) are never dropped or
narrowed, whatever anybody answers.
"""

# [START approval]
from datetime import timedelta

from airflow_provider_sparkdeploy import SparkDeployDag

SparkDeployDag(
    "deploy_shop_with_approval",
    repository="repository_shop",
    environment="stage",
    overrides={"on_destructive": "approve"},
    retries=4,
    retry_delay=timedelta(seconds=30),
)
# [END approval]

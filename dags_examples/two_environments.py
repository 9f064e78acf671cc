"""One repository, two environments: each has its DAG, its schemas, its log and its lock."""

# [START environments]
from airflow_provider_sparkdeploy import SparkDeployDag

for environment in ("dev", "stage"):
    SparkDeployDag(f"deploy_shop_to_{environment}", repository="repository_shop", environment=environment)
# [END environments]

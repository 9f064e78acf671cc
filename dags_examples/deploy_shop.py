"""The minimal deployment: one file, one call.

The repository is a folder beside this file. Without a connection, an embedded Spark is started on
this machine; name one (``conn_id="spark_connect_default"``) to deploy to a real one.
"""

# [START minimal]
from airflow_provider_sparkdeploy import SparkDeployDag

SparkDeployDag("deploy_shop", repository="repository_shop")
# [END minimal]

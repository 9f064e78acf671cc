"""A deployment that starts by itself when a file of the repository changes.

The watcher looks at the files from the triggerer; no DAG polls and no worker waits. An event is a
doorbell: the run deploys what is in the repository then.
"""

# [START on_change]
from pathlib import Path

from airflow.sdk import AssetWatcher

from airflow_provider_sparkdeploy import RepositoryChangeTrigger, SparkDeployDag, repository_asset

REPOSITORY = Path(__file__).parent / "repository_shop"

changed = repository_asset(
    "shop",
    watchers=[
        AssetWatcher(
            name="shop_files",
            trigger=RepositoryChangeTrigger(
                repository=REPOSITORY, environment="stage", dag_id="redeploy_shop_on_change", poll_interval=5
            ),
        )
    ],
)

SparkDeployDag("redeploy_shop_on_change", repository=REPOSITORY, environment="stage", schedule=[changed])
# [END on_change]

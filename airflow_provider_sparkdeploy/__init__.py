"""SparkDeploy: a folder of SQL files to a Spark catalog, one operation at a time.

What users write is imported from here, and only when it is asked for: parsing a DAG file must
not import what it does not need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .airflow.assets import deployed_object, repository_asset
    from .airflow.factory import SparkDeployDag, SparkDeployTaskGroup
    from .airflow.refreshing import SparkRefreshDag
    from .airflow.sensors import CatalogDriftSensor, RepositoryChangeSensor
    from .airflow.triggers import CatalogDriftTrigger, RepositoryChangeTrigger

__version__ = "0.1.0"
__all__ = [
    "CatalogDriftSensor",
    "CatalogDriftTrigger",
    "RepositoryChangeSensor",
    "RepositoryChangeTrigger",
    "SparkDeployDag",
    "SparkDeployTaskGroup",
    "SparkRefreshDag",
    "deployed_object",
    "repository_asset",
]
_PLACES = {
    "CatalogDriftSensor": "sensors",
    "CatalogDriftTrigger": "triggers",
    "RepositoryChangeSensor": "sensors",
    "RepositoryChangeTrigger": "triggers",
    "SparkDeployDag": "factory",
    "SparkDeployTaskGroup": "factory",
    "SparkRefreshDag": "refreshing",
    "deployed_object": "assets",
    "repository_asset": "assets",
}


def __getattr__(name: str) -> Any:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.airflow.{place}"), name)

"""Every deployed object is an Airflow asset, so that other DAGs can be scheduled on it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from airflow.sdk import Asset

from ..core.names import parse_name

if TYPE_CHECKING:
    from urllib.parse import SplitResult

SCHEME = "sparkdeploy"


def deployed_object(name: str, *, environment: str = "default") -> Asset:
    """The asset of an object: an event for every time that it is deployed or refreshed.

    :param name: the object as a file names it, ``schema.object``.
    :param environment: the environment of ``sparkdeploy.yaml`` that it is deployed to.
    """
    known = parse_name(name) or ()
    if len(known) != 2:
        raise ValueError(
            f"there is no object {name}: it is called schema.object, as the folder and the file are"
        )
    parts = "/".join(quote(part.casefold(), safe="") for part in (environment, *known))
    return Asset(name=f"{SCHEME}/{parts}", uri=f"{SCHEME}://{parts}")


def repository_asset(name: str, *, watchers: list[object] | None = None) -> Asset:
    """The asset of a repository: an event for every change of its files.

    :param name: what it is called in Airflow, e.g. ``shop``.
    :param watchers: an ``AssetWatcher`` with a ``RepositoryChangeTrigger`` makes the events.
    """
    return Asset(
        name=f"{SCHEME}-repository/{name}",
        uri=f"{SCHEME}://repository/{quote(name, safe='')}",
        watchers=watchers or [],  # type: ignore[arg-type]
    )


def sanitize_uri(uri: SplitResult) -> SplitResult:
    """Names are kept as they are; there is a place and a path, and nothing else."""
    if not uri.netloc or not uri.path.strip("/"):
        raise ValueError("a SparkDeploy asset is sparkdeploy://<environment>/<schema>/<object>")
    return uri._replace(query="", fragment="")

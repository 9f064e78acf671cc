"""The SparkDeploy page in Airflow's UI: a tab on the DAG, one on the DAG run, an entry in the navigation.

Every process of Airflow loads plugins, and only the API server answers requests: the page is imported
with the first of them. Addresses are relative, so that Airflow may live below a path.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from airflow.plugins_manager import AirflowPlugin

from .links import PAGE

_PLACE = "/sparkdeploy"
_HREF = f"{_PLACE.removeprefix('/')}/"
_ICON = {"icon": f"{_HREF}assets/icon.svg", "icon_dark_mode": f"{_HREF}assets/icon_dark.svg"}


class _Page:
    """The page as an ASGI application, imported when it is first asked for."""

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        from .page.app import app

        await app(scope, receive, send)


_APPS: list[Any] = [{"app": _Page(), "url_prefix": _PLACE, "name": "SparkDeploy"}]
_VIEWS: list[Any] = [
    {
        "name": "SparkDeploy",
        "href": _HREF,
        "destination": "nav",
        "category": "browse",
        "url_route": f"{PAGE}-dags",
        **_ICON,
    },
    {
        "name": "SparkDeploy",
        "href": f"{_HREF}?dag_id={{DAG_ID}}",
        "destination": "dag",
        "url_route": f"{PAGE}-dag",
        **_ICON,
    },
    {
        "name": "SparkDeploy",
        "href": f"{_HREF}?dag_id={{DAG_ID}}&run_id={{RUN_ID}}",
        "destination": "dag_run",
        "url_route": PAGE,
        **_ICON,
    },
]


class SparkDeployPlugin(AirflowPlugin):
    """Registers the page."""

    name = "sparkdeploy"
    fastapi_apps = _APPS
    external_views = _VIEWS

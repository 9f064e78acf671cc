"""When materialized views were last computed. Asks Spark.

The catalog says it: the view names its data table, and that names the attempt that made it, by the
moment at which it began. So it does not matter who refreshed it, or what Airflow remembers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from ..core.names import ObjectName, quote
from ..core.state import DeployedObject
from ..spark.asking import Asking
from ..spark.matview import data_table_of, describe
from ..spark.session import Sessions, Spark

_THREADS = 4
_BEGAN = re.compile(r"_(\d{14})_[a-z0-9]+\Z")


def last_refreshed(sessions: Sessions, views: Iterable[DeployedObject]) -> dict[ObjectName, datetime]:
    """The moment of every view of which it is known."""
    with Asking(sessions, _THREADS) as asking:
        asked = {view.name: asking.ask(_look, view.physical) for view in views}
        told = {name: answer.result() for name, answer in asked.items()}
    return {name: at for name, at in told.items() if at is not None}


def _look(spark: Spark, physical: tuple[str, ...]) -> datetime | None:
    detail = describe(spark, quote(physical)) or {}
    return began_at(detail.get("View Text", ""))


def began_at(view_text: str) -> datetime | None:
    """When the attempt began whose data table a view reads; None for a view that no refresh made."""
    table = data_table_of(view_text)
    found = _BEGAN.search(table[-1]) if table else None
    return datetime.strptime(found.group(1), "%Y%m%d%H%M%S").replace(tzinfo=UTC) if found else None

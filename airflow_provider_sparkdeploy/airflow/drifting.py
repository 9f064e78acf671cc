"""What somebody else did to what was deployed. Looks at Spark, and changes nothing there."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..core.reconcile import find_drift
from ..core.repository import Repository
from ..spark.catalog import inspect, wanted_objects
from ..spark.lock import read_lock
from ..spark.session import Sessions
from ..spark.target import target_of
from .keeping import Recorded
from .planning import with_history


@dataclass(frozen=True, slots=True)
class Look:
    """What differs, by object, in words; None where somebody is deploying, so that nobody can tell.

    ``recorded`` is what it was compared with, for the next look to go on from.
    """

    drift: Mapping[str, str] | None
    recorded: Recorded = field(default_factory=Recorded)


def look_for_drift(repository: Repository, sessions: Sessions, recorded: Recorded) -> Look:
    """Compare the catalog with what the environment's history says is deployed.

    While the lock is held the two differ for good reasons, and when it changed hands meanwhile
    they may have been read on different sides of a deployment.
    """
    schema = repository.settings.log_schema
    held = _holder(sessions, schema)
    if held is None:
        return Look(None, recorded)
    with sessions.open() as spark:
        recorded = with_history(spark, target_of(repository.settings), recorded)
    if not recorded.state:
        return Look({}, recorded)
    wanted = {
        name: item
        for name, item in wanted_objects(repository, recorded.state).items()
        if name in recorded.state
    }
    catalog = inspect(sessions, wanted, data_schema=repository.settings.data_schema)
    if _holder(sessions, schema) != held:
        return Look(None, recorded)
    drift = find_drift(repository, recorded.state, catalog)
    return Look({str(name): why for name, why in sorted(drift.items())}, recorded)


def _holder(sessions: Sessions, schema: str) -> int | None:
    """The number of the last lock; None while somebody holds it."""
    with sessions.open() as spark:
        holder = read_lock(spark, schema)
    if holder is None:
        return 0
    return None if holder.active(time.time()) else holder.number

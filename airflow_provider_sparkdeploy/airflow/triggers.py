"""Doorbells: a changed repository, a changed catalog. For an ``AssetWatcher``, and for the sensors.

An event says that there is something to look at, never what to do about it: every run deploys what is
in the repository then. A trigger rings once per new fact, not at every look. What it has rung for
it remembers with the asset that it watches, one look later: a triggerer that is killed in between
rings again, which costs a run that finds nothing to do; a ring that is lost would cost a change.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from .arguments import pairs
from .deploying import Deploying

if TYPE_CHECKING:
    from .keeping import Recorded

_TOLD = "sparkdeploy.told"


class _Doorbell(BaseEventTrigger):
    """Looks again and again, in a thread of its own, and rings for what is new."""

    def __init__(
        self,
        *,
        repository: str | Path,
        environment: str | None = None,
        overrides: Mapping[str, str] | Sequence[str] = (),
        poll_interval: float,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        if not Path(repository).is_absolute():
            raise ValueError(
                f"repository must be an absolute path: the triggerer does not know where {repository} is"
            )
        self.repository = str(repository)
        self.environment = environment
        self.overrides = list(pairs(overrides))
        self.poll_interval = poll_interval

    def _arguments(self) -> dict[str, Any]:
        return {
            "repository": self.repository,
            "environment": self.environment,
            "overrides": self.overrides,
            "poll_interval": self.poll_interval,
        }

    def deploying(self) -> Deploying:
        return Deploying("", Path(self.repository), self.environment, overrides=tuple(self.overrides))

    @abstractmethod
    def news(self, told: Any) -> tuple[Mapping[str, Any] | None, Any]:
        """What to ring with, if there is anything new, and what has been told then. ``told`` is
        what it gave before; None where nothing is known of an earlier look. Not on the event loop."""

    async def run(self) -> AsyncIterator[TriggerEvent]:
        told = kept = await self._recall()
        complaint = ""
        while True:
            try:
                payload, told = await asyncio.to_thread(self.news, told)
                complaint = ""
            except Exception as error:  # a watch outlives what it watches
                payload = None
                if str(error) != complaint:
                    complaint = str(error)
                    self.log.warning("Could not look, and will go on trying: %s", complaint)
            if payload is not None:
                yield TriggerEvent(dict(payload))  # type: ignore[no-untyped-call]
            elif told != kept:
                await self._remember(told)
                kept = told
            await asyncio.sleep(self.poll_interval)

    async def _recall(self) -> Any:
        if self.asset_state_store is None:
            return None
        try:
            return await self.asset_state_store.aget(_TOLD)
        except Exception as error:  # without memory it rings once more
            self.log.info("What was told before is not known: %s", error)
            return None

    async def _remember(self, told: Any) -> None:
        if self.asset_state_store is None or told is None:
            return
        try:
            await self.asset_state_store.aset(_TOLD, told)
        except Exception as error:
            self.log.info("What was told is not remembered beyond this process: %s", error)


class RepositoryChangeTrigger(_Doorbell):
    """Rings when the files of a repository, or its settings, have changed.

    The payload is ``{"repository": ..., "fingerprint": ...}``. Looking costs about what reading the
    files costs; nothing is parsed. While the settings cannot be read (somebody is editing them) it
    waits. It rings at most once for the same content in a row, and does not say what changed.

    :param repository: the folder of SQL files, as the triggerer sees it: an absolute path.
    :param environment: the environment of ``sparkdeploy.yaml``; its default one if not given.
    :param overrides: settings over those of ``sparkdeploy.yaml``, each as ``key=value``.
    :param dag_id: the DAG that deploys it (``dag_id:group_id`` for a ``SparkDeployTaskGroup``). With it
        the trigger compares with what that DAG has deployed, so it also rings for a change that was
        made while no triggerer ran, and for the first deployment. Give both the same environment and
        overrides: they count. Without it, the trigger compares with what it saw before, and where it
        never saw anything with what it sees first.
    :param since: a fingerprint to compare with instead.
    :param poll_interval: seconds between two looks.
    """

    def __init__(
        self,
        *,
        repository: str | Path,
        environment: str | None = None,
        overrides: Mapping[str, str] | Sequence[str] = (),
        dag_id: str | None = None,
        since: str | None = None,
        poll_interval: float = 5.0,
    ) -> None:
        super().__init__(
            repository=repository, environment=environment, overrides=overrides, poll_interval=poll_interval
        )
        self.dag_id = dag_id
        self.since = since

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {**self._arguments(), "dag_id": self.dag_id, "since": self.since},
        )

    async def _recall(self) -> Any:
        return self.since if self.since is not None else await super()._recall()

    def news(self, told: Any) -> tuple[Mapping[str, Any] | None, Any]:
        found = self.deploying().fingerprint()
        if found == told or self._is_known(found, told):
            return None, found
        return {"repository": self.repository, "fingerprint": found}, found

    def _is_known(self, found: str, told: str | None) -> bool:
        """Whether there is no need to ring, although it was not what was told last."""
        if self.since is not None:
            return False
        return told is None if self.dag_id is None else is_deployed(self.dag_id, found)


class CatalogDriftTrigger(_Doorbell):
    """Rings when objects were dropped or altered behind SparkDeploy's back.

    The payload is ``{"environment": ..., "drift": {"sales.orders": "missing in the catalog", ...}}``:
    everything that differs from what the environment's history says is deployed, and how. It rings
    again when more differs, or something differs otherwise, and when what was repaired differs
    again; not while a deployment is under way. It repairs nothing: schedule a deployment on it.

    :param repository: the folder of SQL files, as the triggerer sees it: an absolute path. It says
        where the history is, and which objects are somebody else's.
    :param environment: the environment of ``sparkdeploy.yaml``; its default one if not given.
    :param overrides: settings over those of ``sparkdeploy.yaml``, each as ``key=value``.
    :param conn_id: a connection as for ``SparkDeployDag``. One of type ``spark_connect`` looks in
        seconds; one of type ``spark`` starts a driver for every look, so look less often then.
    :param poll_interval: seconds between two looks.
    """

    def __init__(
        self,
        *,
        repository: str | Path,
        environment: str | None = None,
        overrides: Mapping[str, str] | Sequence[str] = (),
        conn_id: str | None = None,
        poll_interval: float = 300.0,
    ) -> None:
        super().__init__(
            repository=repository, environment=environment, overrides=overrides, poll_interval=poll_interval
        )
        self.conn_id = conn_id
        self._recorded: Recorded | None = None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {**self._arguments(), "conn_id": self.conn_id},
        )

    def news(self, told: Any) -> tuple[Mapping[str, Any] | None, Any]:
        from .drifting import look_for_drift
        from .hook import SparkDeployHook
        from .keeping import Recorded

        repository = self.deploying().open()
        with contextlib.closing(SparkDeployHook(self.conn_id)) as hook:
            look = look_for_drift(repository, hook.sessions(), self._recorded or Recorded())
        self._recorded = look.recorded
        if look.drift is None:
            return None, told
        known = told or {}
        if all(known.get(name) == why for name, why in look.drift.items()):
            return None, dict(look.drift)
        environment = repository.settings.environment
        return {"environment": environment, "drift": dict(look.drift)}, dict(look.drift)


def is_deployed(name: str, fingerprint: str) -> bool:
    """Whether a deployment has nothing left to do for a repository, or is at it."""
    from .keeping import read_view

    view = read_view(name)
    if view is None or view.fingerprint != fingerprint or view.problems:
        return False
    return (bool(view.active) and not view.planning) or not view.operations

"""Sensors that hold no worker slot while they wait: the triggerer looks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseSensorOperator

from .triggers import CatalogDriftTrigger, RepositoryChangeTrigger

if TYPE_CHECKING:
    from airflow.sdk import Context
    from airflow.triggers.base import BaseEventTrigger


class _Waiting(BaseSensorOperator):
    """What both have in common: a first look by the worker, all others by the triggerer.

    The first look fails at once where waiting would be in vain: no such folder, no such connection.
    """

    ui_color = "#e8daef"

    def __init__(
        self,
        *,
        repository: str | Path,
        environment: str | None = None,
        overrides: Mapping[str, str] | Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.repository = str(repository)
        self.environment = environment
        self.overrides = overrides

    def execute(self, context: Context) -> Mapping[str, Any]:
        payload, trigger = self._first_look()
        if payload is None:
            self.defer(
                trigger=trigger, method_name="execute_complete", timeout=timedelta(seconds=self.timeout)
            )
        return self.execute_complete(context, payload)

    def execute_complete(self, context: Context, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the trigger saw is what the task returns."""
        self._tell(event)
        return dict(event)

    @abstractmethod
    def _first_look(self) -> tuple[Mapping[str, Any] | None, BaseEventTrigger]:
        """What there is to tell already, if anything, and who waits for it otherwise."""

    @abstractmethod
    def _tell(self, event: Mapping[str, Any]) -> None:
        """Log it."""


class RepositoryChangeSensor(_Waiting):
    """Waits until the files of a repository, or its settings, change. Returns the new fingerprint.

    Deferrable only. To deploy on every change no sensor is needed: give ``SparkDeployDag`` an asset
    with an ``AssetWatcher`` and a ``RepositoryChangeTrigger`` as its ``schedule``.

    :param repository: the folder of SQL files, as worker and triggerer see it: an absolute path.
    :param environment: the environment of ``sparkdeploy.yaml``; its default one if not given.
    :param overrides: settings over those of ``sparkdeploy.yaml``, each as ``key=value``.
    :param since: the fingerprint that it must differ from, such as one that this sensor returned in
        an earlier run; what it is when the task starts, if not given.
    :param poke_interval: seconds between two looks; 5 if not given.

    The other arguments are those of Airflow's sensors: ``timeout``, ``soft_fail``, ``retries``. The
    task returns ``{"repository": ..., "fingerprint": ...}``.
    """

    template_fields: Sequence[str] = ("repository", "environment", "overrides", "since")

    def __init__(self, *, since: str | None = None, poke_interval: float = 5.0, **kwargs: Any) -> None:
        super().__init__(poke_interval=poke_interval, **kwargs)
        self.since = since

    def _first_look(self) -> tuple[Mapping[str, Any] | None, RepositoryChangeTrigger]:
        trigger = RepositoryChangeTrigger(
            repository=self.repository,
            environment=self.environment,
            overrides=self.overrides,
            since=self.since or None,
            poll_interval=self.poke_interval,
        )
        if trigger.since is None:
            trigger.since = trigger.deploying().fingerprint()
        return trigger.news(trigger.since)[0], trigger

    def _tell(self, event: Mapping[str, Any]) -> None:
        self.log.info("%s has changed: %s", event["repository"], event["fingerprint"])


class CatalogDriftSensor(_Waiting):
    """Waits until something that was deployed is missing or different. Returns what, and how.

    Deferrable only. It compares with what the environment's history says is deployed, and waits while
    a deployment is under way. Drift that is there when it starts ends it at once.

    :param repository: the folder of SQL files, as worker and triggerer see it: an absolute path.
    :param environment: the environment of ``sparkdeploy.yaml``; its default one if not given.
    :param overrides: settings over those of ``sparkdeploy.yaml``, each as ``key=value``.
    :param conn_id: a connection as for ``SparkDeployDag``; one of type ``spark_connect`` for anything
        but trying things out.
    :param poke_interval: seconds between two looks; 300 if not given.

    The other arguments are those of Airflow's sensors: ``timeout``, ``soft_fail``, ``retries``. The
    task returns ``{"environment": ..., "drift": {"sales.orders": "missing in the catalog"}}``.
    """

    template_fields: Sequence[str] = ("repository", "environment", "overrides", "conn_id")

    def __init__(self, *, conn_id: str | None = None, poke_interval: float = 300.0, **kwargs: Any) -> None:
        super().__init__(poke_interval=poke_interval, **kwargs)
        self.conn_id = conn_id

    def _first_look(self) -> tuple[Mapping[str, Any] | None, CatalogDriftTrigger]:
        trigger = CatalogDriftTrigger(
            repository=self.repository,
            environment=self.environment,
            overrides=self.overrides,
            conn_id=self.conn_id,
            poll_interval=self.poke_interval,
        )
        return trigger.news(None)[0], trigger

    def _tell(self, event: Mapping[str, Any]) -> None:
        for name, why in sorted(event["drift"].items()):
            self.log.warning("%s: %s", name, why)

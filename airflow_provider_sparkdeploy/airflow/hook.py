"""From an Airflow connection to sessions on a Spark."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from airflow.sdk import BaseHook
from airflow.sdk.configuration import conf

from ..core.diagnostics import problem

if TYPE_CHECKING:
    from ..spark.session import Sessions


class SparkDeployHook(BaseHook):
    """Sessions for operations, inspections and the lock.

    ``conn_id`` names a connection of one of the Spark provider's types: ``spark_connect``
    (recommended) or ``spark``, which starts a driver with spark-submit. Without one, an embedded Spark
    Connect server is started on this machine when it is first needed, one per warehouse folder, and
    shared by every process: for trying things out, not for a cluster of workers.

    It does not run SQL itself; see ``SparkDeployOperator``.
    """

    conn_name_attr = "conn_id"
    default_conn_name = "spark_connect_default"
    hook_name = "SparkDeploy"

    def __init__(self, conn_id: str | None = None) -> None:
        super().__init__()
        self.conn_id = conn_id
        self._sessions: Sessions | None = None

    def get_conn(self) -> Sessions:
        return self.sessions()

    def sessions(self) -> Sessions:
        """The same ones at every call. Nothing is sent before one is opened."""
        if self._sessions is None:
            self._sessions = self._connected()
        return self._sessions

    def close(self) -> None:
        """End the driver of these sessions, where they have one of their own. It ends with the process of a
        task by itself; a triggerer lives on."""
        if self._sessions is not None:
            from ..spark.submit import SubmitSessions

            if isinstance(self._sessions, SubmitSessions):
                self._sessions.close()

    def _connected(self) -> Sessions:
        if self.conn_id is None:
            from ..spark.local import local_sessions

            return local_sessions(warehouse())
        connection = self.get_connection(self.conn_id)
        if connection.conn_type == "spark_connect" and not connection.host:
            raise problem(
                "SD710",
                f"the connection {self.conn_id} has no host",
                advice="Give it the host, and the port, of the Spark Connect server.",
            )
        if connection.conn_type == "spark_connect":
            from airflow.providers.apache.spark.hooks.spark_connect import SparkConnectHook

            from ..spark.session import ConnectSessions

            return ConnectSessions(SparkConnectHook(self.conn_id).get_connection_url())
        if connection.conn_type == "spark":
            return self._submitted(self.conn_id)
        raise problem(
            "SD710",
            f"the connection {self.conn_id} is of type {connection.conn_type}",
            advice="Use one of type spark_connect (recommended) or spark, or none for an embedded Spark.",
        )

    def _submitted(self, conn_id: str) -> Sessions:
        """The provider's hook knows how a connection becomes a spark-submit; we add the driver."""
        from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

        from ..spark.submit import SubmitSessions

        hook = SparkSubmitHook(conn_id=conn_id, name="sparkdeploy")
        extra = self.get_connection(conn_id).extra_dejson
        return SubmitSessions(
            command=[*hook._get_spark_binary_path(), *hook._build_spark_common_args()],
            deploy_mode="cluster" if hook._connection["deploy_mode"] == "cluster" else "client",
            host=extra.get("sparkdeploy-host", "127.0.0.1"),
        )

    def spark_ui(self) -> str:
        """The address of the Spark UI, where the connection says it (extra ``spark_ui``); else empty."""
        if self.conn_id is None:
            return ""
        return str(self.get_connection(self.conn_id).extra_dejson.get("spark_ui", ""))


def warehouse() -> Path:
    """The folder of the embedded Spark."""
    named = conf.get("sparkdeploy", "warehouse", fallback="")
    if named:
        return Path(named).expanduser()
    home = Path(os.environ.get("AIRFLOW_HOME", "~/airflow")).expanduser()
    return home / "sparkdeploy" / "warehouse"

"""Links that a task has in Airflow's UI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperatorLink

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator

PAGE = "sparkdeploy"  # of the plugin; see plugin.py


class PlanPageLink(BaseOperatorLink):
    """The plan of the run on the SparkDeploy page."""

    name = "Plan"

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:
        from airflow.sdk.configuration import conf

        base = conf.get("api", "base_url", fallback="").rstrip("/")
        return f"{base}/dags/{ti_key.dag_id}/runs/{ti_key.run_id}/plugin/{PAGE}"


class SparkUILink(BaseOperatorLink):
    """The Spark UI, where the connection says where it is (extra ``spark_ui``)."""

    name = "Spark UI"

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:
        from .hook import SparkDeployHook

        return SparkDeployHook(getattr(operator, "conn_id", None)).spark_ui()

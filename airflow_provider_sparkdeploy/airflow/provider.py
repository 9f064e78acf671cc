"""What Airflow reads about this provider. It must fit Airflow's schema: a test checks it."""

from __future__ import annotations

from typing import Any

_NAME = "SparkDeploy"
_HERE = "airflow_provider_sparkdeploy.airflow"


def get_provider_info() -> dict[str, Any]:
    return {
        "package-name": "airflow-provider-sparkdeploy",
        "name": _NAME,
        "description": "Deploy tables, views, materialized views and functions to Spark: one task per DDL operation.",
        "integrations": [{"integration-name": _NAME, "external-doc-url": "", "tags": ["apache"]}],
        "operators": [
            {
                "integration-name": _NAME,
                "python-modules": [
                    f"{_HERE}.operators",
                    f"{_HERE}.refresh_plan_task",
                    f"{_HERE}.refresh_task",
                ],
            }
        ],
        "sensors": [{"integration-name": _NAME, "python-modules": [f"{_HERE}.sensors"]}],
        "triggers": [{"integration-name": _NAME, "python-modules": [f"{_HERE}.triggers"]}],
        "hooks": [{"integration-name": _NAME, "python-modules": [f"{_HERE}.hook"]}],
        "extra-links": [f"{_HERE}.links.PlanPageLink", f"{_HERE}.links.SparkUILink"],
        "asset-uris": [{"schemes": ["sparkdeploy"], "handler": f"{_HERE}.assets.sanitize_uri"}],
        "config": {
            "sparkdeploy": {
                "description": "Settings of SparkDeploy.",
                "options": {
                    "warehouse": {
                        "description": (
                            "The folder of the embedded Spark, which is used where a DAG names no connection. "
                            "Empty: sparkdeploy/warehouse in AIRFLOW_HOME."
                        ),
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": "/var/lib/sparkdeploy",
                        "default": "",
                    }
                },
            }
        },
    }

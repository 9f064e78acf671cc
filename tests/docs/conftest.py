"""Pages that deploy use the server of the Spark tests: one for each worker."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from airflow_provider_sparkdeploy.spark.session import ConnectSessions

_found = importlib.util.spec_from_file_location(
    "spark_fixtures_of_docs", Path(__file__).parents[1] / "spark" / "conftest.py"
)
assert _found is not None
assert _found.loader is not None
_fixtures = importlib.util.module_from_spec(_found)
_found.loader.exec_module(_fixtures)
spark_machine = _fixtures.spark_machine
shared_warehouse = _fixtures.shared_warehouse
sessions = _fixtures.sessions

# What pages deploy to. All other tests have schemas with names of their own.
SCHEMAS = ("shop", "sales", "analytics", "ref", "web", "sparkdeploy", "sparkdeploy_data")


@pytest.fixture
def empty_warehouse(shared_warehouse: Path, sessions: ConnectSessions) -> Path:
    """The folder of a running Spark that knows nothing of what another page has deployed."""
    with sessions.open() as spark:
        for schema in SCHEMAS:
            spark.sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
    return shared_warehouse

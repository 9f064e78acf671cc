"""The crash tests use the server of the Spark tests: one for each worker."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from killing import Killer

from airflow_provider_sparkdeploy.spark.session import ConnectSessions

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "spark"))
_found = importlib.util.spec_from_file_location("spark_fixtures", HERE.parent / "spark" / "conftest.py")
assert _found is not None
assert _found.loader is not None
_fixtures = importlib.util.module_from_spec(_found)
_found.loader.exec_module(_fixtures)
spark_machine = _fixtures.spark_machine
shared_warehouse = _fixtures.shared_warehouse
watched = _fixtures.watched
sessions = _fixtures.sessions
database = _fixtures.database


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.spark)
            if "database" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.xdist_group("postgres"))


@pytest.fixture(scope="session")
def killer(sessions: ConnectSessions) -> Iterator[Killer]:
    """Starts deployments that are killed."""
    with Killer(sessions.address) as made:
        yield made

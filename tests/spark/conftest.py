"""A real Spark for the tests: one embedded server for each worker of a test run.

Spark lets one statement at a time into its catalog, so that two workers with one server would wait for
each other most of the time.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError
from airflow_provider_sparkdeploy.spark.embedded import spark_home
from airflow_provider_sparkdeploy.spark.java import require_java
from airflow_provider_sparkdeploy.spark.local import start
from airflow_provider_sparkdeploy.spark.session import ConnectSessions, Sessions

if TYPE_CHECKING:
    from services import Postgres

HERE = Path(__file__).parent
# What takes long to start is started once: the tests that use it run in one worker.
_SHARED = {"server_on_postgres": "metastore", "database": "postgres", "cluster": "cluster"}
_WATCH = """
import fcntl, sys
from pathlib import Path
from airflow_provider_sparkdeploy.spark.local import stop
with open(sys.argv[1], "rb") as users:
    fcntl.flock(users, fcntl.LOCK_EX)  # granted when the last user is gone, however it went
    stop(Path(sys.argv[2]))
"""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.spark)
            for service, group in _SHARED.items():
                if service in getattr(item, "fixturenames", ()):
                    item.add_marker(pytest.mark.xdist_group(group))
                    break


@pytest.fixture(scope="session")
def spark_machine() -> None:
    """A machine that Spark runs on. Elsewhere the tests are skipped; in CI they fail."""
    try:
        spark_home()
        require_java()
    except SparkDeployError as error:
        if os.environ.get("CI", "").lower() == "true":
            raise
        pytest.skip(str(error))


@contextmanager
def _watched(warehouse: Path) -> Iterator[None]:
    """End the server of a folder when its last user ends, also one that is killed."""
    (warehouse / "server").mkdir(parents=True, exist_ok=True)
    # What Derby keeps here is forgotten with the folder: it need not wait for the disk.
    (warehouse / "server" / "derby.properties").write_text("derby.system.durability=test\n")
    with (warehouse / "users").open("ab") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        # Through a shell that leaves at once, so that nobody has to wait for the watcher.
        subprocess.run(
            ["/bin/sh", "-c", '"$@" &', "sh", sys.executable, "-c", _WATCH, users.name, str(warehouse)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            check=True,
        )
        yield


@pytest.fixture(scope="session")
def watched(spark_machine: None) -> Callable[[Path], AbstractContextManager[None]]:
    """For tests that start a server of their own."""
    return _watched


@pytest.fixture(scope="session")
def shared_warehouse(spark_machine: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of this worker's server."""
    warehouse = tmp_path_factory.getbasetemp() / "warehouse"
    with _watched(warehouse):
        yield warehouse


@pytest.fixture(scope="session")
def sessions(shared_warehouse: Path) -> ConnectSessions:
    return start(shared_warehouse).sessions


@pytest.fixture(scope="session")
def database() -> Iterator[Postgres]:
    from services import postgres  # others load this file from elsewhere

    with postgres() as found:
        yield found


_numbers = itertools.count(1)


@pytest.fixture
def schema(sessions: Sessions) -> Iterator[str]:
    """A schema of the test's own, which exists and is empty."""
    name = f"s_{os.getpid()}_{next(_numbers)}"
    with sessions.open() as spark:
        spark.sql(f"CREATE SCHEMA {name}")
        yield name
        spark.sql(f"DROP SCHEMA IF EXISTS {name} CASCADE")

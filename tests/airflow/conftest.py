"""One real Airflow and one real Spark for all tests of this folder, and for all workers of a test run.

A deployment mostly waits: for a parse, for a scheduler, for a process to start. So several tests at once
take little longer than one, each with a DAG and schemas of its own.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from deployments import Deployed
from machine import Airflow, airflow_on, attached

from airflow_provider_sparkdeploy.spark.local import start
from airflow_provider_sparkdeploy.spark.session import ConnectSessions

HERE = Path(__file__).parent


def _load(name: str, path: Path) -> object:
    found = importlib.util.spec_from_file_location(name, path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    import sys

    sys.modules[name] = module
    found.loader.exec_module(module)
    return module


_fixtures = _load("spark_fixtures_of_airflow", HERE.parent / "spark" / "conftest.py")
_services = _load("services_of_airflow", HERE.parent / "spark" / "services.py")
spark_machine = _fixtures.spark_machine  # type: ignore[attr-defined]
watched = _fixtures.watched  # type: ignore[attr-defined]


def pytest_itemcollected(item: pytest.Item) -> None:
    """The first tests wait for an Airflow to start, which on a busy machine takes minutes."""
    if item.get_closest_marker("timeout") is None:
        item.add_marker(pytest.mark.timeout(850))


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of a test run have in common."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def warehouse(spark_machine: None, watched: object, shared: Path) -> Iterator[Path]:
    """The folder of the Spark that the workers of Airflow use."""
    folder = shared / "airflow_spark"
    with watched(folder):  # type: ignore[operator]
        yield folder


@pytest.fixture(scope="session")
def sessions(warehouse: Path) -> ConnectSessions:
    return start(warehouse).sessions


_started = contextlib.ExitStack()  # what this worker has started; ends with the tests of the last one


def pytest_sessionfinish() -> None:
    _started.close()  # not by a fixture: the last test of this worker is not to wait for the others


@pytest.fixture(scope="session")
def airflow(sessions: ConnectSessions, warehouse: Path, shared: Path) -> Airflow:
    """The first worker that needs it starts it, the others use it."""
    users, owner = (_started.enter_context((shared / name).open("ab")) for name in ("users", "owner"))
    fcntl.flock(users, fcntl.LOCK_SH)
    place = shared / "airflow.json"
    with (shared / "starting").open("ab") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)
        try:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            found = _started.enter_context(attached(**json.loads(place.read_text())))
        else:
            found = _started.enter_context(_airflow(shared, sessions, warehouse))
            told = {"home": str(found.home), "port": found.port, "database": found.database}
            place.write_text(json.dumps({**told, "environment": dict(found.environment)}))
    _started.callback(fcntl.flock, users, fcntl.LOCK_EX)  # granted when all others have come as far
    return found


@contextlib.contextmanager
def _airflow(shared: Path, sessions: ConnectSessions, warehouse: Path) -> Iterator[Airflow]:
    with _services.postgres() as server:  # type: ignore[attr-defined]
        database = f"postgresql+psycopg2://tester@127.0.0.1:{server.port}/postgres"
        submit = shared / "spark_submit"
        submit.mkdir(exist_ok=True)
        server.sql("CREATE DATABASE metastore")
        conf = submit_settings(submit, server)
        (submit / "spark-defaults.conf").write_text("".join(f"{key} {conf[key]}\n" for key in sorted(conf)))
        settings = {
            "SPARK_CONF_DIR": str(submit),  # what spark-submit reads; see test_cluster.py
            "AIRFLOW__SPARKDEPLOY__WAREHOUSE": str(warehouse),
            "AIRFLOW_CONN_SPARK_CONNECT_DEFAULT": sessions.address.replace("sc://", "spark-connect://"),
        }
        with airflow_on(shared / "airflow_home", database, settings) as running:
            yield running


def submit_settings(folder: Path, server: object) -> dict[str, str]:
    """Of a Spark behind spark-submit: a metastore that several drivers can use at once, and small
    drivers that stay on this machine."""
    return {
        **_services.hive_metastore(server.at("metastore")),  # type: ignore[attr-defined]
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": str(folder / "tables"),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.executor.memory": "512m",
        "spark.cores.max": "1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
    }


@pytest.fixture(scope="session")
def cluster(spark_machine: None) -> Iterator[object]:
    with _services.standalone() as found:  # type: ignore[attr-defined]
        yield found


_numbers = itertools.count(1)


@pytest.fixture
def deployed(airflow: Airflow, sessions: ConnectSessions, tmp_path: Path) -> Iterator[Deployed]:
    """A repository of the test's own, in schemas of its own, and its DAG."""
    made = Deployed(airflow, sessions, tmp_path / "repository", f"t{os.getpid()}_{next(_numbers)}")
    yield made
    made.remove()

"""One real Airflow and one real Spark for all tests of this folder, in one worker of the test run."""

from __future__ import annotations

import importlib.util
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from deployments import Deployed
from machine import Airflow, airflow_on

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


@pytest.fixture(scope="session")
def warehouse(
    spark_machine: None, watched: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The folder of the Spark that the workers of Airflow use."""
    folder = tmp_path_factory.mktemp("airflow_spark")
    with watched(folder):  # type: ignore[operator]
        yield folder


@pytest.fixture(scope="session")
def sessions(warehouse: Path) -> ConnectSessions:
    return start(warehouse).sessions


@pytest.fixture(scope="session")
def airflow(
    sessions: ConnectSessions, warehouse: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Airflow]:
    with _services.postgres() as server:  # type: ignore[attr-defined]
        database = f"postgresql+psycopg2://tester@127.0.0.1:{server.port}/postgres"
        home = tmp_path_factory.mktemp("airflow_home")
        submit = tmp_path_factory.mktemp("spark_submit")
        server.sql("CREATE DATABASE metastore")
        conf = submit_settings(submit, server)
        (submit / "spark-defaults.conf").write_text("".join(f"{key} {conf[key]}\n" for key in sorted(conf)))
        settings = {
            "SPARK_CONF_DIR": str(submit),  # what spark-submit reads; see test_cluster.py
            "AIRFLOW__SPARKDEPLOY__WAREHOUSE": str(warehouse),
            "AIRFLOW_CONN_SPARK_CONNECT_DEFAULT": sessions.address.replace("sc://", "spark-connect://"),
        }
        with airflow_on(home, database, settings) as running:
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

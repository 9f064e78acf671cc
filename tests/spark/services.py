"""What the tests need beside Spark, started for them and stopped with them.

A service is watched by a shell that waits for the end of its standard input. That end comes
when the test process closes it, and also when the process is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_sparkdeploy.core.names import quote_literal
from airflow_provider_sparkdeploy.spark.embedded import spark_home
from airflow_provider_sparkdeploy.spark.session import Sessions, Spark

DRIVER = Path("/usr/share/java/postgresql.jar")
OLDEST_SPARK = "3.5.9"  # of the oldest minor version that spark-submit is to work with
_WITH_ICEBERG = ("sagemaker-feature-store-pyspark", "2.2.2")  # Iceberg 1.9.0 for Spark 3.5
_ICEBERG = "smfs.shaded.org.apache.iceberg.spark"
_BUILD = Path(__file__).parents[2] / "build"
_ACCOUNT = "postgres"  # the server refuses to run as root
_USER = "tester"
_WATCH = '"$@" <&- & server=$!; read -r _; kill -INT "$server"; wait "$server"; rm -rf -- "$0"'
_WATCH_JAVA = _WATCH.replace("-INT", "-TERM")  # a shell starts in the background with SIGINT ignored


@dataclass(frozen=True, slots=True)
class Postgres:
    """A server on this machine only, without passwords, that forgets everything at its end."""

    port: int
    programs: Path

    @property
    def url(self) -> str:
        return self.at("postgres")

    def at(self, database: str) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{database}?user={_USER}"

    def sql(self, text: str, user: str = _USER) -> None:
        """What somebody does by hand, past Spark."""
        place = ("-h", "127.0.0.1", "-p", str(self.port), "-U", user)
        command = [str(self.programs / "psql"), *place, "-v", "ON_ERROR_STOP=1", "-qc", text, "postgres"]
        subprocess.run(command, check=True, capture_output=True, text=True)


@contextlib.contextmanager
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL of its own. Where it is not installed the test is skipped; in CI it fails."""
    programs = _programs()
    if programs is None or not DRIVER.is_file():
        missing("PostgreSQL and its JDBC driver (Debian: postgresql, libpostgresql-jdbc-java)")
    assert programs is not None
    folder = Path(tempfile.mkdtemp(prefix="sparkdeploy-postgres-"))
    account = _account()
    if account:
        shutil.chown(folder, account, pwd.getpwnam(account).pw_gid)
    data = folder / "data"
    initdb = [programs / "initdb", "-D", data, "-U", _USER, "--auth=trust", "--no-sync", "-E", "UTF8"]
    _run([*map(str, initdb), "--locale=C.UTF-8"], account)
    port = _free_port()
    settings = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": "", "fsync": "off"}
    options = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
    with (folder / "log").open("wb") as log:
        watcher = subprocess.Popen(
            ["/bin/sh", "-c", _WATCH, str(folder), str(programs / "postgres"), "-D", str(data), *options],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
            user=account,
            extra_groups=[] if account else None,
            cwd="/",
        )
    assert watcher.stdin is not None
    server = Postgres(port, programs)
    try:
        _await(server, folder / "log")
        yield server
    finally:
        watcher.stdin.close()
        watcher.wait(timeout=30)


@dataclass(frozen=True, slots=True)
class Configured:
    """Sessions in which settings and jars are there from the start, as if the server had them."""

    sessions: Sessions
    settings: Mapping[str, str]
    jars: tuple[Path, ...] = ()
    metastore: str = ""

    def open(self, key: str = "") -> Spark:
        spark = self.sessions.open(key)
        for jar in self.jars:
            spark.sql(f"ADD JAR {quote_literal(str(jar))}")
        for name, value in self.settings.items():
            spark.sql(f"SET {name}={value}")
        return spark

    def settle(self, key: str) -> bool:
        return self.sessions.settle(key)


@dataclass(frozen=True, slots=True)
class Standalone:
    """A cluster of its own: a master, and workers with one core each."""

    master: str
    page: str
    home: Path

    @property
    def state(self) -> Mapping[str, Any]:
        """What the master knows of its workers and applications."""
        with urllib.request.urlopen(f"{self.page}/json/", timeout=10) as answer:
            found: Mapping[str, Any] = json.load(answer)
            return found


@contextlib.contextmanager
def standalone(workers: int = 2) -> Iterator[Standalone]:
    """A standalone cluster, started from the installed pyspark, on this machine only."""
    home = spark_home()
    port, page = _free_port(), _free_port()
    cluster = Standalone(f"spark://127.0.0.1:{port}", f"http://127.0.0.1:{page}", home)
    here = ("--host", "127.0.0.1")
    with contextlib.ExitStack() as running:
        places = ("--port", str(port), "--webui-port", str(page))
        log = running.enter_context(_daemon(home, "master.Master", *here, *places))
        for _ in range(workers):
            size = ("--cores", "1", "--memory", "1g", "--webui-port", "0")
            running.enter_context(_daemon(home, "worker.Worker", *here, *size, cluster.master))
        until = time.monotonic() + 180
        while not _alive(cluster, workers):
            assert time.monotonic() < until, f"the cluster did not start: {log.read_text(errors='replace')}"
            time.sleep(0.2)
        yield cluster


def _alive(cluster: Standalone, workers: int) -> bool:
    try:
        return bool(cluster.state["aliveworkers"] == workers)
    except (OSError, ValueError):  # at first, the master answers everything with its page for people
        return False


@contextlib.contextmanager
def _daemon(home: Path, name: str, *arguments: str) -> Iterator[Path]:
    """A process of a standalone cluster, in a folder of its own; gives its log."""
    folder = Path(tempfile.mkdtemp(prefix="sparkdeploy-cluster-"))
    settings = {
        "SPARK_HOME": str(home),
        "SPARK_CONF_DIR": str(folder),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_WORKER_DIR": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
    }
    kept = {key: value for key, value in os.environ.items() if not key.startswith("SPARK_")}
    program = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
    with (folder / "log").open("wb") as log:
        watcher = subprocess.Popen(
            ["/bin/sh", "-c", _WATCH_JAVA, str(folder), *program],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=kept | settings,
            cwd=folder,
        )
    assert watcher.stdin is not None
    try:
        yield folder / "log"
    finally:
        watcher.stdin.close()
        watcher.wait(timeout=60)


def oldest_spark() -> Path:
    """The home of the oldest Spark, which is unpacked once into the build folder of this checkout.

    Its package on the index is its distribution in other folders. So nothing is built or installed.
    """
    home = _BUILD / f"spark-{OLDEST_SPARK}"
    if not home.is_dir():
        with _unpacked("pyspark", OLDEST_SPARK, "deps/bin", "deps/sbin", "deps/jars", "lib") as made:
            (made / "deps" / "python").mkdir()
            (made / "lib").rename(made / "deps" / "python" / "lib")
            with contextlib.suppress(OSError):  # somebody else was faster
                (made / "deps").rename(home)
    return home


def iceberg() -> dict[str, str]:
    """The settings that bring Iceberg to the oldest Spark.

    No package on the index is Iceberg's own for Spark. This one has all of it inside its jar, under names
    that begin otherwise, but has lost the entry by which Spark finds ``USING iceberg``.
    """
    home = _BUILD / f"iceberg-{_WITH_ICEBERG[1]}"
    if not home.is_dir():
        jar = f"deps/jars/sagemaker-feature-store-spark-sdk-{OLDEST_SPARK.rpartition('.')[0]}.jar"
        with _unpacked(*_WITH_ICEBERG, jar) as made:
            (made / jar).rename(made / "deps" / "jars" / "iceberg.jar")
            with zipfile.ZipFile(made / "deps" / "jars" / "found.jar", "w") as found:
                entry = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"
                found.writestr(entry, f"{_ICEBERG}.source.IcebergSource\n")
            with contextlib.suppress(OSError):
                (made / "deps" / "jars").rename(home)
    return {
        "spark.jars": f"{home}/iceberg.jar,{home}/found.jar",
        "spark.sql.extensions": f"{_ICEBERG}.extensions.IcebergSparkSessionExtensions",
    }


def iceberg_catalog(name: str, folder: Path) -> dict[str, str]:
    """The settings of a catalog of Iceberg's own, in a folder."""
    return {
        f"spark.sql.catalog.{name}": f"{_ICEBERG}.SparkCatalog",
        f"spark.sql.catalog.{name}.type": "hadoop",
        f"spark.sql.catalog.{name}.warehouse": str(folder),
    }


@contextlib.contextmanager
def _unpacked(package: str, version: str, *wanted: str) -> Iterator[Path]:
    """A folder with these parts of a package's source archive. Where it cannot be had the test is skipped;
    in CI it fails."""
    _BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{package}-", dir=_BUILD) as folder:
        pinned = f"{package}=={version}"
        fetch = ["pip", "download", "--no-deps", "--no-binary", package, "--dest", folder, pinned]
        done = subprocess.run([sys.executable, "-m", *fetch], capture_output=True, text=True)
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()
            missing(f"{pinned} (pip download says: {said[-1] if said else ''})")
        [archive] = Path(folder).glob("*.tar.gz")
        inside = archive.name.removesuffix(".tar.gz")
        parts = [f"{inside}/{part}" for part in wanted]
        _run(["tar", "-xzf", str(archive), "-C", folder, "--no-same-owner", *parts], None)
        archive.unlink()
        yield Path(folder, inside)


def jdbc_catalog(name: str, url: str) -> dict[str, str]:
    """The settings of a JDBC catalog. Its CREATE INDEX does not name the schema: the URL must."""
    return {
        f"spark.sql.catalog.{name}": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
        f"spark.sql.catalog.{name}.url": url,
        f"spark.sql.catalog.{name}.driver": "org.postgresql.Driver",
    }


def hive_metastore(url: str) -> dict[str, str]:
    """The settings of a server whose metastore is kept in a database, and made if it is empty."""
    settings = {
        "javax.jdo.option.ConnectionURL": url,
        "javax.jdo.option.ConnectionDriverName": "org.postgresql.Driver",
        "javax.jdo.option.ConnectionUserName": _USER,
        "javax.jdo.option.ConnectionPassword": "none",
        "datanucleus.schema.autoCreateTables": "true",
        "datanucleus.schema.autoCreateColumns": "true",
        # A constraint that is made late waits for the very transaction that needs its table.
        "datanucleus.schema.autoCreateConstraints": "false",
        "hive.metastore.schema.verification": "false",
    }
    hadoop = {f"spark.hadoop.{name}": value for name, value in settings.items()}
    return hadoop | {"spark.driver.extraClassPath": str(DRIVER)}


def missing(what: str) -> None:
    """Skips the test for want of something; in CI nothing is skipped."""
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"{what} must be installed in CI")
    pytest.skip(f"not installed: {what}")


def _programs() -> Path | None:
    found = shutil.which("initdb")
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)
    return Path(found).resolve().parent if found else next((place.parent for place in places), None)


def _account() -> str | None:
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(_ACCOUNT).pw_name
    except KeyError:
        missing(f"the account {_ACCOUNT}, which PostgreSQL runs as where the tests run as root")
        raise


def _run(command: list[str], account: str | None) -> None:
    done = subprocess.run(
        command, user=account, extra_groups=[] if account else None, cwd="/", capture_output=True, text=True
    )
    assert done.returncode == 0, f"{shlex.join(command)}: {done.stderr}"


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _await(server: Postgres, log: Path) -> None:
    """The port is open before the server takes statements."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with contextlib.suppress(subprocess.CalledProcessError):
            server.sql("SELECT 1")
            return
        time.sleep(0.1)
    raise AssertionError(f"PostgreSQL did not start: {log.read_text(errors='replace')}")

"""The embedded server: started once, shared, replaced when it is gone, stopped; and its messages."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from click.testing import CliRunner

from airflow_provider_sparkdeploy.cli.main import main
from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError
from airflow_provider_sparkdeploy.spark import embedded, local
from airflow_provider_sparkdeploy.spark.java import require_java
from airflow_provider_sparkdeploy.spark.processes import carrying
from airflow_provider_sparkdeploy.spark.session import Sessions

_START = """
import sys
import uuid
from pathlib import Path
from airflow_provider_sparkdeploy.spark import local
server = local.start(Path(sys.argv[1]))
with server.sessions.open() as spark:
    spark.sql("SELECT 1")
print(server.pids, server.port)
"""


@pytest.fixture
def warehouse(watched: Callable[[Path], AbstractContextManager[None]], tmp_path: Path) -> Iterator[Path]:
    """A folder of the test's own, with a name that has to be quoted."""
    folder = tmp_path / "ware house"
    with watched(folder):
        yield folder
        local.stop(folder)


def _starter(warehouse: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", _START, str(warehouse)], stdout=subprocess.PIPE, text=True)


def test_one_server_for_two_that_start_at_once_and_for_those_that_come_later(warehouse: Path) -> None:
    first, second = _starter(warehouse), _starter(warehouse)
    said = {first.communicate()[0], second.communicate()[0]}
    assert (first.returncode, second.returncode) == (0, 0)
    assert len(said) == 1, "both have the same server"

    server = local.status(warehouse)  # it goes on although both are gone
    assert server is not None
    (pid,) = server.pids
    assert said == {f"({pid},) {server.port}\n"}
    assert os.getsid(pid) != os.getsid(0), "a Ctrl-C here does not reach it"

    waited: list[float] = []
    assert local.start(warehouse, waited.append) == server
    assert waited == [], "there was nothing to wait for"


def test_a_killed_server_is_replaced_and_its_tables_are_there(warehouse: Path) -> None:
    waited: list[float] = []
    server = local.start(warehouse, waited.append)
    assert waited == sorted(waited) != []
    with server.sessions.open() as spark:
        spark.sql("CREATE TABLE kept AS SELECT 1 AS a")
    (pid,) = server.pids
    os.kill(pid, signal.SIGKILL)  # Derby leaves its lock files behind
    assert (warehouse / "metastore" / "db.lck").exists()
    sessions: Sessions = local.local_sessions(warehouse)
    with sessions.open() as spark:
        assert spark.sql("SELECT * FROM kept") == [{"a": 1}]
    assert sessions.settle("run/of the killed server"), "a new server has nothing of the old one's"
    assert local.status(warehouse) not in (None, server)


def test_start_status_stop_on_the_command_line(warehouse: Path) -> None:
    def call(name: str, *options: str) -> tuple[int, str]:
        result = CliRunner().invoke(main, ["local", name, "--warehouse", str(warehouse), *options])
        return result.exit_code, result.output

    assert call("status") == (
        1,
        f"No Spark runs in {warehouse}: sparkdeploy local start --warehouse '{warehouse}'\n",
    )
    assert call("stop")[0] == 0
    code, text = call("start")
    assert code == 0
    facts = dict(line.split(None, 1) for line in text.splitlines())
    assert facts["address"].startswith("sc://127.0.0.1:")
    assert facts["warehouse"] == str(warehouse)
    assert Path(facts["log"]).is_file()
    os.kill(int(facts["pid"]), 0)
    code, text = call("status", "--format", "json")
    assert (code, json.loads(text)) == (
        0,
        {"version": 1, "running": True, **facts, "pid": int(facts["pid"])},
    )
    assert call("stop") == (0, f"Spark in {warehouse} has ended. Its tables stay.\n")
    assert json.loads(call("status", "--format", "json")[1]) == {"version": 1, "running": False}
    assert not (warehouse / "metastore" / "db.lck").exists(), "the catalog was closed"
    assert carrying(f"spark.sparkdeploy.server={local._id(warehouse)}") == ()


def test_a_lost_record_does_not_make_two_servers(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that carries the folder's id is its server, whatever the record says."""
    folder = warehouse / "server"
    folder.mkdir(parents=True, exist_ok=True)
    mark = f"spark.sparkdeploy.server={local._id(warehouse)}"
    stray = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", mark])
    try:
        assert carrying(mark) == (stray.pid,)
        assert local.status(warehouse) is None
        assert local.stop(warehouse)
        assert stray.wait(30) == -signal.SIGTERM
        assert not local.stop(warehouse)
    finally:
        stray.kill()
        stray.wait()


def test_a_process_that_replaces_itself_is_not_taken_for_dead() -> None:
    """A launcher is a chain of programs; between two of them there is no command line to read."""
    mark = f"mark-{uuid.uuid4()}"
    again = 'n=$1; [ "$n" = 0 ] && exit; exec /bin/sh -c "$2" sh $((n - 1)) "$2" "$3"'
    chain = subprocess.Popen(["/bin/sh", "-c", again, "sh", "2000", again, mark])
    try:
        looks = [bool(carrying(mark)) for _ in range(60) if chain.poll() is None]
    finally:
        chain.kill()
        chain.wait()
    assert looks
    assert all(looks[:-1]), "only the last look may have come after the end"


def test_somebody_elses_process_and_port_are_left_alone(
    sessions: Sessions, shared_warehouse: Path, tmp_path: Path
) -> None:
    """The record of a dead server names a port that another server answers on by now."""
    other = local.status(shared_warehouse)
    assert other is not None
    (tmp_path / "server").mkdir()
    record = {"port": other.port, "started": 0.0, "pid": os.getpid()}
    (tmp_path / "server" / "server.json").write_text(json.dumps(record))
    mistaken = local._recorded(tmp_path)
    assert mistaken is not None
    assert not mistaken.answers()
    assert local.status(tmp_path) is None
    assert (local.may_run(tmp_path), local.may_run(shared_warehouse)) == (False, True)
    assert not local.stop(tmp_path)
    assert local.status(shared_warehouse) == other


def test_a_server_that_does_not_start(tmp_path: Path, spark_machine: None) -> None:
    with pytest.raises(SparkDeployError, match="SD704") as caught:
        local.start(tmp_path, extra={"spark.master": "no such master"})
    text = str(caught.value)
    assert "Master must" in text
    assert str(tmp_path / "server" / "server.log") in text
    assert "\tat " not in text
    assert local.status(tmp_path) is None


def _fake_java(folder: Path, said: str, code: int = 0) -> Path:
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit {code}\n")
    java.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("said", "version"),
    [('openjdk version "1.8.0_392"', "Java 8"), ('java version "11.0.2" 2019-01-15', "Java 11")],
)
def test_java_too_old(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, version: str) -> None:
    home = _fake_java(tmp_path / "jdk", said)
    for environment in ({"JAVA_HOME": str(home)}, {"PATH": f"{home / 'bin'}:/bin"}):
        with monkeypatch.context() as patch:
            patch.delenv("JAVA_HOME", raising=False)
            for name, value in environment.items():
                patch.setenv(name, value)
            with pytest.raises(
                SparkDeployError, match=f"SD702 .* 17 or newer, and .* is {version}"
            ) as caught:
                require_java()
        assert "JAVA_HOME" in str(caught.value)
        assert "sc://host:port" in str(caught.value)


@pytest.mark.parametrize("said", ['openjdk version "17.0.15" 2025-04-15', 'openjdk version "25" 2025-09-16'])
def test_java_new_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_fake_java(tmp_path / "jdk", said)))
    require_java()


def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkDeployError, match=r"SD701 .* JAVA_HOME is not set, and java is not on PATH"):
        require_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkDeployError, match=f"SD701 .*JAVA_HOME is {tmp_path}"):
        require_java()
    stub = _fake_java(tmp_path / "stub", "Unable to locate a Java Runtime.", 1)
    monkeypatch.setenv("JAVA_HOME", str(stub))
    with pytest.raises(SparkDeployError, match="SD701"):
        require_java()


def test_no_java_on_the_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    result = CliRunner().invoke(main, ["local", "start", "--warehouse", str(tmp_path / "w")])
    assert result.exit_code == 1
    assert result.stderr.startswith("error SD701 the embedded Spark needs Java")


@pytest.mark.parametrize("missing", ["pyspark", "grpc", "pyarrow", "server"])
def test_no_pyspark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, missing: str) -> None:
    """Not there at all, without what Spark Connect needs, or the client without the server."""
    real = embedded.importlib.util.find_spec

    class Client:
        submodule_search_locations = (str(tmp_path),)

    def find(name: str) -> object:
        if name == "pyspark" and missing == "server":
            return Client
        return None if name == missing else real(name)

    monkeypatch.setattr(embedded.importlib.util, "find_spec", find)
    with pytest.raises(SparkDeployError, match="SD703") as caught:
        local.start(tmp_path)
    assert "pip install 'airflow-provider-sparkdeploy[embedded]'" in str(caught.value)


def test_the_caller_s_cluster_does_not_reach_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "SPARK_REMOTE", "PYSPARK_SUBMIT_ARGS", "HIVE_CONF_DIR"):
        monkeypatch.setenv(name, "elsewhere")
    monkeypatch.setattr(embedded, "spark_home", lambda: tmp_path)
    found = embedded.environment(tmp_path / "conf")
    assert "elsewhere" not in found.values()
    assert found["PATH"] == os.environ["PATH"]

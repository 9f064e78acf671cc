"""Sessions through spark-submit: on a real standalone cluster, from the first statement to a killed client."""

from __future__ import annotations

import ast
import datetime
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from services import Standalone, standalone
from world import World

from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError
from airflow_provider_sparkdeploy.spark import driver, submit
from airflow_provider_sparkdeploy.spark.apply import Stop
from airflow_provider_sparkdeploy.spark.processes import carrying
from airflow_provider_sparkdeploy.spark.session import ConnectSessions, SparkFailure
from airflow_provider_sparkdeploy.spark.submit import SubmitSessions

VALUES = """SELECT DATE'2024-02-03' AS d, 1.50BD AS n, array(named_struct('x', 1, 't', TIMESTAMP'2024-07-01 10:00:00Z')) AS s,
    map('k', 2) AS m, map(1, DATE'2024-01-01') AS k, X'00ff' AS b, NULL AS z, true AS w, 1.5D AS f, 'ü' AS u,
    TIMESTAMP'2024-01-01 10:00:00.25Z' AS t, TIMESTAMP_NTZ'2024-01-01 10:00:00' AS l, INTERVAL '1 02:03' DAY TO MINUTE AS i"""


def settings(folder: Path) -> dict[str, str]:
    """A catalog on Derby in a folder, and a driver that stays on this machine."""
    return {
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": str(folder / "tables"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore;create=true",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.executor.memory": "512m",
        "spark.cores.max": "1",  # a driver takes all that there are, and the next would wait for ever
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
    }


def in_memory(**more: str) -> dict[str, str]:
    """Settings that open quickly, where the catalog does not matter."""
    return {
        "spark.sql.catalogImplementation": "in-memory",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.ui.enabled": "false",
        **more,
    }


@pytest.fixture(scope="module")
def cluster(spark_machine: None) -> Iterator[Standalone]:
    with standalone() as found:
        yield found


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the catalog that the sessions of this file share."""
    return tmp_path_factory.mktemp("submitted")


@pytest.fixture(scope="module")
def submitted(cluster: Standalone, catalog: Path) -> Iterator[SubmitSessions]:
    with SubmitSessions(cluster.master, conf=settings(catalog), spark_home=cluster.home) as found:
        yield found


@pytest.fixture(autouse=True)
def logs(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The logs that are kept after a failure are kept with the other files of the tests."""
    folder = str(tmp_path_factory.mktemp("logs"))
    monkeypatch.setattr(tempfile, "tempdir", folder)
    monkeypatch.setenv("TMPDIR", folder)


def wait_for(condition: Callable[[], object], what: str) -> None:
    until = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.2)


# A session


def test_the_work_is_done_by_the_workers(cluster: Standalone, submitted: SubmitSessions) -> None:
    with submitted.open() as spark:
        rows = spark.sql(
            "SELECT java_method('java.lang.System', 'getProperty', 'sun.java.command') AS c FROM range(0, 4, 1, 4)"
        )
    assert rows
    assert all("CoarseGrainedExecutorBackend" in row["c"] for row in rows)
    assert len(cluster.state["activeapps"]) == 1


def test_rows_are_those_of_spark_connect(submitted: SubmitSessions, sessions: ConnectSessions) -> None:
    with submitted.open() as spark, sessions.open() as connect:
        rows = spark.sql(VALUES)
        assert rows == connect.sql(VALUES)
        assert spark.schema(VALUES) == connect.schema(VALUES)
    assert rows[0]["s"][0]["x"] == 1
    assert (rows[0]["d"], rows[0]["n"]) == (datetime.date(2024, 2, 3), Decimal("1.50"))


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("SELECT * FROM no_such_table", "TABLE_OR_VIEW_NOT_FOUND"),
        ("SELEC", "PARSE_SYNTAX_ERROR"),
        ("SELECT 1 / 0", "DIVIDE_BY_ZERO"),
        ("USE no_such_schema", "SCHEMA_NOT_FOUND"),
        ("SELECT raise_error('no') FROM range(3)", "USER_RAISED_EXCEPTION"),
        ("SELECT java_method('java.lang.Integer', 'parseInt', 'x') FROM range(3)", ""),
    ],
)
def test_failures_are_for_people(
    submitted: SubmitSessions, capfd: pytest.CaptureFixture[str], text: str, condition: str
) -> None:
    with submitted.open() as spark, pytest.raises(SparkFailure) as caught:
        spark.sql(text)
    failure = caught.value
    assert (failure.condition, failure.transient) == (condition, False)
    assert str(failure)
    for noise in ("\tat ", "stacktrace", "org.apache", "'Project", "UnresolvedRelation"):
        assert noise not in str(failure)
    assert capfd.readouterr() == ("", "")


def test_a_schema_is_analysed_and_not_run(submitted: SubmitSessions) -> None:
    with submitted.open() as spark:
        spark.sql("CREATE TABLE analysed (v VARCHAR(3) COMMENT 'why')")
        (field,) = spark.schema("SELECT * FROM analysed")["fields"]
        assert field["metadata"] == {"__CHAR_VARCHAR_TYPE_STRING": "varchar(3)", "comment": "why"}
        assert spark.schema("SELECT raise_error('run') AS a")["fields"][0]["name"] == "a"
        with pytest.raises(SparkFailure) as caught:
            spark.schema("SELECT * FROM no_such_schema.t")
    assert caught.value.condition == "TABLE_OR_VIEW_NOT_FOUND"


def test_a_key_is_a_session(submitted: SubmitSessions) -> None:
    key = f"run/{uuid.uuid4()}"
    first = submitted.open(key)
    first.sql("CREATE TEMPORARY VIEW mine AS SELECT 7 AS a")
    again = submitted.open(key)
    assert again.sql("SELECT a FROM mine") == [{"a": 7}]
    with submitted.open() as other, pytest.raises(SparkFailure, match="mine"):
        other.sql("SELECT a FROM mine")
    first.close()
    with pytest.raises(SparkFailure, match="closed") as caught:
        again.sql("SELECT 1")
    assert caught.value.transient
    with submitted.open(key) as fresh, pytest.raises(SparkFailure, match="mine"):
        fresh.sql("SELECT a FROM mine")
    assert not submitted.settle(key), "nobody can tell"


def test_requests_are_answered_side_by_side(submitted: SubmitSessions) -> None:
    """The slow statement has the only core, and the others, which need none, do not wait for it."""
    slow = "SELECT java_method('java.lang.Thread', 'sleep', 20000L) FROM range(1)"

    def ask(name: str) -> str:
        with submitted.open() as spark:
            return str(spark.schema(f"SELECT 1 AS {name}")["fields"][0]["name"])

    names = [f"c{number}" for number in range(8)]
    with ThreadPoolExecutor(9) as threads, submitted.open() as one:
        one.sql("SELECT 1")
        waiting = threads.submit(one.sql, slow)
        assert list(threads.map(ask, names)) == names
        assert not waiting.done()


# Its end


def test_who_wants_it_to_stop_now_stops_the_statement_and_nothing_is_uncertain(
    submitted: SubmitSessions, catalog: Path, tmp_path: Path
) -> None:
    """A second Ctrl-C. The driver lives on, and Spark has said what became of the statement."""
    shop = World(tmp_path, submitted, "stopped", "on_destructive: allow\n")
    slow = "CREATE TABLE ${shop}.slow USING parquet AS SELECT java_method('java.lang.Thread', 'sleep', 900000L) AS a FROM range(1)"
    shop.write({"shop/table/slow.sql": f"-- //// CHANGE name=init\n{slow};\n"})
    stop = Stop()
    with ThreadPoolExecutor(1) as threads:
        applying = threads.submit(shop.apply, stop=stop)
        # A task that begins when its job is stopped already leaves files, which are then somebody's to remove.
        written = lambda: list(catalog.rglob("stopped_shop.db/slow/_temporary/**/part-*"))  # noqa: E731
        wait_for(written, "it never began")
        stop.after.set()
        stop.now.set()
        report = applying.result(300).report  # the statement alone takes longer
    assert [operation.id for operation, _ in report.failed] == ["setup.shop.slow.init.1"]
    assert report.interrupted
    assert report.reachable
    text = "-- //// CHANGE name=init\nCREATE TABLE ${shop}.slow (a INT) USING parquet;\n"
    assert shop.write({"shop/table/slow.sql": text}).deploy() == ["setup.shop.slow.init.1"]
    assert shop.rows("SELECT * FROM {shop}.slow") == []


def test_a_statement_that_does_not_stop_is_ended_with_its_driver(
    spark_machine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submit, "_HEED", 0.0)
    slow = "SELECT java_method('java.lang.Thread', 'sleep', 900000L) FROM range(1)"
    with SubmitSessions("local[1]", conf=in_memory()) as local, ThreadPoolExecutor(1) as threads:
        spark = local.open("run/op")
        spark.sql("SELECT 1")
        waiting = threads.submit(spark.sql, slow)
        for _ in range(2):
            assert not local.settle("run/op")
            time.sleep(0.1)
        with pytest.raises(SparkFailure, match="its driver was ended") as caught:
            waiting.result(300)
    assert caught.value.transient, "what became of it is not known"


_CLIENT = """
import json, sys
from pathlib import Path
from airflow_provider_sparkdeploy.spark.submit import SubmitSessions
master, home, conf, text = sys.argv[1:]
spark = SubmitSessions(master, conf=json.loads(conf), spark_home=Path(home)).open("run/op")
spark.sql("SELECT 1")
print("ready", flush=True)
spark.sql(text)
"""


def test_a_killed_client_leaves_nothing_running(cluster: Standalone, tmp_path: Path) -> None:
    mark = f"spark.sparkdeploy.test={uuid.uuid4()}"
    name, _, value = mark.partition("=")
    conf = json.dumps({**settings(tmp_path), name: value, "spark.app.name": value})
    slow = "CREATE TABLE slow AS SELECT id, java_method('java.lang.Thread', 'sleep', 600000L) AS s FROM range(0, 2, 1, 2)"
    client = subprocess.Popen(
        [sys.executable, "-c", _CLIENT, cluster.master, str(cluster.home), conf, slow],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert client.stdout is not None
        assert client.stdout.readline() == "ready\n"
        wait_for(lambda: list((tmp_path / "tables").rglob("_temporary")), "the statement did not start")
        assert carrying(mark)
    finally:
        client.send_signal(signal.SIGKILL)
        client.communicate()
    wait_for(lambda: not carrying(mark), "the driver goes on without its client")
    running = lambda: [app for app in cluster.state["activeapps"] if app["name"] == "sparkdeploy"]  # noqa: E731
    wait_for(lambda: len(running()) <= 1, "the cluster still runs it")  # one is that of the other tests
    with (
        SubmitSessions("local[1]", conf=settings(tmp_path), spark_home=cluster.home) as after,
        after.open() as spark,
    ):
        assert spark.sql("SHOW TABLES") == []


def test_a_driver_that_dies_tells_where_to_look(
    spark_machine: None, cluster: Standalone, capfd: pytest.CaptureFixture[str]
) -> None:
    name, value = "spark.sparkdeploy.test", str(uuid.uuid4())
    with SubmitSessions("local[1]", conf=in_memory(**{name: value}), spark_home=cluster.home) as sessions:
        spark = sessions.open("run/op")
        spark.sql("SELECT 1")
        threading.Timer(1.0, lambda: [os.kill(pid, signal.SIGKILL) for pid in carrying(value)]).start()
        with pytest.raises(SparkFailure, match="the driver of Spark has ended") as caught:
            spark.sql("SELECT java_method('java.lang.Thread', 'sleep', 600000L) FROM range(1)")
        assert caught.value.transient
        log = Path(str(caught.value).rpartition("All of it: ")[2])
        assert log.is_file()
        with pytest.raises(SparkFailure, match="the driver of Spark has ended"):
            sessions.open().sql("SELECT 1")
    assert log.is_file(), "it is kept for whoever wants to know"
    assert capfd.readouterr() == ("", "")


def test_a_closed_driver_leaves_nothing(spark_machine: None, cluster: Standalone) -> None:
    name, value = "spark.sparkdeploy.test", str(uuid.uuid4())
    sessions = SubmitSessions("local[1]", conf=in_memory(**{name: value}), spark_home=cluster.home)
    with sessions, sessions.open() as spark:
        assert carrying(value) == (), "nothing is started before it is needed"
        spark.sql("SELECT 1")
        assert carrying(value)
        folder = sessions._driver.log.parent  # type: ignore[union-attr]
    assert carrying(value) == ()
    assert not folder.exists()
    with pytest.raises(SparkFailure, match="closed"):
        sessions.open().sql("SELECT 1")


# Spark-submit, without a Spark


def script(tmp_path: Path, text: str) -> list[str]:
    """A spark-submit that does what a text in Python says."""
    path = tmp_path / "fake.py"
    path.write_text(text, encoding="utf-8")
    return [sys.executable, str(path)]


def test_a_spark_submit_that_fails(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    failing = script(
        tmp_path,
        "import sys; print('INFO x'); print('Exception: no queue for hush\\n\\tat a.b(C.java)\\nINFO bye'); sys.exit(3)",
    )
    command = [*failing, "--conf=spark.my.password=hush"]
    with SubmitSessions(command=command) as sessions, sessions.open() as spark:
        with pytest.raises(SparkFailure, match="exit code 3") as caught:
            spark.sql("SELECT 1")
        assert caught.value.transient
        assert "Exception: no queue for ***\n" in str(caught.value)
        assert "INFO" not in str(caught.value)
        Path(failing[1]).unlink()
        with pytest.raises(SparkFailure, match="exit code 3"):
            spark.sql("SELECT 1")  # it is not started over and over
    assert capfd.readouterr() == ("", "")


def test_a_program_that_cannot_be_run(tmp_path: Path) -> None:
    with (
        SubmitSessions(command=[str(tmp_path / "none")]) as sessions,
        pytest.raises(SparkFailure, match="cannot be run"),
    ):
        sessions.open().sql("SELECT 1")


_ECHO = """
import json, os, sys
sys.path.insert(0, os.path.dirname(sys.argv[-1]))
import driver
caller = driver._caller()
strangers = [driver.socket.create_connection((caller["host"], caller["port"])) for _ in range(2)]
strangers[0].sendall(b"GET / HTTP/1.1\\r\\n\\r\\n")
strangers[1].close()
channel = driver.Channel(driver.socket.create_connection((caller["host"], caller["port"])))
driver.shake_hands(channel, caller["secret"], "driver", "caller")
settings = channel.receive()["settings"]
request = channel.receive()
line = open("/proc/self/cmdline").read().split("\\0")
channel.send({"id": request["id"], "rows": [["row", [["told", json.dumps(settings)], ["line", " ".join(line)]]]]})
channel.receive()
"""


def test_strangers_are_left_and_secrets_are_not_on_the_command_line(tmp_path: Path) -> None:
    conf = {"spark.sql.catalog.c.password": "hush", "spark.sql.catalog.c.url": "there"}
    with SubmitSessions(command=script(tmp_path, _ECHO), conf=conf) as sessions:
        (row,) = sessions.open().sql("anything")
    assert row["told"] == '{"spark.sql.catalog.c.password": "hush"}'
    assert "spark.sql.catalog.c.url=there" in row["line"]
    assert "hush" not in row["line"]
    assert "hush" not in f"{sessions!r}"
    assert (
        repr(SubmitSessions("k8s://https://me:hush@host", command=["x"]))
        == "SubmitSessions('k8s://https://host')"
    )


def test_a_secret_that_spark_tells_is_not_passed_on(tmp_path: Path) -> None:
    telling = _ECHO.replace(
        '"rows":', '"failure": {"condition": "X", "message": "no hush", "transient": False}, "rows":'
    )
    with (
        SubmitSessions(command=script(tmp_path, telling), conf={"spark.hadoop.token": "hush"}) as sessions,
        pytest.raises(SparkFailure) as caught,
    ):
        sessions.open().sql("anything")
    assert str(caught.value) == "no ***"


def test_a_driver_in_the_cluster_gets_the_secret_as_a_file(tmp_path: Path) -> None:
    """What YARN and Kubernetes do with --files: the file is where the driver starts."""
    modes = tmp_path / "modes"
    wrapped = f"""
import os, shutil, sys
files = sys.argv[sys.argv.index("--files") + 1]
open({str(modes)!r}, "w").write(oct(os.stat(files).st_mode))
os.mkdir({str(tmp_path / "there")!r})
shutil.copy(files, {str(tmp_path / "there")!r})
os.chdir({str(tmp_path / "there")!r})
assert "SPARKDEPLOY_CALLER" not in os.environ
{_ECHO}"""
    with SubmitSessions(command=script(tmp_path, wrapped), deploy_mode="cluster") as sessions:
        assert sessions.open().sql("anything")
        folder = sessions._driver.log.parent  # type: ignore[union-attr]
        assert [path.name for path in folder.iterdir()] == ["spark-submit.log"], "the secret is used up"
    assert stat.S_IMODE(int(modes.read_text(), 8)) == 0o600


def test_a_driver_whose_caller_is_gone_ends_at_once(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        caller = json.dumps({"host": "127.0.0.1", "port": taken.getsockname()[1], "secret": "hush"})
        done = subprocess.run(
            [sys.executable, driver.__file__],
            env={**os.environ, driver.CALLER: caller},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "the caller cannot be reached" in done.stderr
    assert "hush" not in done.stderr
    assert "Traceback" not in done.stderr


def test_no_spark_submit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(SparkDeployError, match="SD708"):
        SubmitSessions("yarn", spark_home=tmp_path)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(SparkDeployError, match="SD708"):
        SubmitSessions("yarn")


# The wire


def _shake(first: str, second: str) -> list[BaseException | None]:
    """What comes of two ends with these secrets shaking hands."""
    ends = [driver.Channel(end) for end in socket.socketpair()]

    def shake(channel: driver.Channel, secret: str, me: str, peer: str) -> BaseException | None:
        try:
            driver.shake_hands(channel, secret, me, peer)
        except EOFError as error:
            return error
        finally:
            if first != second:
                channel.close()
        return None

    with ThreadPoolExecutor(2) as threads:
        one = threads.submit(shake, ends[0], first, "caller", "driver")
        two = threads.submit(shake, ends[1], second, "driver", "caller")
        found = [one.result(), two.result()]
    for channel in ends:
        channel.close()
    return found


def test_both_ends_know_the_secret() -> None:
    assert _shake("s", "s") == [None, None]
    assert all(isinstance(error, (EOFError, OSError)) for error in _shake("s", "t"))


def test_an_echo_is_no_peer() -> None:
    near, far = socket.socketpair()

    def echo() -> None:
        while data := far.recv(4096):
            far.sendall(data)

    thread = threading.Thread(target=echo, daemon=True)
    thread.start()
    channel = driver.Channel(near)
    with pytest.raises(EOFError, match="echo"):
        driver.shake_hands(channel, "s", "caller", "driver")
    channel.close()
    thread.join()
    far.close()


def test_the_driver_needs_nothing_but_an_old_python_and_pyspark() -> None:
    tree = ast.parse(Path(driver.__file__).read_text("utf-8"), feature_version=(3, 8))
    named: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            named.add(str(node.module).partition(".")[0])
    assert named - set(sys.stdlib_module_names) == {"pyspark"}


def test_importing_does_not_import_pyspark() -> None:
    code = f"import sys, {submit.__name__}; assert 'pyspark' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# The command line


def sparkdeploy(repository: Path, cluster: Standalone, *arguments: str) -> subprocess.CompletedProcess[str]:
    conf = settings(repository / ".catalog")
    options = [f"--submit-conf={key}={value}" for key, value in conf.items()]
    return subprocess.run(
        [sys.executable, "-m", "airflow_provider_sparkdeploy.cli", *arguments, "-r", str(repository),
         "--spark", cluster.master, *options],
        env={**os.environ, "SPARK_HOME": str(cluster.home)},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def test_apply_on_a_cluster_and_again(cluster: Standalone, tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "sales/table/orders.sql": "CREATE TABLE sales.orders (id INT COMMENT 'its number', day DATE, paid DECIMAL(8,2)) USING parquet;",
            "sales/view/daily.sql": "CREATE VIEW sales.daily AS SELECT day, sum(paid) AS paid FROM sales.orders GROUP BY day;",
            "sales/materialized_view/totals.sql": "CREATE MATERIALIZED VIEW sales.totals AS SELECT count(*) AS n FROM sales.daily;",
        },
    )
    first = sparkdeploy(tmp_path, cluster, "apply", "--yes")
    assert first.returncode == 0, first.stdout + first.stderr
    assert "Done: 3 operations" in first.stdout
    assert "WARN" not in first.stdout + first.stderr
    again = sparkdeploy(tmp_path, cluster, "apply", "--yes")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "Nothing to do" in again.stdout


def test_an_address_that_is_none(tmp_path: Path, cluster: Standalone) -> None:
    said: Any = subprocess.run(
        [
            sys.executable,
            "-m",
            "airflow_provider_sparkdeploy.cli",
            "status",
            "-r",
            str(tmp_path),
            "--spark",
            "http://x",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 1
    assert "SD706" in said.stderr

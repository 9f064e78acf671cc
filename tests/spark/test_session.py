"""Sessions over Spark Connect: rows, failures, keys, and what a killed client leaves behind."""

from __future__ import annotations

import contextlib
import datetime
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest

from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError
from airflow_provider_sparkdeploy.spark import client as wire
from airflow_provider_sparkdeploy.spark.failure import plain
from airflow_provider_sparkdeploy.spark.session import ConnectSessions, Spark, SparkFailure

_CLIENT = """
import sys
from airflow_provider_sparkdeploy.spark.session import ConnectSessions
spark = ConnectSessions(sys.argv[1]).open(sys.argv[2])
spark.sql("SELECT 1")
print("ready", flush=True)
spark.sql(sys.argv[3])
"""


def _tables(spark: Spark, schema: str) -> list[str]:
    return [row["tableName"] for row in spark.sql(f"SHOW TABLES IN {schema}")]


def test_rows_of_queries_and_of_commands(sessions: ConnectSessions, schema: str) -> None:
    with sessions.open() as spark:
        assert spark.sql(f"CREATE TABLE {schema}.t (a INT, b STRING)") == []
        assert spark.sql(f"INSERT INTO {schema}.t VALUES (1, 'x')") == []
        assert spark.sql(f"SELECT * FROM {schema}.t") == [{"a": 1, "b": "x"}]
        assert spark.sql(f"SELECT * FROM {schema}.t WHERE a > 1") == []
        assert _tables(spark, schema) == ["t"]


def test_rows_are_plain_values(sessions: ConnectSessions) -> None:
    with sessions.open() as spark:
        (row,) = spark.sql(
            "SELECT DATE'2024-02-03' d, 1.50BD n, array(named_struct('x', 1)) s, map('k', 2) m, X'00ff' b, NULL z"
        )
    assert row == {
        "d": datetime.date(2024, 2, 3),
        "n": Decimal("1.50"),
        "s": [{"x": 1}],
        "m": {"k": 2},
        "b": b"\x00\xff",
        "z": None,
    }


def test_a_schema_is_analysed_and_not_run(sessions: ConnectSessions) -> None:
    with sessions.open() as spark:
        found = spark.schema("SELECT raise_error('run') AS a, 1 AS b")
        assert found["type"] == "struct"
        assert [(field["name"], field["type"]) for field in found["fields"]] == [
            ("a", "void"),
            ("b", "integer"),
        ]
        with pytest.raises(SparkFailure) as caught:
            spark.schema("SELECT * FROM no_such_schema.t")
    assert caught.value.condition == "TABLE_OR_VIEW_NOT_FOUND"


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("SELECT * FROM no_such_table", "TABLE_OR_VIEW_NOT_FOUND"),
        ("SELEC", "PARSE_SYNTAX_ERROR"),
        ("SELECT 1 / 0", "DIVIDE_BY_ZERO"),
        ("SELECT raise_error('no') FROM range(3)", "USER_RAISED_EXCEPTION"),
        ("SELECT java_method('java.lang.Integer', 'parseInt', 'x') FROM range(3)", ""),
    ],
)
def test_failures_are_for_people(
    sessions: ConnectSessions, capfd: pytest.CaptureFixture[str], text: str, condition: str
) -> None:
    with sessions.open() as spark, pytest.raises(SparkFailure) as caught:
        spark.sql(text)
    failure = caught.value
    assert (failure.condition, failure.transient) == (condition, False)
    assert str(failure)
    for noise in ("\tat ", "stacktrace", "org.apache", "'Project", "UnresolvedRelation"):
        assert noise not in str(failure)
    assert capfd.readouterr() == ("", "")


def test_a_stack_trace_never_gets_through() -> None:
    said = "(java.lang.RuntimeException) no\n\tat a.b.C$.d(E.scala:1)\nCaused by: x\n\nJVM stacktrace:\njava"
    assert plain(said) == "no"
    assert plain("[X] gone; line 3 pos 7;\n'Project [*]\n+- 'Unresolved") == "[X] gone; line 3 pos 7"
    assert plain("look at\nat home") == "look at\nat home"


def test_a_key_is_a_session(sessions: ConnectSessions) -> None:
    key = f"run/{uuid.uuid4()},with a comma"
    first = sessions.open(key)
    first.sql("CREATE TEMPORARY VIEW mine AS SELECT 7 AS a")
    again = sessions.open(key)
    assert again.sql("SELECT a FROM mine") == [{"a": 7}]
    with sessions.open() as other, pytest.raises(SparkFailure, match="mine"):
        other.sql("SELECT a FROM mine")
    first.close()
    with sessions.open(key) as fresh, pytest.raises(SparkFailure, match="mine"):
        fresh.sql("SELECT a FROM mine")  # closed is closed, and the key is free again


def test_a_key_outlives_a_session_that_the_server_closed(sessions: ConnectSessions) -> None:
    key = f"run/{uuid.uuid4()}"
    client = sessions._client(key)
    client.release_session()  # for good, as the server does with one that is idle for long
    client.close()
    assert sessions.settle(key)
    with sessions.open(key) as spark:
        assert spark.sql("SELECT 1 AS a") == [{"a": 1}]


def test_a_session_that_ended_elsewhere_is_worth_another_try(sessions: ConnectSessions) -> None:
    key = f"run/{uuid.uuid4()}"
    spark = sessions.open(key)
    sessions.open(key).close()
    with pytest.raises(SparkFailure, match="no longer knows this session") as caught:
        spark.sql("SELECT 1")
    assert caught.value.transient
    spark.close()


def test_threads_share_the_sessions(sessions: ConnectSessions) -> None:
    def ask(number: int) -> int:
        with sessions.open() as spark:
            return int(spark.sql(f"SELECT {number} AS n")[0]["n"])

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, range(8))) == list(range(8))


def _killed_client(
    sessions: ConnectSessions, key: str, text: str, when: Callable[[], bool] | None = None
) -> None:
    """A client that dies without a word while the server runs its statement (once it is so far)."""
    client = subprocess.Popen(
        [sys.executable, "-c", _CLIENT, sessions.address, key, text], stdout=subprocess.PIPE, text=True
    )
    try:
        assert client.stdout is not None
        assert client.stdout.readline() == "ready\n"
        _wait_for(when or (lambda: "RUNNING" in _states(sessions, key)))
    finally:
        client.send_signal(signal.SIGKILL)
        client.communicate()


def _states(sessions: ConnectSessions, key: str) -> set[str]:
    client = sessions._client(key)
    try:
        return wire.states(client)
    finally:
        client.close()


def _wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.1)


def test_what_a_killed_client_left_running_is_stopped(
    sessions: ConnectSessions, schema: str, shared_warehouse: Path
) -> None:
    """Once its tasks are at work. An interrupt that comes before may be lost, and then it is waited for."""
    key = f"run/{uuid.uuid4()}"
    slow = "SELECT id, java_method('java.lang.Thread', 'sleep', 12000L) AS s FROM range(0, 2, 1, 2)"
    at_work = lambda: any(shared_warehouse.rglob(f"{schema}.db/slow/_temporary/**/part-*"))  # noqa: E731
    _killed_client(sessions, key, f"CREATE TABLE {schema}.slow AS {slow}", at_work)
    assert "RUNNING" in _states(sessions, key), "it goes on without its client"
    assert sessions.settle(key)
    assert _states(sessions, key) <= wire.ENDED
    with sessions.open(key) as spark:
        assert _tables(spark, schema) == []
        spark.sql("SELECT java_method('java.lang.Thread', 'sleep', 13000L) FROM range(1)")
        assert _tables(spark, schema) == [], "it does not appear when its time would have come"


def test_what_cannot_be_stopped_is_waited_for(sessions: ConnectSessions, schema: str) -> None:
    """An interrupt does not reach the driver while it evaluates; settled means ended all the same."""
    key = f"run/{uuid.uuid4()}"
    hard = "SELECT aggregate(sequence(1, 3000000 + a), 0L, (s, x) -> s + length(sha2(string(x), 512))) AS n"
    _killed_client(sessions, key, f"CREATE TABLE {schema}.hard AS {hard} FROM VALUES (1) AS v(a)")
    assert sessions.settle(key)
    assert _states(sessions, key) <= wire.ENDED
    with sessions.open() as spark:
        at_once = _tables(spark, schema)
        spark.sql("SELECT java_method('java.lang.Thread', 'sleep', 3000L) FROM range(1)")
        assert _tables(spark, schema) == at_once, "whatever the outcome was, it no longer changes"


def test_nothing_to_settle(sessions: ConnectSessions) -> None:
    assert sessions.settle(f"run/{uuid.uuid4()}")


def test_interrupted_statements_leave_the_catalog_to_others(sessions: ConnectSessions, schema: str) -> None:
    """The pool of connections that Hive takes by default lost one with every other interruption, and
    then every statement of everybody waited for ever."""

    def create(key: str, number: int) -> None:
        with contextlib.suppress(SparkFailure), sessions.open(key) as spark:
            for table in range(50):
                spark.sql(f"CREATE TABLE IF NOT EXISTS {schema}.t_{number}_{table} (a INT) USING parquet")

    for attempt in range(4):
        keys = [f"run/{uuid.uuid4()}" for _ in range(2)]
        with ThreadPoolExecutor(2) as clients:
            for number, key in enumerate(keys):
                clients.submit(create, key, number)
            time.sleep(0.1 + 0.1 * attempt)
            assert all(sessions.settle(key) for key in keys)
        with sessions.open() as spark:
            spark.sql(f"SHOW TABLES IN {schema}")


@pytest.fixture
def nobody() -> str:
    """An address at which nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"sc://127.0.0.1:{taken.getsockname()[1]}"


def test_an_unreachable_server(nobody: str, capfd: pytest.CaptureFixture[str]) -> None:
    away = ConnectSessions(nobody)
    assert not away.settle("run/op")
    with pytest.raises(SparkFailure, match=f"cannot reach Spark at {nobody}: ") as caught:
        away.setting("spark.app.name")
    assert caught.value.transient
    assert "_InactiveRpcError" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_a_server_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "ANSWER", 1.0)
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        with pytest.raises(SparkFailure) as caught:
            ConnectSessions(f"sc://127.0.0.1:{deaf.getsockname()[1]}").setting("spark.app.name")
    assert caught.value.transient


@pytest.mark.parametrize(
    "url",
    [
        "sc://",
        "http://host:1",
        "host:15002",
        "sc://host:port",
        "sc://host/path;token=hush",
        "sc://host;token=hush",
        "sc://host/;token=hush=hush",
        "sc://host/;token",
        "sc://host/;token=hush#hush",
        "sc://host/;token=hush?x=hush",
    ],
)
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(SparkDeployError, match="SD705") as caught:
        ConnectSessions(url)
    assert "hush" not in str(caught.value)


def test_a_token_is_never_shown(nobody: str) -> None:
    sessions = ConnectSessions(f"{nobody}/;token=hush;use_ssl=true")
    with pytest.raises(SparkFailure) as caught:
        sessions.setting("spark.app.name")
    assert "hush" not in f"{caught.value!r} {sessions!r} {sessions.address}"
    assert ConnectSessions("sc://user:hush@host").address == "sc://host:15002"
    assert ConnectSessions("sc://[::1]:7/").address == "sc://[::1]:7"


def test_pyspark_is_imported_by_use_alone() -> None:
    modules = ["session", "local", "embedded", "java", "processes", "failure", "client"]
    names = ", ".join(f"airflow_provider_sparkdeploy.spark.{name}" for name in modules)
    code = f"import sys, {names}; assert not {{'pyspark', 'pandas', 'grpc'}} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_client_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pyspark.py").write_text("raise ImportError('none')")
    code = (
        "from airflow_provider_sparkdeploy.spark.session import ConnectSessions as C; C('sc://host').open()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{Path(__file__).parents[2]}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "SD703" in done.stderr
    assert "pip install 'airflow-provider-sparkdeploy[embedded]'" in done.stderr


def test_importing_from_many_threads() -> None:
    code = """
import threading
from airflow_provider_sparkdeploy.spark import client
threads = [threading.Thread(target=client.pyspark) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_session_can_move_between_threads(sessions: ConnectSessions) -> None:
    rows: list[object] = []
    with sessions.open(f"run/{uuid.uuid4()}") as spark:
        thread = threading.Thread(target=lambda: rows.extend(spark.sql("SELECT 1 AS a")))
        thread.start()
        thread.join()
    assert rows == [{"a": 1}]

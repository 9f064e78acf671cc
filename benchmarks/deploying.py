"""How long a deployment takes: 5 tables and 100 views, four levels deep, on one Spark Connect server.

    python benchmarks/deploying.py [--views 100] [--no-peers]

By Airflow (a real scheduler, DAG processor, triggerer and workers on PostgreSQL), with the operations on
workers and, as an experiment, in the triggerer; by the command line; by dbt (the views only: it has no tables
without a query); and by a loop that sends the same statements one after the other. All on one server, one after the other, each in schemas of its own. *Spark* is the time in
which that server ran at least one statement, by its own event log; the rest is everybody else's.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from measure import run
from peers import Peer, _environment, _version
from table import Line, as_markdown, as_text

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "dags_examples"), str(HERE.parent / "tests" / "spark")]
from local_airflow import LocalAirflow, free_port  # noqa: E402
from services import postgres  # noqa: E402

from airflow_provider_sparkdeploy.spark.local import start, stop  # noqa: E402
from airflow_provider_sparkdeploy.spark.session import ConnectSessions  # noqa: E402

TABLES, DEPTH, PARALLEL = 5, 4, 4
_DBT = Peer(
    "dbt run", "dbt-spark",
    ("--only-binary", "dbt-core-experimental-parser", "dbt-core>=1.10,<2", "dbt-spark", "pyspark[connect]>=4.2,<4.3"),
    "dbt_spark", "dbt", ("dbt", "run", "--profiles-dir", "."),
)  # fmt: skip
_BEGUN = "SparkListenerConnectOperationStarted"
_ENDED = ("SparkListenerConnectOperationFinished", "SparkListenerConnectOperationFailed", "SparkListenerConnectOperationCanceled")  # fmt: skip


@dataclass(frozen=True, slots=True)
class View:
    """A view over one of the level below, and over a table."""

    name: str
    below: str
    table: str

    def query(self, named: Callable[[str], str]) -> str:
        return (
            f"SELECT b.id, b.amount + t.amount AS amount, upper(t.region) AS region\n"
            f"FROM {named(self.below)} AS b JOIN {named(self.table)} AS t ON b.id = t.id\n"
            f"WHERE t.amount > {len(self.name)}"
        )


@dataclass(frozen=True, slots=True)
class Window:
    """What was done between two moments (seconds since the epoch)."""

    what: str
    begun: float
    ended: float
    note: str = ""


def tables() -> list[str]:
    return [f"t{number}" for number in range(TABLES)]


def views(count: int) -> list[View]:
    """Level by level; each reads one of the level below."""
    found: list[View] = []
    below = tables()
    for level in range(DEPTH):
        width = count // DEPTH + (level < count % DEPTH)
        names = [f"v{level}_{number:04d}" for number in range(width)]
        found += [View(name, below[at % len(below)], tables()[at % TABLES]) for at, name in enumerate(names)]
        below = names
    return found


def table_sql(name: str) -> str:
    return f"CREATE TABLE {name} (id BIGINT, amount INT, region STRING) USING parquet"


def write_repository(folder: Path, count: int, schema: str) -> None:
    token = "${{bench}}.{}".format
    settings = {
        "schemas": {"bench": schema}, "log_schema": f"{schema}_log", "data_schema": f"{schema}_data",
        "propagation": {"schema": False},
    }  # fmt: skip
    _put(folder / "sparkdeploy.yaml", json.dumps(settings))
    for name in tables():
        _put(folder / "bench" / "table" / f"{name}.sql", f"{table_sql(token(name))};\n")
    for view in views(count):
        text = f"CREATE VIEW {token(view.name)} AS\n{view.query(token)};\n"
        _put(folder / "bench" / "view" / f"{view.name}.sql", text)


def write_dbt(folder: Path, count: int, schema: str, source: str) -> None:
    """The same views as models; the tables are there already, in ``source``."""
    project = {"name": "bench", "profile": "bench", "models": {"bench": {"+materialized": "view"}}}
    output = {"type": "spark", "method": "session", "schema": schema, "host": "none", "threads": PARALLEL}
    _put(folder / "dbt_project.yml", json.dumps(project))
    _put(folder / "profiles.yml", json.dumps({"bench": {"target": "dev", "outputs": {"dev": output}}}))
    known = set(tables())
    for view in views(count):
        text = view.query(lambda name: f"{source}.{name}" if name in known else f"{{{{ ref('{name}') }}}}")
        _put(folder / "models" / f"{view.name}.sql", text)


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def by_loop(sessions: ConnectSessions, count: int) -> Window:
    """One session, one statement after the other."""
    named = "raw.{}".format
    with sessions.open() as spark:
        spark.sql("CREATE SCHEMA raw")
        begun = time.time()
        for name in tables():
            spark.sql(table_sql(named(name)))
        for view in views(count):
            spark.sql(f"CREATE VIEW {named(view.name)} AS {view.query(named)}")
        return Window("spark.sql, one after the other", begun, time.time())


def by_command(folder: Path, address: str, count: int) -> Window:
    write_repository(folder, count, "cli")
    words = [
        "apply",
        "--repository",
        folder,
        "--spark",
        address,
        "--log",
        folder.parent / "cli.jsonl",
        "--yes",
    ]
    begun = time.time()
    done = run([sys.executable, "-m", "airflow_provider_sparkdeploy.cli", *words])
    if done.code != 0:
        sys.exit(f"sparkdeploy apply failed: {done.reason}")
    return Window("sparkdeploy apply", begun, time.time())


def by_dbt(folder: Path, address: str, count: int) -> Window | str:
    """What went wrong, where it cannot be measured."""
    home, problem = _environment(_DBT)
    if problem:
        return f"not installed: {problem}"
    write_dbt(folder, count, "by_dbt", "raw")
    program, *words = _DBT.command
    begun = time.time()
    done = run([home / "bin" / program, *words], cwd=folder, env={"SPARK_REMOTE": address})
    if done.code != 0:
        return f"failed: {' '.join(done.output.splitlines()[-3:])}"
    return Window(
        "dbt run, the views only", begun, time.time(), f"{_version(home, 'dbt_spark')}, {PARALLEL} threads"
    )


@contextlib.contextmanager
def airflow(home: Path, address: str) -> Iterator[LocalAirflow]:
    """On a PostgreSQL of its own."""
    with postgres() as server:
        database = f"postgresql+psycopg2://tester@127.0.0.1:{server.port}/postgres"
        there = {
            "AIRFLOW_CONN_SPARK_CONNECT_DEFAULT": address.replace("sc://", "spark-connect://"),
            "PYTHONPATH": str(HERE),  # the triggerer imports triggered.py
        }
        with LocalAirflow(home, free_port(), database, there) as running:
            yield running


_TRIGGERED = """from airflow_provider_sparkdeploy.airflow import tasks
from triggered import TriggeredOperator

tasks.SparkDeployOperator = TriggeredOperator
"""


def by_airflow(running: LocalAirflow, repository: Path, count: int, *, triggered: bool = False) -> Window:
    """A first deployment, by workers or in the triggerer."""
    name = "triggered" if triggered else "bench"
    write_repository(repository, count, f"by_{name}")
    place = f"repository={str(repository)!r}, conn_id='spark_connect_default'"
    text = f"from airflow_provider_sparkdeploy import SparkDeployDag\n\nSparkDeployDag({name!r}, {place})\n"
    _put(running.dags / f"{name}.py", _TRIGGERED + text if triggered else text)
    running.parsed(name, lambda found: len(found) >= count + TABLES)
    made = running.trigger(name)
    if running.ended(name, made, patience=3600) != "success":
        sys.exit(f"the deployment failed: {running.states(name, made)}")
    told = running.api("GET", f"dags/{name}/dagRuns/{made}")
    begun, ended = (datetime.fromisoformat(told[key]).timestamp() for key in ("queued_at", "end_date"))
    where = "in the triggerer" if triggered else "on workers"
    return Window(f"SparkDeployDag, {where}", begun, ended, f"{count + TABLES} tasks, {PARALLEL} at a time")


def statements(log: Path) -> list[tuple[float, float]]:
    """When the server ran what, by its event log."""
    begun: dict[str, float] = {}
    found = []
    for path in sorted(item for item in log.rglob("*") if item.is_file()):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if "ConnectOperation" not in line:
                continue
            event = json.loads(line)
            kind, operation = event["Event"].rpartition(".")[2], event["operationId"]
            if kind == _BEGUN:
                begun[operation] = event["eventTime"] / 1000
            elif kind in _ENDED and operation in begun:
                found.append((begun.pop(operation), event["eventTime"] / 1000))
    return sorted(found)


def busy(intervals: list[tuple[float, float]], window: Window) -> float:
    """The seconds of a window in which at least one statement ran."""
    total, until = 0.0, window.begun
    for begun, ended in intervals:
        begun, ended = max(begun, until), min(ended, window.ended)
        if ended > begun:
            total += ended - begun
            until = ended
    return total


def _say(window: Window) -> Window:
    print(f"{window.what}: {window.ended - window.begun:.1f} s {window.note}", file=sys.stderr, flush=True)
    return window


def line_of(window: Window, ran: list[tuple[float, float]], count: int) -> Line:
    seconds = window.ended - window.begun
    spark = busy(ran, window)
    split = f"Spark {spark:.1f} s, the rest {seconds - spark:.1f} s"
    return Line(
        count + TABLES, window.what, seconds, note=f"{split}; {window.note}" if window.note else split
    )


def measure(folder: Path, count: int, *, peers: bool) -> list[Line]:
    warehouse, log = folder / "warehouse", folder / "events"
    log.mkdir()
    extra = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": log.as_uri(),
        "spark.eventLog.compress": "false",
    }
    server = start(warehouse, extra=extra)
    failed: list[Line] = []
    try:
        address = server.sessions.address
        windows = [_say(by_loop(server.sessions, count)), _say(by_command(folder / "cli", address, count))]
        if peers:
            told = by_dbt(folder / "dbt", address, count)
            if isinstance(told, str):
                failed.append(Line(count, "dbt run, the views only", note=told))
            else:
                windows.append(_say(told))
        with airflow(folder / "airflow", address) as running:
            windows.append(_say(by_airflow(running, folder / "by_airflow", count)))
            windows.append(_say(by_airflow(running, folder / "triggered", count, triggered=True)))
    finally:
        stop(warehouse)
    ran = statements(log)
    return [*(line_of(window, ran, count) for window in windows), *failed]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--views", type=int, default=100)
    parser.add_argument("--no-peers", action="store_true", help="leave out dbt")
    parser.add_argument("--markdown", action="store_true", help="print the table for docs/performance.md")
    asked = parser.parse_args()
    os.environ.setdefault("DBT_SEND_ANONYMOUS_USAGE_STATS", "false")
    with tempfile.TemporaryDirectory() as folder:
        lines = measure(Path(folder), asked.views, peers=not asked.no_peers)
    print((as_markdown if asked.markdown else as_text)(lines))


if __name__ == "__main__":
    main()

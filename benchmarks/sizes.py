"""What a large graph costs Airflow: 1,000 operations in a run, and 3,000 of which most are skipped.

    python benchmarks/sizes.py run 1000
    python benchmarks/sizes.py skip 3000 [--changed 50]

On a real scheduler with PostgreSQL and LocalExecutor, as ``deploying.py``. *run*: a first deployment, one
task after the other. *skip*: everything is deployed by the command line, a few views are changed, and a DAG
that shows all objects (``render="all"``) deploys the change. Takes up to an hour; not part of ``make bench``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg2
from deploying import TABLES, LocalAirflow, _put, airflow, views, write_repository
from measure import _rss_kb, _tree, run

from airflow_provider_sparkdeploy.spark.local import start, stop

_SIZES = """
select 'entry of the log', max(length(value::text)), count(*) from xcom where key like 'log.%'
union all select 'part of the frozen plan', max(length(value::text)), count(*) from xcom where key like 'frozen%'
union all select split_part(key, '.', 2), max(length(val)), count(*) from variable group by 1
union all select 'serialised DAG', max(length(data::text)), count(*) from serialized_dag
"""


class Memory(threading.Thread):
    """The most memory that each part of an Airflow has had, in MB, its children included."""

    def __init__(self, running: LocalAirflow) -> None:
        super().__init__(daemon=True)
        self._running = running
        self.peaks: dict[str, float] = {}

    def run(self) -> None:
        while True:
            for name, process in self._running.processes.items():
                used = sum(map(_rss_kb, _tree({process.popen.pid}))) / 1024
                self.peaks[name] = max(self.peaks.get(name, 0.0), used)
            time.sleep(1)


def deploy(running: LocalAirflow, repository: Path, name: str, tasks: int, **arguments: str) -> Iterator[str]:
    """A run of a DAG over a repository, and what there is to tell of it."""
    given = {"repository": str(repository), "conn_id": "spark_connect_default", **arguments}
    listed = ", ".join(f"{key}={value!r}" for key, value in given.items())
    begun = time.monotonic()
    _put(
        running.dags / f"{name}.py",
        f"from airflow_provider_sparkdeploy import SparkDeployDag\n\nSparkDeployDag({name!r}, {listed})\n",
    )
    running.parsed(name, lambda found: len(found) >= tasks)
    yield f"in Airflow {time.monotonic() - begun:.1f} s after its file was written"
    made = running.trigger(name)
    state = running.ended(name, made, patience=7200)
    told = running.api("GET", f"dags/{name}/dagRuns/{made}")
    yield f"the run: {state}, {_seconds(told['queued_at'], told['end_date']):.1f} s"
    instances = list(_instances(running, name, made))
    for task in ("plan", "record"):
        (found,) = [item for item in instances if item["task_id"] == task]
        yield f"{task}: {_seconds(found['start_date'], found['end_date']):.1f} s"
    counts: dict[str, int] = {}
    for item in instances:
        counts[item["state"]] = counts.get(item["state"], 0) + 1
    yield f"tasks: {counts}"
    ran = sorted(
        item["duration"] for item in instances if item["state"] == "success" and "." in item["task_id"]
    )
    if ran:
        yield f"a task: median {ran[len(ran) // 2]:.2f} s, longest {ran[-1]:.2f} s"
    waits = sorted(
        _seconds(item["queued_when"], item["start_date"]) for item in instances if item["queued_when"] and item["start_date"]
    )  # fmt: skip
    if waits:
        yield f"from queued to started: median {waits[len(waits) // 2]:.2f} s, longest {waits[-1]:.2f} s"


def _instances(running: LocalAirflow, dag_id: str, made: str) -> Iterator[dict[str, Any]]:
    seen = 0
    while True:
        page = running.api(
            "GET", f"dags/{dag_id}/dagRuns/{made}/taskInstances?limit=100&order_by=id&offset={seen}"
        )
        yield from page["task_instances"]
        seen += len(page["task_instances"])
        if seen >= page["total_entries"]:
            return


def _seconds(begun: str, ended: str) -> float:
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(begun)).total_seconds()


def sizes(running: LocalAirflow) -> Iterator[str]:
    with psycopg2.connect(running.database.replace("+psycopg2", "")) as base, base.cursor() as cursor:
        cursor.execute(_SIZES)
        for what, longest, count in cursor.fetchall():
            yield f"{what}: at most {longest or 0:,} characters, {count} of them"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("how", choices=("run", "skip"))
    parser.add_argument("operations", type=int)
    parser.add_argument("--changed", type=int, default=50)
    asked = parser.parse_args()
    count = asked.operations - TABLES
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        repository = folder / "repository"
        write_repository(repository, count, "sizes")
        address = start(folder / "warehouse").sessions.address
        try:
            arguments = {}
            if asked.how == "skip":
                words = [
                    "apply",
                    "--repository",
                    repository,
                    "--spark",
                    address,
                    "--log",
                    folder / "log.jsonl",
                    "--yes",
                ]
                done = run([sys.executable, "-m", "airflow_provider_sparkdeploy.cli", *words], limit=3600)
                print(f"sparkdeploy apply: {done.seconds:.1f} s", flush=True)
                if done.code != 0:
                    sys.exit(f"sparkdeploy apply failed: {done.reason}")
                for view in views(count)[-asked.changed :]:
                    path = repository / "bench" / "view" / f"{view.name}.sql"
                    path.write_text(path.read_text("utf-8").replace("WHERE", "WHERE b.id > 0 AND"), "utf-8")
                arguments = {"render": "all"}
            with airflow(folder / "airflow", address) as running:
                memory = Memory(running)
                memory.start()
                for line in deploy(running, repository, "sizes", asked.operations, **arguments):
                    print(line, flush=True)
                for line in sizes(running):
                    print(line, flush=True)
                for name, peak in memory.peaks.items():
                    print(f"{name}: at most {peak:,.0f} MB", flush=True)
        finally:
            stop(folder / "warehouse")


if __name__ == "__main__":
    main()

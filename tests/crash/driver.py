"""Deployments in processes that are killed. Started once; every request is a process of its own.

A request is a line of JSON on standard input, the answer one on standard output. The process
that reads them has imported everything and opened nothing, so that to fork it is safe and costs
less than to start Python and the client of Spark again for every crash.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "spark"))

from services import Configured
from world import World

from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError
from airflow_provider_sparkdeploy.spark import client
from airflow_provider_sparkdeploy.spark.session import ConnectSessions, Row, Sessions, Spark, SparkFailure

_EFFECTIVE = re.compile(r"\s*(CREATE|INSERT|ALTER|DROP|COMMENT)\b", re.IGNORECASE)
_ON_ITS_WAY = 0.02  # seconds in which a statement reaches the server


class Death:
    """Where to die: at a boundary, when a statement was sent, or when it has returned."""

    def __init__(self, request: dict[str, Any], note: Path) -> None:
        self.boundary: str = request["boundary"]
        self.pattern = re.compile(request.get("pattern", ""), re.IGNORECASE | re.DOTALL)
        self.nth: int = request.get("nth", 1)
        self.spared = set(request.get("spared", ()))
        self.pause: float = request.get("pause", _ON_ITS_WAY)
        self.awaited: tuple[str, str] | None = request.get("awaited")  # a folder, and what is to be in it
        self.signal = signal.Signals(request.get("signal", signal.SIGKILL))
        self.note = note
        self.counts: dict[str, int] = {}

    def now(self, operation: str) -> None:
        self.note.write_text(operation)
        os.kill(os.getpid(), self.signal)

    def at(self, boundary: str, operation: str) -> None:
        if boundary == self.boundary and operation not in self.spared:
            self.now(operation)

    def counts_now(self, operation: str, text: str) -> bool:
        if operation in self.spared or not _EFFECTIVE.match(text) or not self.pattern.search(text):
            return False
        self.counts[operation] = self.counts.get(operation, 0) + 1
        return self.counts[operation] == self.nth


class Watched:
    """Sessions in which the process dies with a statement on its way, or just done."""

    def __init__(self, sessions: Sessions, death: Death) -> None:
        self.sessions, self.death = sessions, death
        self.metastore = sessions.metastore

    def open(self, key: str = "") -> Spark:
        spark = self.sessions.open(key)
        return WatchedSpark(spark, self.death, key.partition("/")[2]) if key else spark

    def settle(self, key: str) -> bool:
        return self.sessions.settle(key)


class WatchedSpark:
    def __init__(self, spark: Spark, death: Death, operation: str) -> None:
        self.spark, self.death, self.operation = spark, death, operation

    def sql(self, text: str) -> list[Row]:
        death = self.death
        dies = death.boundary in ("sent", "returned") and death.counts_now(self.operation, text)
        if dies and death.boundary == "sent":
            threading.Thread(target=self.spark.sql, args=(text,), daemon=True).start()
            time.sleep(death.pause)
            while death.awaited and not any(Path(death.awaited[0]).rglob(death.awaited[1])):
                time.sleep(0.1)
            death.now(self.operation)
        rows = self.spark.sql(text)
        if dies:
            death.now(self.operation)
        return rows

    def schema(self, query: str) -> dict[str, Any]:
        return self.spark.schema(query)

    def close(self) -> None:
        self.spark.close()

    def __enter__(self) -> WatchedSpark:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def deploy(request: dict[str, Any], address: str, note: Path) -> dict[str, Any]:
    death = Death(request, note)
    jars = tuple(map(Path, request.get("jars", ())))
    sessions = Watched(Configured(ConnectSessions(address), request.get("settings", {}), jars), death)
    world = World(
        Path(request["folder"]), sessions, request["prefix"], request["options"], death.at,
        catalog=request.get("catalog", ""),
    )  # fmt: skip
    world.ttl = request.get("ttl", world.ttl)
    if request.get("full"):  # the disk of the log: the file may grow by this much
        import resource

        size = world.log.path.stat().st_size if world.log.path.exists() else 0
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + request["full"],) * 2)
    try:
        outcome = world.apply(parallel=request.get("parallel", 1))
    except SparkDeployError as error:
        return {"errors": [[item.code, item.message] for item in error.diagnostics]}
    except SparkFailure as failure:
        return {"errors": [["spark", str(failure)]]}
    report = outcome.report
    return {
        "done": [operation.id for operation in report.done],
        "failed": [[operation.id, message] for operation, message in report.failed],
        "left": [operation.id for operation in report.left],
        "problems": [[item.code, item.message] for item in outcome.problems],
    }


def main() -> None:
    address = sys.argv[1]
    client.pyspark()
    for line in sys.stdin:
        request = json.loads(line)
        note, answer = Path(request["note"]), Path(request["answer"])
        for path in (note, answer):
            path.unlink(missing_ok=True)
        child = os.fork()
        if not child:
            answer.write_text(json.dumps(deploy(request, address, note)))
            os._exit(0)
        print(json.dumps({"pid": child}), flush=True)
        _, status = os.waitpid(child, 0)
        killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        print(json.dumps({"killed": killed, "code": os.waitstatus_to_exitcode(status)}), flush=True)


if __name__ == "__main__":
    main()

"""A small repository, its DAG in a real Airflow, and what became of both."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from machine import PATIENCE, Airflow

from airflow_provider_sparkdeploy.core.planner import make_plan
from airflow_provider_sparkdeploy.core.repository import open_repository
from airflow_provider_sparkdeploy.core.state import fold
from airflow_provider_sparkdeploy.spark import history
from airflow_provider_sparkdeploy.spark.deployment import observe
from airflow_provider_sparkdeploy.spark.lock import read_lock
from airflow_provider_sparkdeploy.spark.session import Sessions

ORDERS = """\
-- //// CHANGE name=init
CREATE TABLE ${app}.orders (id BIGINT, amount INT) USING parquet;
-- //// CHANGE name=rows
INSERT INTO ${app}.orders VALUES (1, 10), (2, 20);
"""
TOTALS = "CREATE VIEW ${app}.totals AS SELECT sum(amount) AS total FROM ${app}.orders;\n"
REPORT = "CREATE VIEW ${app}.report AS SELECT total * 2 AS doubled FROM ${app}.totals;\n"
FILES = {"app/table/orders.sql": ORDERS, "app/view/totals.sql": TOTALS, "app/view/report.sql": REPORT}


def slow(name: str, seconds: int) -> str:
    """A statement that takes a while on the server."""
    nap = f"java_method('java.lang.Thread', 'sleep', {seconds * 1000}L)"
    return f"-- //// CHANGE name=init\nCREATE TABLE ${{app}}.{name} USING parquet AS SELECT {nap} AS nap;\n"


class Deployed:
    """One DAG over one repository; the folder ``app`` is a schema of its own."""

    def __init__(self, airflow: Airflow, sessions: Sessions, folder: Path, name: str) -> None:
        self.airflow, self.sessions, self.folder, self.name = airflow, sessions, folder, name
        self.dag_id = f"deploy_{name}"
        self.schema = f"app_{name}"
        self.settings = {
            "schemas": {"app": self.schema},
            "log_schema": f"log_{name}",
            "data_schema": f"data_{name}",
            "propagation": {"schema": False},
        }
        folder.mkdir(parents=True)
        self.set()

    def move(self, folder: Path) -> None:
        """Keep the repository somewhere else."""
        shutil.rmtree(self.folder)
        self.folder = folder
        folder.mkdir(parents=True)

    def set(self, **more: Any) -> None:
        """Settings of the repository."""
        self._put("sparkdeploy.yaml", json.dumps({**self.settings, **more}))  # JSON is YAML

    def write(self, files: Mapping[str, str | None]) -> None:
        """Files, each replaced in one go; None removes one."""
        for path, text in files.items():
            if text is None:
                (self.folder / path).unlink()
            else:
                self._put(path, text)

    def _put(self, path: str, text: str) -> None:
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = self.airflow.home / f"{self.name}.draft"
        draft.write_text(text, encoding="utf-8")
        draft.replace(place)

    def add_dag(self, **arguments: Any) -> set[str]:
        """Put the DAG into Airflow; its tasks, once it is parsed."""
        given = {"repository": str(self.folder), **arguments}
        listed = ", ".join(f"{key}={value!r}" for key, value in given.items())
        self.airflow.write_dag(
            self.dag_id,
            f"from airflow_provider_sparkdeploy import SparkDeployDag\n\nSparkDeployDag({self.dag_id!r}, {listed})\n",
        )
        return self.airflow.parsed(self.dag_id)

    def tasks(self, *wanted: str) -> set[str]:
        """The tasks of the DAG once these are the operations among them, and no others."""
        return self.airflow.parsed(
            self.dag_id, lambda found: {name for name in found if "." in name} == set(wanted)
        )

    def trigger(self, **conf: Any) -> str:
        return self.airflow.trigger(self.dag_id, **conf)

    def ended(self, run: str, patience: float = PATIENCE) -> str:
        return self.airflow.ended(self.dag_id, run, patience)

    def deploy(self, **conf: Any) -> str:
        """A run to its successful end."""
        run = self.trigger(**conf)
        assert self.ended(run) == "success", self.airflow.why(self.dag_id, run)
        return run

    def fails(self, **conf: Any) -> str:
        run = self.trigger(**conf)
        assert self.ended(run) == "failed"
        return run

    def states(self, run: str) -> dict[str, str | None]:
        """Of the operations."""
        return {name: state for name, state in self.airflow.states(self.dag_id, run).items() if "." in name}

    def done(self, run: str) -> set[str]:
        """The operations that succeeded."""
        return {name for name, state in self.states(run).items() if state == "success"}

    def log(self, run: str, task: str, attempt: int = 1) -> str:
        return self.airflow.log(self.dag_id, run, task, attempt)

    def forget(self) -> None:
        """Delete everything that Airflow keeps of the deployment between runs."""
        for item in self.airflow.api("GET", "variables?limit=100")["variables"]:
            if item["key"].rpartition(".")[2] == self.dag_id:
                self.airflow.api("DELETE", f"variables/{item['key']}")

    def replanned(self) -> str:
        """The run that a stale one has started."""
        [found] = [
            item["dag_run_id"]
            for item in self.airflow.runs(self.dag_id)
            if item["dag_run_id"].startswith("replan")
        ]
        return str(found)

    def command(self, *words: str) -> subprocess.Popen[str]:
        """``sparkdeploy ...`` on the same repository and the same Spark."""
        place = ("--repository", str(self.folder), "--spark", self.sessions.address)
        return subprocess.Popen(
            [str(Path(sys.executable).with_name("sparkdeploy")), *words, *place],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def running(self, run: str, task: str, state: str = "running") -> None:
        self.airflow.until(
            lambda: self.airflow.states(self.dag_id, run).get(task) == state, f"{task} is {state}"
        )

    def begun(self, run: str, operation: str) -> None:
        """Wait until the log of the run has the intent of an operation."""
        quoted = urllib.parse.quote(run)
        path = f"dags/{self.dag_id}/dagRuns/{quoted}/taskInstances/plan/xcomEntries?limit=100"
        keys = lambda: [item["key"] for item in self.airflow.api("GET", path)["xcom_entries"]]  # noqa: E731
        self.airflow.until(lambda: f"log.{operation}" in keys(), f"{operation} was begun")

    # The environment.

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        with self.sessions.open() as spark:
            return [
                tuple(row.values()) for row in spark.sql(text.format(app=self.schema, log=f"log_{self.name}"))
            ]

    def holder(self) -> str:
        """The run that has the lock; empty where none has."""
        with self.sessions.open() as spark:
            found = read_lock(spark, f"log_{self.name}")
        return "" if found is None or found.released else found.run

    def left(self) -> list[str]:
        """What is still to be done, from the history and the catalog alone: nothing that Airflow keeps."""
        repository = open_repository(self.folder)
        with self.sessions.open() as spark:
            found = history.read(spark, repository.settings.log_schema, repository.settings.environment)
        told = [item.entry for item in found]
        state = fold((effect, entry.at, entry.run) for entry in told for effect in entry.effects)
        plan = make_plan(repository, state, catalog=observe(self.sessions, repository, state)).plan
        assert not plan.errors, plan.errors
        return [operation.id for operation in plan.operations]

    def assert_settled(self) -> None:
        """The catalog is what the repository says, nobody has the lock, the graph shows nothing."""
        assert self.left() == []
        assert self.holder() == ""
        assert self.tasks() == {"plan", "record"}

    def remove(self) -> None:
        (self.airflow.dags / f"{self.dag_id}.py").unlink(missing_ok=True)
        with self.sessions.open() as spark:
            for schema in (self.schema, f"log_{self.name}", f"data_{self.name}"):
                spark.sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
        shutil.rmtree(self.folder, ignore_errors=True)

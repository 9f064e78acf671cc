"""A repository on disk, deployed to a real Spark: what a person does, in a few words.

Every world has schemas of its own, so that many share one server. ``apply`` runs in this process,
``cli`` is the real command in a process of its own.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from airflow_provider_sparkdeploy.core.deploylog import FileLog, LogContent, new_run
from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError
from airflow_provider_sparkdeploy.core.planner import Planned, Request, make_plan
from airflow_provider_sparkdeploy.core.refresh import make_refresh
from airflow_provider_sparkdeploy.core.repository import Repository, open_repository
from airflow_provider_sparkdeploy.core.state import State
from airflow_provider_sparkdeploy.spark import history, marks
from airflow_provider_sparkdeploy.spark.apply import Stop
from airflow_provider_sparkdeploy.spark.deployment import Deployment, Outcome, make_runner, observe
from airflow_provider_sparkdeploy.spark.lock import TTL, Lock
from airflow_provider_sparkdeploy.spark.session import ConnectSessions, Row, Sessions

Files = Mapping[str, str | None]
_ATTEMPT = re.compile(r"(_[0-9a-f]{10})?_\d{14}_[0-9a-f]{6}")


@dataclass
class World:
    """A repository whose folder ``shop`` is deployed to a schema of this world's own."""

    folder: Path
    sessions: Sessions
    prefix: str
    options: str = ""
    at: Callable[[str, str], None] = field(default=lambda boundary, operation: None)
    ttl: float = TTL
    catalog: str = ""  # where the schema is, if not in the session catalog

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.configure(self.options)

    def configure(self, options: str) -> None:
        """Write the settings: ``options`` are lines of sparkdeploy.yaml."""
        self.options = options
        (self.folder / "sparkdeploy.yaml").write_text(
            f"schemas: {{shop: {self.schema}, mart: {self.prefix}_mart}}\n"
            f"log_schema: {self.prefix}_log\ndata_schema: {self.prefix}_data\n{options}\n"
        )

    @property
    def schema(self) -> str:
        return f"{self.catalog}.{self.prefix}_shop" if self.catalog else f"{self.prefix}_shop"

    @property
    def log(self) -> FileLog:
        return FileLog(self.folder / ".sparkdeploy" / "default.jsonl")

    def write(self, files: Files) -> World:
        """Write files of the repository; None removes one."""
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(text)
        return self

    # What a person does

    def repository(self) -> Repository:
        found = open_repository(self.folder)
        errors = [item for item in found.problems if item.severity == "error"]
        if errors:
            raise SparkDeployError(errors)
        return found

    def plan(self, **request: Any) -> Planned:
        """The plan from what is really there."""
        return self._planned(self.repository(), self.log.read().state, "apply", request)

    def pending(self) -> list[str]:
        """What the plan would do."""
        plan = self.plan().plan
        assert not plan.errors, plan.errors
        return [operation.id for operation in plan.operations] + [repr(note) for note in plan.notes]

    def apply(
        self, kind: str = "apply", parallel: int = 1, stop: Stop | None = None, **request: Any
    ) -> Outcome:
        """Deploy, and agree to everything. Raises if it cannot even begin."""
        found = self.repository()
        with self.log as log:
            run = new_run(kind)
            with Lock(self.sessions, found.settings.log_schema, run, log=log.identity, ttl=self.ttl) as lock:
                runner = replace(make_runner(self.sessions, log, lock, found, run), at=self.at)
                deployment = Deployment(found, runner)
                deployment.begin()
                planned = self._planned(found, log.read().state, kind, request)
                if planned.plan.errors:
                    raise SparkDeployError(planned.plan.errors)
                return deployment.run(planned, kind=kind, parallel=parallel, stop=stop)

    def deploy(self, **request: Any) -> list[str]:
        """Deploy, which must succeed; gives the ids of what was done."""
        outcome = self.apply(**request)
        assert outcome.succeeded, (outcome.report.failed, outcome.problems)
        assert not outcome.problems, outcome.problems
        return [operation.id for operation in outcome.report.done]

    def _planned(self, found: Repository, state: State, kind: str, request: Mapping[str, Any]) -> Planned:
        catalog = observe(self.sessions, found, state)
        if kind == "refresh":
            return make_refresh(found, state, catalog=catalog, include=request.get("select", ()))
        return make_plan(found, state, catalog=catalog, request=Request(**request))

    def command(self, *arguments: str) -> list[str]:
        address = self.sessions.address  # type: ignore[attr-defined]
        place = ["--repository", str(self.folder)]
        spark = [] if arguments[0] in ("resolve", "plan", "history") else ["--spark", address]
        return [sys.executable, "-m", "airflow_provider_sparkdeploy.cli", *arguments, *place, *spark]

    def cli(self, *arguments: str, code: int | None = 0) -> str:
        """The real command; gives all that it prints."""
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=300)
        said = done.stdout + done.stderr
        assert code is None or done.returncode == code, f"exit code {done.returncode}: {said}"
        assert "Traceback" not in said, said
        return said

    # What is there

    def sql(self, text: str) -> list[Row]:
        """What somebody does by hand; ``{shop}`` is the schema of this world."""
        with self.sessions.open() as spark:
            return spark.sql(self.text(text))

    def text(self, text: str) -> str:
        return text.replace("{shop}", self.schema).replace("{mart}", f"{self.prefix}_mart")

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return sorted((tuple(row.values()) for row in self.sql(query)), key=repr)

    def content(self) -> LogContent:
        return self.log.read()

    def history(self) -> list[history.Numbered]:
        with self.sessions.open() as spark:
            return history.read(spark, f"{self.prefix}_log", "default")

    def marks(self) -> dict[str, marks.Mark]:
        with self.sessions.open() as spark:
            return marks.read_all(spark, f"{self.prefix}_log", "default")

    def relations(self) -> dict[str, Any]:
        """Every table and view with its columns, properties and rows, and every function, with
        nothing in it that differs from one world or one attempt to the next."""
        found: dict[str, Any] = {}
        with self.sessions.open() as spark:
            for row in spark.sql(f"SHOW TABLES IN {self.schema}"):
                name = f"{self.schema}.{row['tableName']}"
                described = spark.sql(f"DESCRIBE TABLE EXTENDED {name}")
                kept = [
                    (item["col_name"], item["data_type"], item["comment"])
                    for item in described
                    if item["col_name"] not in _CHANGING
                ]
                rows = sorted(repr(tuple(item.values())) for item in spark.sql(f"SELECT * FROM {name}"))
                found[row["tableName"]] = self.neutral(repr((kept, rows)))
            for row in spark.sql(f"SHOW USER FUNCTIONS IN {self.schema}"):
                described = spark.sql(f"DESCRIBE FUNCTION EXTENDED {row['function']}")
                kept = [item["function_desc"] for item in described]
                body = [line for line in kept if line.startswith(("Body", "Input", "Returns"))]
                found[self.neutral(row["function"])] = self.neutral(repr(body))
        return found

    def relations_names(self) -> set[str]:
        return {row["tableName"] for row in self.sql(f"SHOW TABLES IN {self.schema}")}

    def neutral(self, text: str) -> str:
        return _ATTEMPT.sub("_<attempt>", text.replace(self.prefix, "<world>"))


_CHANGING = ("Created Time", "Last Access", "Statistics", "Location", "Table Properties", "Owner")


@contextmanager
def world(folder: Path, sessions: ConnectSessions, prefix: str, options: str = "") -> Iterator[World]:
    """A world, which leaves nothing behind."""
    made = World(folder, sessions, prefix, options)
    yield made
    with sessions.open() as spark:
        for end in ("shop", "mart", "log", "data"):
            spark.sql(f"DROP SCHEMA IF EXISTS {prefix}_{end} CASCADE")

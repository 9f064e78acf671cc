"""What a DAG deploys, and where: one value, made once from the arguments of the factory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from ..core.diagnostics import did_you_mean

if TYPE_CHECKING:
    from ..core.fingerprint import Contents
    from ..core.repository import Repository

Render = Literal["plan", "all"]
OnStale = Literal["replan", "fail"]
REPLANS = "sparkdeploy_replans"  # in the conf of a run: how many stale runs in a row have led to it


@dataclass(frozen=True, slots=True)
class Deploying:
    """One repository to one environment by the tasks of one DAG, or of one group in it.

    ``prefix`` stands before the ids of all of its tasks, with a dot; it is empty for a whole DAG.
    """

    dag_id: str
    repository: Path
    environment: str | None = None
    conn_id: str | None = None
    overrides: tuple[str, ...] = ()
    render: Render = "plan"
    on_stale: OnStale = "replan"
    prefix: str = ""

    def __post_init__(self) -> None:
        for argument, choices in (("render", get_args(Render)), ("on_stale", get_args(OnStale))):
            value = getattr(self, argument)
            if value not in choices:
                near = did_you_mean(str(value), choices)
                raise ValueError(f"{self.name}: there is no {argument}={value!r}. {near}")

    @property
    def name(self) -> str:
        """What Variables and runs are named after. The id of a DAG may have dots, and no colon."""
        return f"{self.dag_id}:{self.prefix}" if self.prefix else self.dag_id

    def task_id(self, name: str) -> str:
        """The Airflow task of an operation, or of ``plan``, ``approve`` and ``record``."""
        return f"{self.prefix}.{name}" if self.prefix else name

    def own(self, task_id: str) -> str | None:
        """The inverse of ``task_id``; None for a task of somebody else's."""
        if not self.prefix:
            return task_id
        return task_id.removeprefix(f"{self.prefix}.") if task_id.startswith(f"{self.prefix}.") else None

    def run_name(self, run_id: str) -> str:
        """What the lock, the log and the sessions on the server know a run by."""
        return f"{self.name}/{run_id}"

    def open(self) -> Repository:
        """Read and parse the repository as it is now."""
        return self.parse(self.read())

    def read(self) -> Contents:
        """Read the repository as it is now, without parsing any of it."""
        from ..core.fingerprint import read_contents

        return read_contents(self.repository, environment=self.environment, overrides=self.overrides)

    def fingerprint(self) -> str:
        """What the repository is now."""
        return self.read().fingerprint

    def parse(self, contents: Contents) -> Repository:
        from ..core.repository import parse_contents, wrong_folder

        found = parse_contents(contents, self.repository)
        wrong = wrong_folder(found, self.repository)
        return replace(found, problems=(wrong,)) if wrong else found

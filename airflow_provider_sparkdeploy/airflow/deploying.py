"""What a DAG deploys, and where: one value, made once from the arguments of the factory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from ..core.diagnostics import did_you_mean
from ..core.operations import PHASES, shortened

if TYPE_CHECKING:
    from ..core.fingerprint import Contents
    from ..core.repository import Repository

Render = Literal["plan", "all"]
OnStale = Literal["replan", "fail"]
REPLANS = "sparkdeploy_replans"  # in the conf of a run: how many stale runs in a row have led to it
ALWAYS = ("plan", "record")  # the tasks that a deployment has whatever its plan
BEGIN = "begin-"  # and a phase: a task that does nothing, between two phases of very many operations
SOMETIMES = ("approve", *(BEGIN + phase for phase in PHASES))  # those that it has if need be
_LONGEST_ID = 247  # of a task: Airflow takes 250, and a folder for its log, "task_id=...", can have 255
_ROOM = 40  # for a name, at the least: of a longer prefix Airflow says what is wrong


def replans_of(conf: Mapping[str, Any]) -> int:
    """How many stale runs in a row have led to a run. People write into a conf, too: what is no number
    of ours counts as none."""
    count = conf.get(REPLANS)
    return count if isinstance(count, int) and count > 0 else 0


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
        return f"{self.prefix}.{shortened(name, self._room)}" if self.prefix else name

    def own(self, task_id: str) -> str | None:
        """The inverse of ``task_id``, but for a name that was shortened. None for a task of somebody
        else's: a team has tasks of its own beside ours, in a ``with`` of ours, too."""
        start = f"{self.prefix}." if self.prefix else ""
        name = task_id.removeprefix(start)
        return name if task_id.startswith(start) and _is_ours(name) else None

    def operations(self, task_ids: Iterable[str], known: Iterable[str]) -> set[str]:
        """The operations that these tasks run; those that are ``known`` also where the ids of their
        tasks are shortened."""
        whole = {self.task_id(name): name for name in known}
        return {
            whole.get(task_id, name)
            for task_id in task_ids
            if (name := self.own(task_id)) is not None and is_operation(name)
        }

    def may_be_shortened(self, name: str) -> bool:
        return bool(self.prefix) and len(name) == self._room

    def whole(self, name: str, known: Iterable[str]) -> str:
        """The operation whose task has a name, which may be shortened."""
        if not self.may_be_shortened(name):
            return name
        return next((item for item in known if shortened(item, self._room) == name), name)

    @property
    def _room(self) -> int:
        """For a name after the prefix."""
        return max(_LONGEST_ID - len(self.prefix) - 1, _ROOM)

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


def is_operation(name: str) -> bool:
    """Whether a task that is called so within its deployment runs an operation."""
    phase, dot, _ = name.partition(".")
    return bool(dot) and phase in PHASES


def _is_ours(name: str) -> bool:
    return name in ALWAYS or name in SOMETIMES or is_operation(name)

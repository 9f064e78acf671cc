"""What the page is made from. Everything here is read; nothing is ever written back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ...core.names import parse_name
from ...core.state import State
from ..shown import Cycle

Reasons = tuple[tuple[str, ...], ...]
SEEDS = frozenset({"changed", "forced", "drift", "left"})  # reasons that nothing else is behind


@dataclass(frozen=True, slots=True)
class Step:
    """One operation: of the graph that Airflow shows, or of the frozen plan of a run.

    ``after`` is the text of its object's file once it is done, ``before`` the deployed one; None
    where nobody kept it. ``members`` are what it computes together.
    """

    id: str
    phase: str
    action: str
    object: str
    kind: str
    hash: str = ""
    sql: str = ""
    change: str | None = None
    index: str | None = None
    depends_on: tuple[str, ...] = ()
    reasons: Reasons = ()
    destructive: bool = False
    compute: str | None = None
    reads: tuple[str, ...] = ()
    after: str | None = None
    before: str | None = None
    members: tuple[str, ...] = ()

    @property
    def schema(self) -> str:
        return schema_of(self.object)

    @property
    def part(self) -> str:
        """Which of its object's operations it is; empty for the only one."""
        return ".".join(self.id.split(".")[3:])


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept between runs. ``drift`` is what was different in the catalog when somebody last
    looked, ``looked`` when that was; None where nobody kept it."""

    state: State = field(default_factory=dict)
    serial: int = 0
    known: bool = False
    active: str = ""
    problems: tuple[str, ...] = ()
    blocked: int = 0
    guess: bool = False
    drift: Mapping[str, str] | None = None
    looked: str = ""
    cycles: tuple[Cycle, ...] | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the DAG, as Airflow has it. ``cleared`` says how often."""

    run_id: str
    state: str
    type: str = "manual"
    start: datetime | None = None
    end: datetime | None = None
    cleared: int = 0
    user: str = ""
    replans: int = 0


@dataclass(frozen=True, slots=True)
class Task:
    """A task of a run. ``seconds`` are those of its last try."""

    task_id: str
    state: str | None
    tries: int = 0
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Log:
    """What the ``plan`` task of a run holds: its frozen plan, and the entries of its operations."""

    run: str = ""
    at: str = ""
    fingerprint: str = ""
    environment: str = ""
    ids: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    entries: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    decision: Mapping[str, Any] = field(default_factory=dict)
    stale: tuple[str, ...] = ()
    needs_approval: bool = False
    dry_run: bool = False
    request: Mapping[str, Any] = field(default_factory=dict)


def schema_of(name: str) -> str:
    """The schema of an object by the name that people write."""
    parts = parse_name(name)
    return parts[0] if parts else ""


def run_id_of(run: str) -> str:
    """The Airflow run that a log knows as ``<deployment>/<run id>``; empty for one that is none."""
    return run.partition("/")[2]


def moment(at: datetime | None) -> str:
    return at.isoformat(timespec="seconds") if at else ""

"""The plan as values: one list of operations, which everything else walks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from .diagnostics import Diagnostic
from .names import ObjectName, task_part
from .objects import Action, Kind
from .state import Effect, PutObject, Settle, subject
from .values import value

if TYPE_CHECKING:
    from .cycles import Component

Phase = Literal["teardown", "setup", "export"]
PHASES: tuple[Phase, ...] = ("teardown", "setup", "export")
_LONGEST_ID = 240  # Airflow takes 250


@value(frozen=True, slots=True)
class Operation:
    """One atomic step.

    ``effects`` are what is true once it is done. ``narrows`` says that it drops its object or
    takes something from it, which is never done to a protected one. ``physical`` is the name
    of its object in Spark; the statement runs where that schema is the current one.
    """

    id: str
    phase: Phase
    action: Action
    object: ObjectName
    kind: Kind
    sql: str
    hash: str
    change: str | None = None
    statement: int = 1
    depends_on: tuple[str, ...] = ()
    reasons: tuple[tuple[str, ...], ...] = ()
    destructive: bool = False
    compute: str | None = None
    narrows: bool = False
    index: str | None = None
    effects: tuple[Effect, ...] = ()
    physical: tuple[str, ...] = ()

    def leaving(self, effect: Effect) -> Operation:
        """The operation with one more effect. (``replace`` is slow for 10,000 of them.)"""
        return Operation(
            self.id, self.phase, self.action, self.object, self.kind, self.sql, self.hash, self.change,
            self.statement, self.depends_on, self.reasons, self.destructive, self.compute, self.narrows, self.index,
            (*self.effects, effect), self.physical,
        )  # fmt: skip

    def placed(self, depends_on: tuple[str, ...], reasons: tuple[tuple[str, ...], ...]) -> Operation:
        """The operation in its place in the plan."""
        return Operation(
            self.id, self.phase, self.action, self.object, self.kind, self.sql, self.hash, self.change,
            self.statement, depends_on, reasons, self.destructive, self.compute, self.narrows, self.index,
            self.effects, self.physical,
        )  # fmt: skip


def settled_objects(operation: Operation) -> tuple[ObjectName, ...]:
    """The objects that are as their files say once it is done: all members of a component at once."""
    return tuple(
        sorted(
            {
                subject(effect)
                for effect in operation.effects
                if isinstance(effect, Settle) or (isinstance(effect, PutObject) and effect.record.digest)
            }
        )
    )


def objects_of(operation: Operation) -> tuple[ObjectName, ...]:
    """The objects that it is done to: its own, and first; all members of a component at once."""
    if operation.action != "fixpoint":
        return (operation.object,)
    return tuple(dict.fromkeys((operation.object, *map(subject, operation.effects))))


@dataclass(frozen=True, slots=True)
class Blocked:
    """An operation that is planned but must not run, and why."""

    operation: Operation
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done. With errors there are no operations: nothing may be applied.

    ``notes`` are effects to record although nothing is run: baselined changes, adoptions.
    """

    fingerprint: str
    operations: tuple[Operation, ...] = ()
    dirty: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    components: tuple[Component, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    notes: tuple[Effect, ...] = ()

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(item for item in self.diagnostics if item.severity == "error")

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return tuple(item for item in self.diagnostics if item.severity == "warning")

    @property
    def destructive(self) -> tuple[Operation, ...]:
        return tuple(operation for operation in self.operations if operation.destructive)


def operation_id(phase: Phase, name: ObjectName, *rest: str) -> str:
    """A stable, readable id that is a legal Airflow task id: ``setup.sales.orders.init.1``."""
    return shortened(".".join([phase, *map(task_part, (*name, *rest))]), _LONGEST_ID)


def shortened(text: str, longest: int) -> str:
    """An id that is not too long: what there is room for, and a hash of the whole."""
    if len(text) <= longest:
        return text
    import hashlib

    return f"{text[: longest - 17]}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"

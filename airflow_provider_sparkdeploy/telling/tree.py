"""A plan as text: a tree of what happens and why, and a line that counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

import click

from ..core.dirty import Fact, index_fact, object_fact
from ..core.names import ObjectName
from ..core.operations import PHASES, Blocked, Operation, Phase, objects_of
from ..core.planner import Planned
from ..core.state import subject
from .changes import described
from .output import many, width
from .reasons import Cause, cause_text, nearest_causes

_SYMBOLS = {"create": "+", "drop": "-"}
_ONLY_RUN = ("migration", "sink")
_COLOURS = {"+": "green", "-": "red", "~": "yellow", "-/+": "magenta", "!": "red"}
_COUNTED = {
    "+": "to create",
    "~": "to change",
    "-/+": "to drop and create",
    "-": "to drop",
    "run": "to run",
}
_INDENT = " " * 8


def plan_lines(planned: Planned) -> Iterator[str]:
    """The whole plan, line by line."""
    plan = planned.plan
    environment = planned.repository.settings.environment
    count = len(planned.repository.objects)
    if not plan.operations and not plan.blocked:
        if planned.selected is not None:
            said = f"the {many(len(planned.selected), 'selected object')}, of {count:,}, need nothing"
        elif count:
            said = f"{many(count, 'object')} {'is' if count == 1 else 'are'} as declared"
        else:
            said = "there are no objects, and none are deployed"
        yield f"Nothing to do in environment {environment}: {said}."
        yield from _noted(planned)
        return
    yield f"Plan for environment {environment}, {many(count, 'object')}:"
    why = Why(planned)
    symbols = symbols_of(planned)
    explained: set[ObjectName] = set()
    for phase in PHASES:
        objects = by_object(plan.operations, phase)
        if objects:
            yield ""
            yield click.style(phase, bold=True)
        for name, operations in objects.items():
            reason = "as above" if name in explained else why(name)
            explained.add(name)
            kind = operations[0].kind
            yield _object_line(symbols[part_of(name, kind)], name, kind, reason)
            yield from _operation_lines(planned, name, operations)
    if plan.blocked:
        yield ""
        yield click.style("blocked", bold=True)
        yield from _blocked_lines(plan.blocked)
    yield ""
    yield from _noted(planned)
    yield click.style(count_line(planned), bold=True)


def by_object(operations: Iterable[Operation], phase: Phase) -> dict[ObjectName, list[Operation]]:
    """What is done to every object in a phase, in the order in which objects are begun."""
    found: dict[ObjectName, list[Operation]] = {}
    for operation in operations:
        if operation.phase == phase:
            for name in objects_of(operation):
                found.setdefault(name, []).append(operation)
    return found


def _object_line(symbol: str, name: ObjectName, kind: str, why: str) -> str:
    mark = click.style(f"{symbol:>3}", fg=_COLOURS[symbol], bold=True)
    return f"  {mark} {click.style(str(name), bold=True)} ({kind})  {click.style(f'# {why}', fg='cyan')}"


class Why:
    """Why an object is in the plan. Causes are looked for only if one is not its own cause."""

    def __init__(self, planned: Planned) -> None:
        assert planned.diff is not None, "a plan without a diff has no operations"
        assert planned.dirty is not None
        self.diff, self.dirty = planned.diff, planned.dirty
        self.members = {name: item.members for item in planned.components for name in item.members}
        self.causes = cache(self._causes)

    def _causes(self) -> dict[Fact, Cause]:
        return nearest_causes(self.dirty)

    def __call__(self, name: ObjectName) -> str:
        entry = self.diff.objects[name]
        if entry.changed:
            return described(entry)
        indexes = sorted({*entry.indexes_changed, *entry.indexes_removed} | self._used_indexes(name))
        for fact in (object_fact(name), *(index_fact(name, index) for index in indexes)):
            if fact in self.dirty:
                more = len(self.dirty.reasons(fact)) - 1
                return cause_text(fact, self.causes()[fact], more, self.diff)
        others = [str(other) for other in self.members.get(name, ()) if other != name]
        if others and not (entry.unfinished or indexes):
            return f"computed with {', '.join(others)}"
        return described(entry)

    def _used_indexes(self, name: ObjectName) -> set[str]:
        new = self.diff.objects[name].new
        return {index.name for index in new.indexes} if new else set()


Part = tuple[ObjectName, bool]


def part_of(name: ObjectName, kind: str) -> Part:
    """An object, and whether it only runs, as migrations and sinks do. A table that becomes a migration is
    two: what is dropped, and what is run."""
    return name, kind in _ONLY_RUN


def symbols_of(planned: Planned) -> dict[Part, str]:
    """``-/+`` for what is dropped and created again; one symbol per object otherwise."""
    actions: dict[Part, set[str]] = {}
    for operation in planned.plan.operations:
        for name in objects_of(operation):
            found = actions.setdefault(part_of(name, operation.kind), set())
            if operation.index is None:
                found.add("-" if _undoes_all(planned, operation) else _SYMBOLS.get(operation.action, "~"))
    return {part: _symbol(found) for part, found in actions.items()}


def _undoes_all(planned: Planned, operation: Operation) -> bool:
    """Whether it belongs to the rollback of an object whose file is gone: nothing is left of that."""
    if operation.phase != "teardown" or planned.diff is None:
        return False
    entry = planned.diff.objects[operation.object]
    return entry.new is None and bool(entry.rollback)


def _symbol(found: set[str]) -> str:
    if {"+", "-"} <= found:
        return "-/+"
    return "+" if "+" in found else "-" if found == {"-"} else "~"


def _operation_lines(planned: Planned, name: ObjectName, operations: list[Operation]) -> Iterator[str]:
    """A line per operation: what it does, which change it is of, and how its SQL begins."""
    labels = [_label(operation) for operation in operations]
    longest = max(map(len, labels))
    room = max(width() - len(_INDENT) - 10 - longest, 30)
    for operation, label in zip(operations, labels, strict=True):
        danger = click.style("! destructive  ", fg="red", bold=True) if operation.destructive else ""
        said = spelled(planned, operation) if operation.object == name else f"-- with {operation.object}"
        sql = _shortened(said, room - 15 * operation.destructive)
        named = f"{label:<{longest}}  " if longest else ""
        yield f"{_INDENT}{operation.action:<8} {named}{danger}{click.style(sql, dim=True)}"


def _label(operation: Operation) -> str:
    if operation.change:
        return f"{operation.change}.{operation.statement}"
    return f"index {operation.index}" if operation.index else ""


def spelled(planned: Planned, operation: Operation) -> str:
    if operation.action == "fixpoint":
        members = next(
            (item.members for item in planned.components if operation.object in item.members),
            (operation.object,),
        )
        return f"-- compute {', '.join(map(str, members))} together, until nothing is added"
    return operation.sql


def _shortened(sql: str, room: int) -> str:
    text = " ".join(sql[: 4 * room].split())
    return text if len(text) <= room else f"{text[: room - 3]}..."


def _blocked_lines(blocked: Iterable[Blocked]) -> Iterator[str]:
    """What must not run, object by object; the first reason of an object is the one that counts."""
    objects: dict[ObjectName, list[Blocked]] = {}
    for item in blocked:
        objects.setdefault(item.operation.object, []).append(item)
    for name, items in objects.items():
        first = items[0]
        yield _object_line("!", name, first.operation.kind, first.reason)
        for item in items:
            yield f"{_INDENT}{item.operation.action:<8} {click.style(item.operation.id, dim=True)}"


def _noted(planned: Planned) -> Iterator[str]:
    """What a deployment would record without running anything."""
    run = {operation.object for operation in planned.plan.operations}
    noted = sorted({subject(note) for note in planned.plan.notes} - run)
    if noted:
        shown = ", ".join(map(str, noted[:5])) + (f" and {len(noted) - 5:,} more" if len(noted) > 5 else "")
        yield click.style(f"Recorded with the next deployment, without running anything: {shown}.", dim=True)


def count_line(planned: Planned) -> str:
    """How many objects are created, changed, dropped, and how many operations that takes."""
    plan = planned.plan
    counts = Counter("run" if runs else mark for (_, runs), mark in symbols_of(planned).items())
    parts = [f"{counts[symbol]:,} {name}" for symbol, name in _COUNTED.items() if counts[symbol]]
    text = f"Plan: {', '.join(parts) or 'nothing to run'}; {many(len(plan.operations), 'operation')}"
    if destructive := len(plan.destructive):
        text += f", {destructive:,} destructive"
    if stopped := len(plan.blocked):
        text += f", {stopped:,} blocked"
    return text + "."

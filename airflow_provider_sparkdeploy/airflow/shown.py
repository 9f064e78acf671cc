"""The plan as the graph shows it, and whether what has to be done fits into it.

``R`` (rendered) is what Airflow shows: tasks and edges, made while the DAG file was parsed. ``A``
(actual) is what the ``plan`` task finds to be needed. A run may go on only if A is contained in
R. Pure: values in, values out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core.names import display, task_part
from ..core.operations import PHASES, Operation, Phase, Plan, settled_objects
from ..core.state import PutObject, subject

_LONGEST = 1_500  # characters of a list that a task shows; Airflow takes 4,096 for all values of a field
_MANY = 1_000  # edges between two phases; more of them cost a scheduler more than a task in between


@dataclass(frozen=True, slots=True)
class Shown:
    """An operation without its SQL: what a task and its edges are made of.

    ``group`` is the schema as a part of an id. ``settles`` are the objects, as people write
    them, that are as their file says once it is done. ``reads`` are what its object depends on.
    """

    id: str
    phase: Phase
    action: str
    object: str
    kind: str
    group: str
    hash: str
    depends_on: tuple[str, ...] = ()
    reasons: tuple[tuple[str, ...], ...] = ()
    destructive: bool = False
    settles: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cycle:
    """Materialized views that are computed together; ``why`` says what is not monotone in it."""

    members: tuple[str, ...]
    monotone: bool = True
    why: tuple[str, ...] = ()


def shown_cycles(plan: Plan) -> tuple[Cycle, ...]:
    """The cyclic components of a plan, as people write names."""
    return tuple(
        Cycle(
            tuple(map(display, component.members)),
            component.monotone,
            ()
            if component.monotone
            else tuple(
                item.message
                for item in plan.diagnostics
                if item.code == "SD312" and item.object in set(map(str, component.members))
            ),
        )
        for component in plan.components
    )


def shown(operation: Operation) -> Shown:
    reads = sorted(
        {
            display(name)
            for effect in operation.effects
            if isinstance(effect, PutObject) and subject(effect) == operation.object
            for name in effect.record.dependencies
        }
    )
    return Shown(
        operation.id, operation.phase, operation.action, display(operation.object), operation.kind,
        task_part(operation.object.schema), operation.hash, operation.depends_on, operation.reasons,
        operation.destructive, tuple(map(display, settled_objects(operation))), tuple(reads),
    )  # fmt: skip


def together(first: Sequence[Shown], more: Sequence[Shown]) -> tuple[Shown, ...]:
    """Both plans in one graph. Where both have an operation, that of ``first`` is shown, after all
    that either of them says; an edge of ``more`` that would close a circle is left out."""
    found = {item.id: item for item in first}
    added = {item.id: item for item in more if item.id not in found}
    both = {**found, **added}
    after: dict[str, set[str]] = {name: set(item.depends_on) & both.keys() for name, item in both.items()}
    for item in more:
        if item.id not in found:
            continue
        for need in item.depends_on:
            if need in both and need not in after[item.id] and not _reaches(after, need, item.id):
                after[item.id].add(need)
    return tuple(replace(item, depends_on=tuple(sorted(after[name]))) for name, item in both.items())


def _reaches(after: Mapping[str, Collection[str]], start: str, goal: str) -> bool:
    """Whether ``start`` comes after ``goal``."""
    seen = {start}
    pending = [start]
    while pending:
        name = pending.pop()
        if name == goal:
            return True
        fresh = [need for need in after.get(name, ()) if need not in seen]
        seen.update(fresh)
        pending.extend(fresh)
    return False


def edges(items: Sequence[Shown]) -> dict[str, tuple[str, ...]]:
    """What every task waits for: what its operation depends on, and for the first tasks of a phase
    the last ones of the phase before it. Where these would be very many edges, a task that does nothing
    stands between. (No operation has an id like its: they begin with their phase.)"""
    known = {item.id for item in items}
    waits = {item.id: [need for need in item.depends_on if need in known] for item in items}
    before: list[str] = []
    for phase in PHASES:
        members = {item.id for item in items if item.phase == phase}
        if not members:
            continue
        first = sorted(name for name in members if not any(need in members for need in waits[name]))
        if len(first) * len(before) > _MANY:
            begin = f"begin-{phase}"
            waits[begin], before = before, [begin]
        for name in first:
            waits[name] = sorted({*waits[name], *before})
        needed = {need for name in members for need in waits[name]}
        before = sorted(members - needed)
    return {name: tuple(needs) for name, needs in waits.items()}


def misfits(
    actual: Iterable[Operation], rendered: Sequence[Shown], tasks: Collection[str], *, loose: bool = False
) -> tuple[str, ...]:
    """Why A is not contained in R, in words; nothing where it is.

    ``tasks`` are the operations that the run has tasks for. ``loose`` lets a task stand for its
    operation whatever its action: where R was made without knowing what is deployed.
    """
    known = {item.id: item for item in rendered}
    told: list[str] = []
    placed: list[Operation] = []
    for operation in actual:
        item = known.get(operation.id)
        if item is None or operation.id not in tasks:
            told.append(f"{operation.id} is to be done, and the graph of this run does not have it")
        elif item.hash != operation.hash:
            told.append(f"{operation.id} has changed since the graph was made")
        elif item.action != operation.action and not loose:
            told.append(f"{operation.id} is now to {operation.action}, and the graph shows {item.action}")
        elif operation.destructive and not item.destructive and not loose:
            told.append(f"{operation.id} would lose data now, and the graph does not say so")
        else:
            placed.append(operation)
    return tuple(told) if told else _disorder(placed, rendered)


def _disorder(actual: Sequence[Operation], rendered: Sequence[Shown]) -> tuple[str, ...]:
    """Where the edges of R do not imply the order of A."""
    waits = edges(rendered)
    unsaid = [
        (operation.id, need)
        for operation in actual
        for need in operation.depends_on
        if need in waits and need not in waits[operation.id]
    ]
    if not unsaid:
        return ()
    wanted = {need for _, need in unsaid}
    reached: dict[str, set[str]] = {}
    for name in _sorted(waits):
        reached[name] = wanted.intersection(waits[name])
        reached[name].update(*(reached[need] for need in waits[name]))
    return tuple(
        f"{name} must come after {need}, and the graph of this run does not say so"
        for name, need in unsaid
        if need not in reached[name]
    )


def _sorted(waits: Mapping[str, Sequence[str]]) -> list[str]:
    """Every name after all that it waits for."""
    order: list[str] = []
    placed: set[str] = set()
    for start in waits:
        path = [(start, iter(waits[start]))] if start not in placed else []
        entered = {start}
        while path:
            name, needs = path[-1]
            need = next((item for item in needs if item not in placed and item not in entered), None)
            if need is None:
                path.pop()
                placed.add(name)
                order.append(name)
            else:
                entered.add(need)
                path.append((need, iter(waits[need])))
    return order


def about_operation(item: Shown) -> dict[str, Any]:
    """What a task says of its operation, in values: to whoever reads the graph, and nothing else."""
    return {
        "action": item.action, "object": item.object, "kind": item.kind, "hash": item.hash,
        "destructive": item.destructive, "reads": as_many_as_fit(item.reads),
    }  # fmt: skip


def as_many_as_fit(items: Iterable[Any]) -> list[Any]:
    """The first of them: Airflow leaves out a value of a task that is too long, all of it."""
    found, left = [], _LONGEST
    for item in items:
        left -= len(str(item)) + 4
        if left < 0:
            break
        found.append(item)
    return found


def sql_block(sql: str) -> str:
    """SQL in Markdown, whatever back quotes it has."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", sql)), default=0))
    return f"{fence}sql\n{sql}\n{fence}"


def encode_shown(item: Shown) -> list[Any]:
    """As short as can be: there may be thousands in a Variable."""
    return [
        item.id, item.phase, item.action, item.object, item.kind, item.group, item.hash,
        list(item.depends_on), [list(reason) for reason in item.reasons], int(item.destructive),
        list(item.settles), list(item.reads),
    ]  # fmt: skip


def decode_shown(data: Sequence[Any]) -> Shown:
    name, phase, action, owner, kind, group, digest, depends_on, reasons, destructive, settles, reads = data
    return Shown(
        name, phase, action, owner, kind, group, digest, tuple(depends_on), tuple(map(tuple, reasons)),
        bool(destructive), tuple(settles), tuple(reads),
    )  # fmt: skip


def encode_cycle(item: Cycle) -> list[Any]:
    return [list(item.members), int(item.monotone), list(item.why)]


def decode_cycle(data: Sequence[Any]) -> Cycle:
    members, monotone, why = data
    return Cycle(tuple(members), bool(monotone), tuple(why))

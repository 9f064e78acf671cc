"""Operations that are planned but must not run, and everything that needs them.

Protected objects are never dropped or narrowed, a destructive operation needs a decision,
and a selection never plans an operation whose unselected dependency is not deployed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from .diff import Diff, ObjectDiff
from .dirty import Facts
from .graph import Graph
from .lexer import lex
from .names import Node, ObjectName
from .objects import columns_beyond
from .operations import Blocked, Operation
from .settings import Settings
from .state import subject
from .statement import unquoted


def guard(
    operations: tuple[Operation, ...],
    settings: Settings,
    graph: Graph,
    diff: Diff,
    selected: frozenset[ObjectName] | None,
) -> tuple[tuple[Operation, ...], tuple[Blocked, ...]]:
    """The operations that may run, and those that may not, each with its reason."""
    reasons: dict[str, str] = {}
    dependents = _dependents(diff) if selected is not None else {}
    for operation in operations:
        reason = (
            _lifecycle(operation, diff.objects[operation.object])
            or _destructive(operation, settings)
            or _member(operation, diff, selected)
        )
        if not reason and selected is not None:
            reason = _unselected(operation, graph, diff, selected, dependents)
        if reason:
            reasons[operation.id] = reason
    if not reasons:
        return operations, ()
    _spread(operations, reasons)
    return (
        tuple(operation for operation in operations if operation.id not in reasons),
        tuple(Blocked(item, reasons[item.id]) for item in operations if item.id in reasons),
    )


@dataclass(frozen=True, slots=True)
class Held:
    """Changes of which nothing may run: nothing has changed until somebody decides, so they are no
    reason to redeploy others. Else those would be redeployed by every plan until then."""

    objects: frozenset[ObjectName] = frozenset()
    indexes: frozenset[tuple[ObjectName, str]] = frozenset()

    def without(self, facts: Facts) -> Facts:
        """The facts as they are while these changes are held back."""
        return replace(
            facts,
            changed={name: rule for name, rule in facts.changed.items() if name not in self.objects},
            changed_indexes=tuple(item for item in facts.changed_indexes if item not in self.indexes),
        )


def held_back(operations: tuple[Operation, ...], blocked: tuple[Blocked, ...], facts: Facts) -> Held:
    """What changed and has operations, none of which may run."""
    if not blocked:
        return Held()
    stopped = {item.operation.id for item in blocked}
    free = {name for item in operations if item.id not in stopped for name in _about(item)}
    free_indexes = {(item.object, item.index) for item in operations if item.id not in stopped}
    names = {name for item in blocked for name in _about(item.operation)} - free
    indexes = {(item.operation.object, item.operation.index) for item in blocked} - free_indexes
    return Held(
        frozenset(name for name in facts.changed if name in names),
        frozenset(item for item in facts.changed_indexes if item in indexes or item[0] in names),
    )


def _spread(operations: tuple[Operation, ...], reasons: dict[str, str]) -> None:
    """Block what needs a blocked operation, and the first half of what could not be ended: the
    drop of what is not made again, and the empty members of a component that is not computed.
    Either would leave readers with nothing until somebody decides."""
    needing: dict[str, list[str]] = {}
    halves: dict[str, list[tuple[str, str]]] = {}  # by the operation that would end them
    drops: dict[ObjectName, list[str]] = {}
    creates: dict[ObjectName, str] = {}
    for operation in operations:
        for needed in operation.depends_on:
            needing.setdefault(needed, []).append(operation.id)
        name = operation.object
        if operation.phase == "teardown":
            if operation.narrows and operation.action == "drop":
                drops.setdefault(name, []).append(operation.id)
        elif operation.index is None:
            halves[operation.id] = [(drop, "makes it again") for drop in drops.get(name, ())]
            if operation.action == "create":
                creates[name] = operation.id
            elif operation.action == "fixpoint":
                members = sorted(map(subject, operation.effects))
                halves[operation.id] += [(creates[one], "fills it") for one in members if one in creates]
    queue = deque(item.id for item in operations if item.id in reasons)
    while queue:
        blocked = queue.popleft()
        found = [(other, f"needs {blocked}, which is blocked") for other in needing.get(blocked, ())]
        found += [(half, f"{blocked}, which {why}, is blocked") for half, why in halves.get(blocked, ())]
        for other, reason in found:
            if other not in reasons:
                reasons[other] = reason
                queue.append(other)


def _lifecycle(operation: Operation, entry: ObjectDiff) -> str:
    """What is protected is not dropped. The file of an object that changes its kind is gone, as that of a
    removed one is: what it said last still holds."""
    items = (entry.old, entry.new) if entry.status == "kind" else (entry.new or entry.old,)
    protected = any(item is not None and item.lifecycle == "protected" for item in items)
    if operation.narrows and operation.index is None and protected:
        return f"{operation.object} is protected (lifecycle=protected): it is never dropped or narrowed"
    return ""


def _about(operation: Operation) -> set[ObjectName]:
    """The objects that an operation is about: its own, and for a fixpoint all members."""
    return {operation.object, *map(subject, operation.effects)}


def _member(operation: Operation, diff: Diff, selected: frozenset[ObjectName] | None) -> str:
    """A component is computed as a whole, or not at all."""
    for name in sorted(_about(operation)) if operation.action == "fixpoint" else ():
        entry = diff.objects[name]
        if entry.left and entry.new is not None:
            what = "external" if entry.new.lifecycle == "external" else "INACTIVE"
            return f"{name}, which is computed with it, is {what}: nothing is done to it"
        if selected is not None and name not in selected and entry.changed and entry.old is not None:
            return f"{name}, which is computed with it, has changed and is not selected"
    return ""


def _destructive(operation: Operation, settings: Settings) -> str:
    if operation.destructive and settings.on_destructive == "block":
        return "it is destructive, and on_destructive is block"
    return ""


def _unselected(
    operation: Operation,
    graph: Graph,
    diff: Diff,
    selected: frozenset[ObjectName],
    dependents: Mapping[ObjectName, list[ObjectName]],
) -> str:
    if operation.phase == "teardown":
        goes = operation.action == "drop" or diff.objects[operation.object].status == "removed"
        if not goes or operation.index is not None:
            return ""
        left = [name for name in dependents.get(operation.object, ()) if name not in selected]
        return f"{left[0]}, which is deployed and not selected, depends on it" if left else ""
    for node in _needed(operation, graph, diff):
        if node.name in selected:
            continue
        if _undeployed(diff.objects[node.name], node):
            return f"needs {node}, which is not deployed and not selected"
        if column := _named(operation, _undeployed_columns(diff.objects[node.name])):
            return f"needs column {column} of {node.name}, which is not deployed and not selected"
    return ""


def _needed(operation: Operation, graph: Graph, diff: Diff) -> Iterator[Node]:
    """What must be deployed when an operation runs: what its change needs, or all of its object
    where it is about no change; for a fixpoint what any of the members needs."""
    for name in sorted(_about(operation)):
        new = diff.objects[name].new
        for node in new.nodes() if new else ():
            if operation.change in (None, node.change):
                yield from (target for target in graph.requires[node] if target.name != name)


def _undeployed(entry: ObjectDiff, node: Node) -> bool:
    """Whether what is deployed of an object is not there, another thing, or not that far."""
    if entry.left:
        return False
    if entry.old is None or entry.status in ("kind", "moved"):
        return True
    return any(item.change.name == node.change for item in entry.pending)


def _undeployed_columns(entry: ObjectDiff) -> set[str]:
    """The columns that a table declares, and that the deployed one does not have yet."""
    if entry.left or not entry.changed:
        return set()
    before = entry.old.definition if entry.old else None
    return columns_beyond(entry.new.definition if entry.new else None, before)


def _named(operation: Operation, columns: set[str]) -> str:
    """The first of these columns that a statement has as a word."""
    words = {unquoted(word).casefold() for word in lex(operation.sql).texts} if columns else set()
    return min(words & columns, default="")


def _dependents(diff: Diff) -> dict[ObjectName, list[ObjectName]]:
    found: dict[ObjectName, list[ObjectName]] = {}
    for name, record in sorted(diff.state.items()):
        for target in record.dependencies:
            found.setdefault(target, []).append(name)
    return found

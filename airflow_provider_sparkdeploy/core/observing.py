"""Which operations leave a scripted table in a shape that must be looked up.

Nothing declares what a script makes of its table. So its last operation carries ``Observe``, and
the executor records what it finds. A statement of another script that alters the table carries it
too: otherwise what a migration did would look like somebody's work by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .lexer import lex
from .names import ObjectName
from .objects import ObjectDef, Statement
from .operations import Operation
from .repository import Repository
from .resolve import Resolver, make_resolver
from .state import Observe, PutObject, Settle
from .statement import read_head

# They change rows, never a table.
_ROWS = frozenset({"insert", "select", "with", "from", "values", "merge", "update", "delete", "truncate"})


def observed_operations(operations: Sequence[Operation], repository: Repository) -> tuple[Operation, ...]:
    """The operations, each with what is to be looked up once it is done."""
    resolver = make_resolver(repository)
    run = {
        operation.object
        for operation in operations
        if any(isinstance(effect, PutObject) for effect in operation.effects)
    }  # of the others, what was recorded before holds: they are healed, or get an index
    return tuple(_with_observations(operation, run, repository, resolver) for operation in operations)


def _with_observations(
    operation: Operation, run: set[ObjectName], repository: Repository, resolver: Resolver
) -> Operation:
    if operation.kind not in ("table", "migration"):
        return operation
    item = repository.objects.get(operation.object)
    found = set[ObjectName]()
    if operation.change is not None:
        found |= _altered(operation, item, resolver)
        if operation.phase == "teardown" and operation.action == "run":  # a statement of a rollback
            found.add(operation.object)
    if operation.object in run and any(isinstance(effect, Settle) for effect in operation.effects):
        found.add(operation.object)
    tables = [repository.objects[name] for name in sorted(found) if name in repository.objects]
    looked_up = tuple(Observe(table.name, table.physical) for table in tables if _is_script(table))
    return replace(operation, effects=(*operation.effects, *looked_up)) if looked_up else operation


def _is_script(item: ObjectDef) -> bool:
    return item.kind == "table" and item.scripted and item.lifecycle != "external"


def _altered(operation: Operation, item: ObjectDef | None, resolver: Resolver) -> set[ObjectName]:
    """The other scripted tables that a statement may alter."""
    statement = _statement(operation, item)
    if statement is not None:
        references = statement.references
        names = {resolver.table(parts, operation.object.schema) for parts in references.tables}
        names |= {resolver.word(parts, operation.object.schema) for parts in references.words}
        names -= {operation.object, None}
        if not any(name and _is_script(resolver.objects[name]) for name in names):
            return set()
        alters = read_head(lex(statement.sql)).verb not in _ROWS
        return {name for name in names if name} if alters else set()
    head = read_head(lex(operation.sql))  # of a rollback, or of what the repository no longer has
    parts = tuple(part.casefold() for part in head.name)
    name = resolver.table(parts, operation.object.schema) if parts else None
    return {name} if name else set()


def _statement(operation: Operation, item: ObjectDef | None) -> Statement | None:
    if item is None or operation.phase == "teardown":
        return None
    for change in item.changes:
        if change.name == operation.change and operation.statement <= len(change.statements):
            return change.statements[operation.statement - 1]
    return None

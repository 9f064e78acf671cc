"""Plans that would contradict themselves: setup reading what teardown has dropped."""

from __future__ import annotations

from .diagnostics import Diagnostic
from .diff import Diff, ObjectDiff
from .lexer import lex
from .names import ObjectName
from .objects import ObjectDef, Statement, columns_beyond
from .operations import Operation
from .records import drops_table
from .repository import Repository
from .resolve import Resolver, make_resolver, physical_schema
from .scriptdiff import Pending
from .state import DeployedObject
from .statement import name_at, unquoted


def find_hazards(repository: Repository, diff: Diff, operations: tuple[Operation, ...]) -> list[Diagnostic]:
    """A setup statement that reads what the same plan tears down is an error. ``operations`` are those
    that may run: what is not dropped after all may be read.

    A dropped object that does not come back must not be read by anything, nor one that was dropped
    before; one that does come back is empty until it is filled, so scripts must not read it; a
    dropped column must not be read by any statement. Where a name may be another table's column, and
    what is not there because it is INACTIVE, so that somebody else may have made it, are warnings.
    """
    gone, emptied, columns = _torn_down(operations, diff)
    absent = _absent(diff)
    if not gone and not emptied and not columns and not absent:
        return []
    resolver = _with_removed(repository, diff)
    problems: list[Diagnostic] = []
    for name in _readers(diff, operations, gone):
        entry = diff.objects[name]
        item = entry.new
        assert item is not None
        for statement in _statements(item, entry.pending):
            for target in sorted(_targets(statement, resolver, name.schema) - {name}):
                if target in emptied and _only_fills(statement, target, resolver, name.schema):
                    continue
                certain, possible = _columns_used(
                    statement, target, frozenset(columns.get(target, ())), resolver, name.schema
                )
                message = _judge(item, target, gone, emptied)
                if certain and not message:
                    message = f"column {min(certain)} of {target}, which this plan drops before"
                if message:
                    problems.append(
                        Diagnostic(
                            item.path,
                            statement.line,
                            "SD410",
                            f"{name} reads {message}",
                            "Change what reads it first, or deploy in two steps.",
                            object=str(name),
                        )
                    )
                elif possible:
                    problems.append(_perhaps(item, statement, f"column {min(possible)} of {target}"))
                elif target in absent:
                    problems.append(_not_there(item, statement, target, inactive=absent[target].inactive))
    return problems


def _absent(diff: Diff) -> dict[ObjectName, ObjectDef]:
    """What the repository has, and nobody has deployed or will: INACTIVE, or dropped before."""
    return {
        name: entry.new
        for name, entry in diff.objects.different.items()  # what is not recorded is among them
        if entry.old is None
        and entry.new is not None
        and entry.new.lifecycle != "external"
        and (entry.new.inactive or drops_table(entry.new))
    }


def _not_there(item: ObjectDef, statement: Statement, target: ObjectName, *, inactive: bool) -> Diagnostic:
    if inactive:
        return Diagnostic(
            item.path, statement.line, "SD411", f"{item.name} reads {target}, which is INACTIVE and not deployed",
            "It fails unless somebody else has made it. Take INACTIVE away, or do not read it.",
            severity="warning", object=str(item.name),
        )  # fmt: skip
    return Diagnostic(
        item.path, statement.line, "SD410", f"{item.name} reads {target}, which was dropped (DROP_TABLE)",
        "Do not read it, or take DROP_TABLE away.", object=str(item.name),
    )  # fmt: skip


def _perhaps(item: ObjectDef, statement: Statement, column: str) -> Diagnostic:
    return Diagnostic(
        item.path, statement.line, "SD412", f"{item.name} may read {column}, which this plan drops before",
        "If it does, it fails: change it first, or deploy in two steps. If the column is another one's, all is well; "
        "its table's name before it would say so.",
        severity="warning", object=str(item.name),
    )  # fmt: skip


def _only_fills(statement: Statement, target: ObjectName, resolver: Resolver, schema: str) -> bool:
    """Whether a statement names a table only to insert rows into it."""
    found = lex(statement.sql)
    named, position = False, 0
    while position < len(found.texts):
        parts, end = name_at(found.texts, position)
        if parts and resolver.table(tuple(part.casefold() for part in parts), schema) == target:
            before = [word for word in found.lower[max(position - 2, 0) : position] if word != "table"]
            if "insert" not in found.lower or before[-1:] not in (["into"], ["overwrite"]):
                return False
            named = True
        position = max(end, position + 1)
    return named


def _readers(diff: Diff, operations: tuple[Operation, ...], gone: set[ObjectName]) -> list[ObjectName]:
    """What this plan sets up, and what it leaves as it is although it read what is gone now."""
    found = {operation.object for operation in operations if operation.phase != "teardown"}
    for name, record in diff.state.items() if gone else ():
        if not gone.isdisjoint(record.dependencies) and name in diff.objects:
            entry = diff.objects[name]
            if entry.new is not None and not entry.left:
                found.add(name)
    return sorted(found)


def _statements(item: ObjectDef, pending: tuple[Pending, ...]) -> list[Statement]:
    if not item.scripted:
        return [statement for change in item.changes for statement in change.statements]
    return [statement for entry in pending for statement in entry.change.statements[entry.start :]]


def _torn_down(
    operations: tuple[Operation, ...], diff: Diff
) -> tuple[set[ObjectName], set[ObjectName], dict[ObjectName, set[str]]]:
    dropped = {
        operation.object
        for operation in operations
        if operation.phase == "teardown"
        and operation.index is None
        and (operation.action == "drop" or diff.objects[operation.object].status == "removed")
    }
    created = {  # a migration makes nothing of its name
        operation.object
        for operation in operations
        if operation.phase == "setup" and operation.kind != "migration"
    }
    columns: dict[ObjectName, set[str]] = {}
    for operation in operations:
        if operation.phase == "teardown" and operation.action == "alter":
            entry = diff.objects[operation.object]
            after = next(item.after for item in entry.alterations if item.sql == operation.sql)
            assert entry.old is not None
            assert entry.old.definition is not None
            columns.setdefault(operation.object, set()).update(columns_beyond(entry.old.definition, after))
    for name in dropped & created:  # made anew, and perhaps with fewer columns
        if lost := _lost(diff.objects[name]):
            columns.setdefault(name, set()).update(lost)
    tables = {
        operation.object
        for operation in operations
        if operation.phase == "teardown" and operation.destructive
    }
    return dropped - created, dropped & created & tables, columns


def _lost(entry: ObjectDiff) -> set[str]:
    """The columns that are not there any more once what is dropped is created again."""
    before = entry.old.definition if entry.old else None
    return columns_beyond(before, entry.new.definition if entry.new else None)


def _with_removed(repository: Repository, diff: Diff) -> Resolver:
    """A resolver that also knows what the repository no longer has, also in schemas that are gone."""
    known = make_resolver(repository)
    folders = dict(known.folders)
    objects: dict[ObjectName, ObjectDef | DeployedObject] = {}
    for name, entry in diff.objects.different.items():
        if entry.new is None and entry.old is not None:
            objects[name] = entry.old
            schema = physical_schema(entry.old.physical[:-1])
            if name.schema not in folders.get(schema, ()):
                folders[schema] = (*folders.get(schema, ()), name.schema)
    return Resolver({**objects, **known.objects}, folders, known.catalogs)  # type: ignore[dict-item]


def _targets(statement: Statement, resolver: Resolver, schema: str) -> set[ObjectName]:
    references = statement.references
    found = {resolver.table(parts, schema) for parts in references.tables}
    found |= {resolver.function(parts, schema) for parts in references.calls}
    found |= {resolver.word(parts, schema) for parts in references.words}
    return {name for name in found if name is not None}


def _judge(item: ObjectDef, target: ObjectName, gone: set[ObjectName], emptied: set[ObjectName]) -> str:
    if target in gone:
        return f"{target}, which this plan drops"
    if target in emptied and item.scripted:
        return f"{target}, which this plan drops and creates again, empty"
    return ""


def _columns_used(
    statement: Statement, target: ObjectName, dropped: frozenset[str], resolver: Resolver, schema: str
) -> tuple[frozenset[str], frozenset[str]]:
    """Which of the columns that the plan drops a statement reads: certainly, and perhaps."""
    if not dropped or not any(unquoted(word).casefold() in dropped for word in lex(statement.sql).texts):
        return frozenset(), frozenset()
    from .columnuse import Gives, column_uses

    def gives(parts: tuple[str, ...], column: str) -> Gives:
        found = resolver.table(parts, schema)
        if found == target and column in dropped:
            return Gives.OURS
        item = None if found is None else resolver.objects[found]
        if item is None or item.definition is None or item.lifecycle == "external":
            return Gives.UNKNOWN
        named = any(own.name.casefold() == column for own in item.definition.columns)
        return Gives.THEIRS if named else Gives.NOTHING

    return column_uses(statement.sql, dropped, gives)

"""The teardown operations of one object: rollbacks, drops of indexes, of columns, of the object."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .drafting import Context, alterations, draft
from .names import quote, quote_part
from .operations import Operation
from .records import change_record
from .state import DeployedChange, DropChange, DropIndex, DropObject, PutChange

_DROP_NOUN = {"table": "TABLE", "data": "TABLE", "view": "VIEW", "function": "FUNCTION"}


def teardown(context: Context) -> list[Operation]:
    """What is taken away of an object, in this order."""
    if context.diff.old is None or not context.touched:
        return []
    undone = [operation for change in context.diff.rollback for operation in _rollback(context, change)]
    if context.dropped:
        return undone + _drop(context)
    return [*undone, *_indexes(context), *alterations(context, "teardown")]


def _rollback(context: Context, change: DeployedChange) -> Iterator[Operation]:
    """The recorded rollback of one change, from where it stopped; each statement is recorded."""
    name, last = context.diff.name, len(change.rollback)
    for number, sql in enumerate(change.rollback, 1):
        if number > change.undone:
            gone = DropChange(name, change.name)
            effect = gone if number == last else PutChange(name, replace(change, undone=number))
            yield draft(
                context, "teardown", "run", sql, change.name, "rollback", str(number), change=change.name,
                statement=number, effects=(effect,), destructive=True, narrows=True,
            )  # fmt: skip


def _indexes(context: Context) -> Iterator[Operation]:
    """Indexes that are gone, or are made again."""
    diff, old = context.diff, context.diff.old
    assert old is not None
    rebuilt = {index.name for index in diff.new.indexes} & context.indexes if diff.new else set()
    for index in old.indexes:
        if index.name in diff.indexes_removed or index.name in rebuilt:
            yield draft(
                context, "teardown", "drop", f"DROP INDEX {quote_part(index.created)} ON {quote(old.physical)}",
                index.name, "index", effects=(DropIndex(diff.name, index.name),), compute=index.compute,
                index=index.name,
            )  # fmt: skip


def _drop(context: Context) -> list[Operation]:
    """The drop of the object: as the author of a DROP_TABLE change wrote it, or in one statement."""
    diff, old = context.diff, context.diff.old
    assert old is not None
    gone = DropObject(diff.name)
    script = diff.new.changes[-1] if diff.drops and diff.new and diff.new.changes else None
    if script is not None and script.drops_table and script.statements:
        done = next((len(change.statements) for change in old.changes if change.name == script.name), 0)
        last = len(script.statements)
        return [
            draft(
                context, "teardown", "drop", statement.sql, script.name, str(number), change=script.name,
                statement=number, destructive=True, narrows=True, digest=statement.hash,
                effects=(gone if number == last else PutChange(diff.name, change_record(diff.name, script, {}, number)),),
            )
            for number, statement in enumerate(script.statements, 1)
            if number > done
        ]  # fmt: skip
    noun = _DROP_NOUN.get(old.kind)
    if noun is None:
        noun = "MATERIALIZED VIEW" if context.settings.materialized_views == "native" else "VIEW"
    sql = f"DROP {noun} IF EXISTS {quote(old.physical)}"
    destructive = old.kind == "table"
    return [draft(context, "teardown", "drop", sql, effects=(gone,), destructive=destructive, narrows=True)]

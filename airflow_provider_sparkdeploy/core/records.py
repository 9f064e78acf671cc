"""What the log keeps of an object of the repository."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .names import Node, ObjectName
from .objects import Change, Index, ObjectDef, TableDef
from .state import DeployedChange, DeployedIndex, DeployedObject

Requires = Mapping[Node, tuple[Node, ...]]  # what every change directly needs
_UNKNOWN: Requires = {}


def drops_table(item: ObjectDef) -> bool:
    """Whether its file says that the table is to go: DROP_TABLE on the header or the last change."""
    last = item.changes[-1] if item.changes else None
    return item.dropped or (last is not None and last.drops_table and not last.inactive)


def drop_begun(item: ObjectDef, record: DeployedObject) -> bool:
    """Whether the statements of its DROP_TABLE change have been run in part."""
    last = item.changes[-1].name if item.changes and drops_table(item) else None
    return any(change.name == last and not change.complete for change in record.changes)


def deployable(item: ObjectDef) -> bool:
    """Whether anything of the object is to be there at all."""
    if item.inactive or drops_table(item):
        return False
    return not item.scripted or any(not change.inactive for change in item.changes)


def text_of(change: Change) -> str:
    return ";\n".join([statement.sql for statement in change.statements])


def change_record(
    name: ObjectName, change: Change, requires: Requires, done: int | None = None
) -> DeployedChange:
    """A change of which the first ``done`` statements (all, if not said) were run."""
    needs = tuple(node for node in requires.get(Node(*name, change.name), ()) if node.name != name)
    hashes = tuple(statement.hash for statement in change.statements)
    count = len(hashes) if done is None else done
    return DeployedChange(
        change.name,
        hashes[:count],
        len(hashes),
        text_of(change),
        change.rollback,
        0,
        needs,
        change.baselines,
        change.squashed,
    )


def index_record(index: Index) -> DeployedIndex:
    return DeployedIndex(index.name, index.hash, index.sql, index.compute)


def desired_definition(item: ObjectDef) -> TableDef | None:
    """What a file declares; a comment in the header stands over one in the statement."""
    if item.definition is None or item.comment is None:
        return item.definition
    return replace(item.definition, comment=item.comment)


def head_record(item: ObjectDef, dependencies: tuple[ObjectName, ...]) -> DeployedObject:
    """An object without its changes and indexes, which are recorded one by one."""
    body = None if item.scripted else item.body
    return DeployedObject(
        name=item.name,
        kind=item.kind,
        physical=item.physical,
        hash=body.hash if body else "",
        text=text_of(body) if body else "",
        dependencies=dependencies,
        definition=desired_definition(item),
        lifecycle=item.lifecycle,
        computes=item.computes,
        replacement=item.replacement,
        comment=item.comment,
    )


def record_of(
    item: ObjectDef, dependencies: tuple[ObjectName, ...], requires: Requires = _UNKNOWN
) -> DeployedObject:
    """An object that is deployed in full."""
    changes = (
        tuple(change_record(item.name, change, requires) for change in item.changes if not change.inactive)
        if item.scripted
        else ()
    )
    indexes = tuple(index_record(index) for index in item.indexes)
    return replace(head_record(item, dependencies), changes=changes, indexes=indexes, digest=item.digest)

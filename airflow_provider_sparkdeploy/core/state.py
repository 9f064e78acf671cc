"""What is deployed, and the effects that change it.

Every operation carries its effects: what will be true once it is done. The deploy log
stores them, and folding all effects in order gives the deployed state. So any prefix of a
plan leaves a state from which planning goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .names import Node, ObjectName
from .objects import Column, Kind, Lifecycle, TableDef
from .squash import Inner
from .statement import index_name
from .values import value


@dataclass(frozen=True, slots=True)
class DeployedChange:
    """A change of which the first ``len(statements)`` of ``total`` statements were run, and of
    whose rollback the first ``undone`` statements. ``needs`` are the changes of other objects
    that it was deployed after, ``baselines`` those of its own that it stands for, ``squashed`` what
    those of them stood for that stood for others themselves."""

    name: str
    statements: tuple[str, ...]  # their hashes
    total: int
    text: str = ""
    rollback: tuple[str, ...] = ()
    undone: int = 0
    needs: tuple[Node, ...] = ()
    baselines: tuple[str, ...] = ()
    squashed: Inner = ()

    @property
    def complete(self) -> bool:
        return len(self.statements) >= self.total


@dataclass(frozen=True, slots=True)
class DeployedIndex:
    """``name`` is that of its section, ``created`` what its statement calls it in the catalog."""

    name: str
    hash: str
    sql: str
    compute: str | None = None

    @property
    def created(self) -> str:
        return index_name(self.sql) or self.name


@value(frozen=True, slots=True)
class DeployedObject:
    """What was recorded of an object when it was deployed.

    ``physical``, ``kind`` and ``dependencies`` are what teardown needs once the file is gone.
    ``definition`` is what the catalog is compared with. ``digest`` is that of the file, once
    all of it is deployed. ``due`` says that a plan was to redeploy it, and has not yet.
    """

    name: ObjectName
    kind: Kind
    physical: tuple[str, ...]
    hash: str = ""
    text: str = ""
    dependencies: tuple[ObjectName, ...] = ()
    definition: TableDef | None = None
    lifecycle: Lifecycle = "managed"
    computes: tuple[str, ...] = ()
    replacement: bool = False
    comment: str | None = None
    changes: Sequence[DeployedChange] = ()
    indexes: tuple[DeployedIndex, ...] = ()
    digest: str = ""
    at: str = ""
    run: str = ""
    due: bool = False

    @property
    def scripted(self) -> bool:
        return self.kind == "migration" or (self.kind == "table" and bool(self.changes))

    @property
    def path(self) -> str:
        """Where its file was, in lower case."""
        return f"{self.name.schema}/{self.kind}/{self.name.object}.{'csv' if self.kind == 'data' else 'sql'}"


@value(frozen=True, slots=True)
class PutObject:
    """The object is as ``record`` says; its changes and indexes are kept unless it gives some."""

    record: DeployedObject


@dataclass(frozen=True, slots=True)
class PutChange:
    """A change is as ``change`` says; the changes that it baselines are gone."""

    object: ObjectName
    change: DeployedChange
    replaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DropChange:
    """A change was rolled back; its last one takes the object with it."""

    object: ObjectName
    change: str


@dataclass(frozen=True, slots=True)
class PutIndex:
    object: ObjectName
    index: DeployedIndex


@dataclass(frozen=True, slots=True)
class DropIndex:
    object: ObjectName
    index: str


@value(frozen=True, slots=True)
class Settle:
    """Everything that a file says is deployed: the last effect of an object's operations."""

    object: ObjectName
    digest: str


@dataclass(frozen=True, slots=True)
class Observe:
    """A script has left its table as ``definition`` says. A plan does not know it: the executor
    looks it up once the operation is done. None where that failed, and then nobody can tell later
    on whether somebody else has altered the table."""

    object: ObjectName
    physical: tuple[str, ...]
    definition: TableDef | None = None


@dataclass(frozen=True, slots=True)
class Due:
    """The object must be redeployed for the sake of another, which a plan may have redeployed
    before it was killed. What is put in its place is no longer due."""

    object: ObjectName


@dataclass(frozen=True, slots=True)
class DropObject:
    object: ObjectName


Effect = PutObject | PutChange | DropChange | PutIndex | DropIndex | Settle | Observe | Due | DropObject
State = Mapping[ObjectName, DeployedObject]


def subject(effect: Effect) -> ObjectName:
    """The object that an effect is about."""
    return effect.record.name if isinstance(effect, PutObject) else effect.object


def fold(
    effects: Iterable[tuple[Effect, str, str]], start: State | None = None
) -> dict[ObjectName, DeployedObject]:
    """The state after all effects, each with when and by which run."""
    state = dict(start or {})
    for effect, at, run in effects:
        apply_effect(state, effect, at, run)
    return state


def apply_effect(
    state: MutableMapping[ObjectName, DeployedObject], effect: Effect, at: str = "", run: str = ""
) -> None:
    if isinstance(effect, PutObject):
        record = effect.record
        old = state.get(record.name)
        if old is not None:
            record = replace(
                record,
                changes=record.changes or (old.changes if old.kind == record.kind else ()),
                indexes=record.indexes or (old.indexes if old.kind == record.kind else ()),
            )
        state[record.name] = replace(record, at=at, run=run) if at or run else record
        return
    if isinstance(effect, DropObject):
        state.pop(effect.object, None)
        return
    old = state.get(effect.object)
    if old is None:
        return  # its object was dropped meanwhile
    if isinstance(effect, PutChange):
        new = replace(old, changes=_with_change(old.changes, effect), digest="")
    elif isinstance(effect, DropChange):
        kept = tuple(change for change in old.changes if change.name != effect.change)
        if len(kept) == len(old.changes):
            return
        if not kept:
            del state[effect.object]
            return
        new = replace(old, changes=kept, digest="")
    elif isinstance(effect, PutIndex):
        others = [index for index in old.indexes if index.name != effect.index.name]
        new = replace(
            old, indexes=tuple(sorted([*others, effect.index], key=lambda index: index.name)), digest=""
        )
    elif isinstance(effect, Settle):
        new = replace(old, digest=effect.digest)
    elif isinstance(effect, Observe):
        new = replace(old, definition=_authored(effect.definition, old.changes))
    elif isinstance(effect, Due):
        new = replace(old, digest="", due=True)
    else:
        new = replace(
            old, indexes=tuple(index for index in old.indexes if index.name != effect.index), digest=""
        )
    state[effect.object] = replace(new, at=at, run=run) if at or run else new


def _with_change(changes: Sequence[DeployedChange], effect: PutChange) -> tuple[DeployedChange, ...]:
    """The change where it was, or where the first that it stands for was, or at the end."""
    gone = {effect.change.name, *effect.replaces}
    at = next((number for number, change in enumerate(changes) if change.name in gone), len(changes))
    behind = [change for change in changes[at:] if change.name not in gone]
    return (*changes[:at], effect.change, *behind)


def _authored(found: TableDef | None, changes: Sequence[DeployedChange]) -> TableDef | None:
    """A definition with those properties only that a script mentions: engines keep counts and times
    among them, which differ after every INSERT."""
    if found is None or not found.properties:
        return found
    text = "\n".join(change.text for change in changes)
    return replace(found, properties=tuple(entry for entry in found.properties if entry[0] in text))


def encode_effect(effect: Effect) -> dict[str, Any]:
    """An effect as JSON; empty values are left out."""
    if isinstance(effect, PutObject):
        return {"put": encode_object(effect.record)}
    if isinstance(effect, PutChange):
        data = {"object": list(effect.object), "change": _encode_change(effect.change)}
        return {"change": data | ({"replaces": list(effect.replaces)} if effect.replaces else {})}
    if isinstance(effect, DropChange):
        return {"rolled_back": {"object": list(effect.object), "change": effect.change}}
    if isinstance(effect, PutIndex):
        return {"index": {"object": list(effect.object), "index": _encode_index(effect.index)}}
    if isinstance(effect, DropIndex):
        return {"drop_index": {"object": list(effect.object), "index": effect.index}}
    if isinstance(effect, Settle):
        return {"settle": {"object": list(effect.object), "digest": effect.digest}}
    if isinstance(effect, Observe):
        data = {"object": list(effect.object), "physical": list(effect.physical)}
        seen = {"definition": encode_definition(effect.definition)} if effect.definition else {}
        return {"observed": data | seen}
    if isinstance(effect, Due):
        return {"due": {"object": list(effect.object)}}
    return {"drop": {"object": list(effect.object)}}


def decode_effect(data: Mapping[str, Any]) -> Effect:
    """The inverse of ``encode_effect``; KeyError or TypeError when it is not one."""
    tag, value = next(iter(data.items()))
    if tag == "put":
        return PutObject(decode_object(value))
    name = ObjectName(*value["object"])
    if tag == "change":
        return PutChange(name, _decode_change(value["change"]), tuple(value.get("replaces", ())))
    if tag == "rolled_back":
        return DropChange(name, value["change"])
    if tag == "index":
        return PutIndex(name, DeployedIndex(**value["index"]))
    if tag == "drop_index":
        return DropIndex(name, value["index"])
    if tag == "settle":
        return Settle(name, value["digest"])
    if tag == "observed":
        seen = value.get("definition")
        return Observe(name, tuple(value["physical"]), decode_definition(seen) if seen else None)
    if tag == "due":
        return Due(name)
    if tag == "drop":
        return DropObject(name)
    raise KeyError(tag)


def encode_object(record: DeployedObject) -> dict[str, Any]:
    data: dict[str, Any] = {
        "name": list(record.name),
        "kind": record.kind,
        "physical": list(record.physical),
        "hash": record.hash,
        "text": record.text,
        "dependencies": [list(name) for name in record.dependencies],
        "definition": encode_definition(record.definition) if record.definition else None,
        "lifecycle": record.lifecycle if record.lifecycle != "managed" else None,
        "computes": list(record.computes),
        "replacement": record.replacement,
        "comment": record.comment,
        "changes": [_encode_change(change) for change in record.changes],
        "indexes": [_encode_index(index) for index in record.indexes],
        "digest": record.digest,
        "due": record.due,
    }
    return {key: value for key, value in data.items() if value or (value == "" and key == "comment")}


def decode_object(data: Mapping[str, Any]) -> DeployedObject:
    definition = data.get("definition")
    return DeployedObject(
        name=ObjectName(*data["name"]),
        kind=data["kind"],
        physical=tuple(data["physical"]),
        hash=data.get("hash", ""),
        text=data.get("text", ""),
        dependencies=tuple([ObjectName(*name) for name in data.get("dependencies", ())]),
        definition=decode_definition(definition) if definition else None,
        lifecycle=data.get("lifecycle", "managed"),
        computes=tuple(data.get("computes", ())),
        replacement=data.get("replacement", False),
        comment=data.get("comment"),
        changes=tuple([_decode_change(change) for change in data.get("changes", ())]),
        indexes=tuple([DeployedIndex(**index) for index in data.get("indexes", ())]),
        digest=data.get("digest", ""),
        due=data.get("due", False),
    )


def encode_definition(definition: TableDef) -> dict[str, Any]:
    return {
        "columns": [[c.name, c.type, c.nullable, c.comment] for c in definition.columns],
        "provider": definition.provider,
        "partitioning": list(definition.partitioning),
        "properties": [list(item) for item in definition.properties],
        "comment": definition.comment,
    }


def decode_definition(data: Mapping[str, Any]) -> TableDef:
    return TableDef(
        tuple([Column(*column) for column in data.get("columns", ())]),
        data.get("provider", ""),
        tuple(data.get("partitioning", ())),
        tuple([(key, value) for key, value in data.get("properties", ())]),
        data.get("comment", ""),
    )


def _encode_change(change: DeployedChange) -> dict[str, Any]:
    data: dict[str, Any] = {"name": change.name, "statements": list(change.statements), "total": change.total}
    if change.text:
        data["text"] = change.text
    if change.rollback:
        data["rollback"] = list(change.rollback)
    if change.undone:
        data["undone"] = change.undone
    if change.needs:
        data["needs"] = [list(node) for node in change.needs]
    if change.baselines:
        data["baselines"] = list(change.baselines)
    if change.squashed:
        data["squashed"] = {name: list(names) for name, names in change.squashed}
    return data


def _decode_change(data: Mapping[str, Any]) -> DeployedChange:
    return DeployedChange(
        data["name"],
        tuple(data["statements"]),
        data["total"],
        data.get("text", ""),
        tuple(data.get("rollback", ())),
        data.get("undone", 0),
        tuple([Node(*node) for node in data.get("needs", ())]),
        tuple(data.get("baselines", ())),
        tuple([(name, tuple(names)) for name, names in data.get("squashed", {}).items()]),
    )


def _encode_index(index: DeployedIndex) -> dict[str, Any]:
    data = {"name": index.name, "hash": index.hash, "sql": index.sql}
    return data | ({"compute": index.compute} if index.compute else {})

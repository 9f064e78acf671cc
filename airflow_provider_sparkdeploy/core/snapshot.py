"""The folded state of a log that was read before, found again by the log's content.

A log only grows. A snapshot says what its first so many bytes fold to, with their hash, so
that only what came after is read. Like the pack of parsed files, it may be deleted any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import zlib
from collections.abc import Container, Iterator, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .cache import cache_folder, replace_file, version_salt
from .lazy import Lazy
from .names import Node, ObjectName
from .objects import Column, TableDef
from .state import DeployedChange, DeployedIndex, DeployedObject, State

_MAGIC = b"sdstate2\n"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the first ``length`` bytes of a log fold to, and the environment that they name."""

    length: int
    environment: str
    state: Records


class Records(MutableMapping[ObjectName, DeployedObject]):
    """A deployed state whose records are made when somebody looks at them."""

    def __init__(self, packed: dict[tuple[str, ...], tuple[Any, ...]]) -> None:
        self._packed = packed  # name -> digest, dependencies, everything else as bytes
        self._made: dict[ObjectName, DeployedObject] = {}

    def same(self, name: ObjectName, digest: str, dependencies: tuple[ObjectName, ...]) -> bool:
        """Whether an object is recorded with this digest and these dependencies."""
        packed = self._packed.get(name)
        return packed is not None and packed[0] == digest and packed[1] == dependencies

    def outside(self, names: Container[tuple[str, ...]]) -> list[ObjectName]:
        """The recorded names that are not among these."""
        return [ObjectName(*name) for name in self._packed if name not in names]

    def __getitem__(self, name: ObjectName) -> DeployedObject:
        made = self._made.get(name)
        if made is None:
            packed = self._packed[name]
            made = self._made[name] = _unpack(marshal.loads(packed[2]))
        return made

    def __setitem__(self, name: ObjectName, record: DeployedObject) -> None:
        self._made[name] = record
        self._packed[name] = (record.digest, record.dependencies, b"")

    def __delitem__(self, name: ObjectName) -> None:
        del self._packed[name]
        self._made.pop(name, None)

    def __iter__(self) -> Iterator[ObjectName]:
        return (ObjectName(*name) for name in self._packed)

    def __len__(self) -> int:
        return len(self._packed)

    def __contains__(self, name: object) -> bool:
        return name in self._packed


def load_snapshot(log: Path, data: bytes) -> Snapshot | None:
    """The snapshot of this log, if it is one of what ``data`` begins with."""
    try:
        raw = _path(log).read_bytes()
        if zlib.crc32(memoryview(raw)[4:]) != int.from_bytes(raw[:4], "big"):
            return None
        salt, length, digest, environment, objects = marshal.loads(memoryview(raw)[4:])
    except (OSError, ValueError, EOFError, TypeError):
        return None
    if salt != _salt() or length > len(data) or _digest(memoryview(data)[:length]) != digest:
        return None
    return Snapshot(length, environment, Records(objects))


def save_snapshot(log: Path, data: bytes, environment: str, state: State) -> None:
    """Keep the state that ``data`` folds to."""
    objects = {
        tuple(name): (record.digest, tuple(map(tuple, record.dependencies)), marshal.dumps(_pack(record)))
        for name, record in state.items()
    }
    body = marshal.dumps((_salt(), len(data), _digest(data), environment, objects))
    with contextlib.suppress(OSError):
        path = _path(log)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(path, zlib.crc32(body).to_bytes(4, "big") + body)


def _salt() -> bytes:
    """A snapshot of another shape is none, also between two releases."""
    return _MAGIC + version_salt()


def _path(log: Path) -> Path:
    return cache_folder() / f"{hashlib.sha256(str(log.resolve()).encode()).hexdigest()[:24]}.state"


def _digest(data: bytes | memoryview) -> bytes:
    return hashlib.sha256(data).digest()


def _pack(r: DeployedObject) -> tuple[Any, ...]:
    definition = None
    if r.definition is not None:
        d = r.definition
        columns = tuple((c.name, c.type, c.nullable, c.comment) for c in d.columns)
        definition = (columns, d.provider, d.partitioning, d.properties, d.comment)
    return (
        tuple(r.name), r.kind, r.physical, r.hash, r.text, tuple(map(tuple, r.dependencies)), definition,
        r.lifecycle, r.computes, r.replacement, r.comment,
        tuple(
            (c.name, c.statements, c.total, c.text, c.rollback, c.undone, tuple(map(tuple, c.needs)), c.baselines)
            for c in r.changes
        ),
        tuple((i.name, i.hash, i.sql, i.compute) for i in r.indexes),
        r.digest, r.at, r.run, r.due,
    )  # fmt: skip


def _unpack(p: tuple[Any, ...]) -> DeployedObject:
    (
        name,
        kind,
        physical,
        body,
        text,
        needs,
        definition,
        lifecycle,
        computes,
        replaces,
        comment,
        changes,
        indexes,
        *rest,
    ) = p
    if definition is not None:
        definition = TableDef(tuple([Column(*column) for column in definition[0]]), *definition[1:])
    return DeployedObject(
        ObjectName(*name), kind, physical, body, text, tuple([ObjectName(*need) for need in needs]), definition,
        lifecycle, computes, replaces, comment, Lazy(len(changes), changes, _changes),
        tuple([DeployedIndex(*index) for index in indexes]), *rest,
    )  # fmt: skip


def _changes(packed: tuple[Any, ...]) -> tuple[DeployedChange, ...]:
    return tuple([_change(*change) for change in packed])


def _change(
    name: str,
    statements: tuple[str, ...],
    total: int,
    text: str,
    rollback: tuple[str, ...],
    undone: int,
    needs: tuple[tuple[str, str, str], ...],
    baselines: tuple[str, ...],
) -> DeployedChange:
    nodes = tuple([Node(*need) for need in needs])
    return DeployedChange(name, statements, total, text, rollback, undone, nodes, baselines)

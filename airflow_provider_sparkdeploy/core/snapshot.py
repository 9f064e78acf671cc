"""The folded state of a log that was read before, found again by the log's content.

A log only grows. A snapshot says what its first so many bytes fold to, with their checksum, so
that only what came after is read. Like the pack of parsed files, it may be deleted any time.
"""

from __future__ import annotations

import hashlib
import marshal
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .cache import cache_folder, read_checked, version_salt, write_checked
from .lazy import Lazy, Records
from .names import Node, ObjectName
from .objects import Column, TableDef
from .squash import Inner
from .state import DeployedChange, DeployedIndex, DeployedObject, State

_MAGIC = b"sdstate4\n"
_END = 4096  # bytes


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the first ``length`` bytes of a log fold to, and the environment that they name."""

    length: int
    environment: str
    state: Records


def load_snapshot(log: Path, data: bytes) -> Snapshot | None:
    """The snapshot of this log, if it is one of what ``data`` begins with."""
    found = read_checked(_path(log))
    if not isinstance(found, tuple) or len(found) != 5:
        return None
    salt, length, digest, environment, objects = found
    if salt != _salt() or length > len(data) or _digest(memoryview(data)[:length]) != digest:
        return None
    return Snapshot(length, environment, Records(objects, _unpack))


def save_snapshot(log: Path, data: bytes, environment: str, state: State) -> None:
    """Keep the state that ``data`` folds to."""
    # What is one value here, marshal writes and reads once.
    names = {name: (sys.intern(name.schema), name.object) for name in state}
    objects = {
        names[name]: (
            record.digest,
            tuple([names.get(other, tuple(other)) for other in record.dependencies]),
            marshal.dumps(_pack(record)),
        )
        for name, record in state.items()
    }
    write_checked(_path(log), (_salt(), len(data), _digest(data), environment, objects))


def _salt() -> bytes:
    """A snapshot of another shape is none, also between two releases."""
    return _MAGIC + version_salt()


def _path(log: Path) -> Path:
    return cache_folder() / f"{hashlib.sha256(str(log.resolve()).encode()).hexdigest()[:24]}.state"


def _digest(data: bytes | memoryview) -> tuple[int, bytes]:
    """What tells one log from another: a checksum of the whole, which notices an edited line, and a hash of
    the last entries, with runs and times that no other log has. SHA-256 of the whole takes four times as long."""
    return zlib.crc32(data), hashlib.sha256(data[-_END:]).digest()


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
            (
                c.name, c.statements, c.total, c.text, c.rollback, c.undone, tuple(map(tuple, c.needs)),
                c.baselines, c.squashed,
            )
            for c in r.changes
        ),
        tuple((i.name, i.hash, i.sql, i.compute) for i in r.indexes),
        r.digest, r.at, r.run, r.due,
    )  # fmt: skip


def _unpack(packed: bytes) -> DeployedObject:
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
    ) = marshal.loads(packed)
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
    squashed: Inner,
) -> DeployedChange:
    nodes = tuple([Node(*need) for need in needs])
    return DeployedChange(name, statements, total, text, rollback, undone, nodes, baselines, squashed)

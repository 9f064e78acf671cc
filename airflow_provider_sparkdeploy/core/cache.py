"""What was parsed before, found again by content.

A pack is a file of segments. Each holds parsed files by the hash of everything that went
into them, so a pack is never wrong, only incomplete: it may be deleted at any time, and
writers need no lock. A segment that was torn by a crash, or written by another version of
this tool, fails its check and is passed over.
"""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .diagnostics import Diagnostic
from .fingerprint import tool_versions
from .lazy import Lazy, Objects
from .names import ObjectName
from .objects import (
    Change,
    Column,
    DependencyRules,
    Index,
    ObjectDef,
    Outlines,
    References,
    Statement,
    TableDef,
)
from .parse import Parsed

Key = bytes
Packed = tuple[Any, ...]

_MAGIC = b"sdpackB\n"
_MAX_SEGMENTS = 8
_SPARE = 1 << 20  # bytes
MEMO = b"memo"  # so begin the keys of everything but files


def cache_folder() -> Path:
    """Where packs live: ``SPARKDEPLOY_CACHE``, or the user's cache folder."""
    if chosen := os.environ.get("SPARKDEPLOY_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "sparkdeploy"


def version_salt() -> bytes:
    """Everything that could make the same text parse to something else, or be packed otherwise."""
    return "\x1f".join([*tool_versions(), sys.version, str(marshal.version)]).encode()


class Pack:
    """Entries of one repository and environment. A cache that cannot be read or written is
    no error: everything is simply parsed again."""

    def __init__(self, name: str) -> None:
        self.path = cache_folder() / f"{hashlib.sha256(name.encode()).hexdigest()[:24]}.pack"
        self.entries: dict[Key, Packed] = {}
        self.segments = 0
        self.size = 0
        self.first = 0  # bytes of the first segment, which holds all that there was when it was written
        self.complete = True
        with contextlib.suppress(OSError):
            self._read(self.path.read_bytes())

    def _read(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            magic, length, checksum = bytes(view[:8]), view[8:16], view[16:20]
            body = view[20 : 20 + int.from_bytes(length, "big")]
            end = 20 + len(body)
            whole = magic == _MAGIC and len(checksum) == 4 and len(body) == int.from_bytes(length, "big")
            found = _loads(body) if whole and zlib.crc32(body) == int.from_bytes(checksum, "big") else None
            if not isinstance(found, dict):
                self.complete = False
                return
            self.entries.update(found)
            self._count(end)
            view = view[end:]

    def _count(self, size: int) -> None:
        """One more segment."""
        self.segments += 1
        self.size += size
        self.first = self.first or size

    @property
    def _full(self) -> bool:
        """Whether it is time to write one segment in place of many, of which most are outdated."""
        return self.segments >= _MAX_SEGMENTS or self.size > 2 * self.first + _SPARE

    def append(self, added: dict[Key, Any]) -> None:
        """Keep more entries; one write, so that concurrent writers do not mix."""
        if not added:
            return
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self.complete:
                segment = _segment(added)
                with open(self.path, "ab", buffering=0) as file:
                    self.complete = file.write(segment) == len(segment)  # not on a full disk
                self._count(len(segment))
            else:
                self._rewrite()

    def _rewrite(self) -> None:
        """One segment with everything, in place of many or of a damaged pack."""
        whole = _segment(self.entries)
        replace_file(self.path, whole)
        self.segments, self.size, self.first, self.complete = 1, len(whole), len(whole), True

    def forget_others(self, used: set[Key]) -> None:
        """Drop what no file of the repository needs any more: when all is written anew anyhow, or
        once that, with the results that are kept beside files, is most of the pack."""
        crowded = len(self.entries) > 4 * len(used) + 1000
        if not crowded and self.complete and not self._full:
            return
        needed = {id(self.entries[key]) for key in used}  # under any of their keys
        self.entries = {
            key: value
            for key, value in self.entries.items()
            if id(value) in needed or (key.startswith(MEMO) and not crowded)
        }
        self.complete = False


def replace_file(path: Path, content: bytes) -> None:
    """Write a file in one step: readers see the old content or the new, and a full disk leaves
    the old one and nothing beside it."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def read_checked(path: Path) -> Any:
    """What ``write_checked`` wrote there last; None where nothing is, or not all of it."""
    try:
        raw = memoryview(path.read_bytes())
    except OSError:
        return None
    return _loads(raw[4:]) if zlib.crc32(raw[4:]) == int.from_bytes(raw[:4], "big") else None


def write_checked(path: Path, value: Any) -> None:
    """Keep one plain value in a file of the cache; where that is not possible, it is not kept."""
    body = marshal.dumps(value)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(path, zlib.crc32(body).to_bytes(4, "big") + body)


def _loads(body: memoryview) -> Any:
    """What a segment holds; None where it is not readable after all."""
    try:
        return marshal.loads(body)
    except (ValueError, EOFError, TypeError):
        return None


class Memo:
    """Results that follow from the content of files, kept in the same pack by keys that begin with
    ``MEMO``."""

    def __init__(self, pack: Pack) -> None:
        self._pack = pack

    @property
    def get(self) -> Callable[[Key], Any]:
        """What is known by a key; None where nothing is."""
        return self._pack.entries.get

    def learn(self, found: dict[Key, Any]) -> None:
        """Keep results for the next time; plain values only."""
        self._pack.entries.update(found)
        self._pack.append(found)


def _segment(entries: dict[Key, Packed]) -> bytes:
    body = marshal.dumps(entries)
    return _MAGIC + len(body).to_bytes(8, "big") + zlib.crc32(body).to_bytes(4, "big") + body


def pack(parsed: Parsed) -> Packed:
    """A parsed file as plain values, which marshal reads fastest: its problems, the outline of its object (for
    that, see ``Outlines``), and the rest as bytes, which are read only when they are looked at. As few
    values as can be: all of them are read for every plan."""
    problems = tuple(_diagnostic(item) for item in parsed.problems)
    o = parsed.object
    if o is None:
        return (problems, None)
    definition = None
    if o.definition is not None:
        d = o.definition
        columns = tuple((c.name, c.type, c.nullable, c.comment) for c in d.columns)
        definition = (columns, d.provider, d.partitioning, d.properties, d.comment)
    changes = tuple(
        (
            c.name, c.line, c.hash, tuple(_statement(s) for s in c.statements), c.rollback, c.compute,
            tuple(c.dependencies),
            c.baselines, c.inactive, c.drops_table, c.squashed,
        )
        for c in o.changes
    )  # fmt: skip
    indexes = tuple((i.name, i.line, i.sql, i.hash, i.compute) for i in o.indexes)
    rest: Packed = (
        *o[2:_CHANGES],
        marshal.dumps(changes),
        indexes,
        definition,
        *o[_REST:_CHANGE_NAMES],
        o.computes,
    )
    plain = not (o.kind == "sink" or o.replacement or o.computes or o.indexes)
    names = _UNNAMED if o.change_names == _UNNAMED else o.change_names
    # What is one value here, marshal writes and reads once.
    outline = (sys.intern(o.name.schema), o.name.object, sys.intern(o.kind), names, o.digest, o.needs, plain)
    return (problems, *outline, marshal.dumps(rest))


def _diagnostic(d: Diagnostic) -> Packed:
    return (d.file, d.line, d.code, d.message, d.advice, d.severity, d.object)


def _statement(s: Statement) -> Packed:
    r = s.references
    return (s.sql, s.line, s.hash, s.action, (r.tables, r.calls, r.words), s.destructive, s.parsed, s.query)


_CHANGES = ObjectDef._fields.index("changes")
_REST = ObjectDef._fields.index("definition") + 1
_CHANGE_NAMES = ObjectDef._fields.index("change_names")
_UNNAMED = ("",)
_DEFAULT_RULES = DependencyRules()
_NO_RULES = tuple(_DEFAULT_RULES)


def problems_of(packed: Packed) -> tuple[Diagnostic, ...]:
    """What is wrong with a file."""
    return tuple([Diagnostic(*item) for item in packed[0]])


def unpack(packed: Packed) -> ObjectDef:
    """The object of a file that declares one."""
    _, schema, name, kind, change_names, digest, needs, _, rest = packed
    path, line, physical, changes, indexes, definition, *others, computes = marshal.loads(rest)
    return ObjectDef._make((
        ObjectName(schema, name), kind, path, line, physical,
        Lazy(len(change_names), changes, _changes),
        tuple([Index(*index) for index in indexes]),
        None if definition is None else TableDef(tuple([Column(*c) for c in definition[0]]), *definition[1:]),
        *others, change_names, computes, digest, needs,
    ))  # fmt: skip


def unpack_all(rows: Sequence[Packed]) -> Objects:
    """The objects of files that declare one each, sorted by name."""
    if not rows:
        return Objects(Outlines(), (), unpack)
    _, schemas, names, *others, _ = zip(*rows, strict=True)
    new = tuple.__new__  # of every object there is: half as long as calling the class
    both = [new(ObjectName, pair) for pair in zip(schemas, names, strict=True)]
    return Objects(Outlines(both, *others), rows, unpack)


def _changes(packed: bytes) -> tuple[Change, ...]:
    return tuple([_change(change) for change in marshal.loads(packed)])


def _change(packed: Packed) -> Change:
    name, line, digest, statements, rollback, compute, rules, baselines, inactive, drops, squashed = packed
    return Change(
        name, line, digest,
        tuple([Statement(s[0], s[1], s[2], s[3], References(*s[4]), *s[5:]) for s in statements]),
        rollback, compute,
        _DEFAULT_RULES if rules == _NO_RULES else DependencyRules(*rules),
        baselines, inactive, drops, squashed,
    )  # fmt: skip

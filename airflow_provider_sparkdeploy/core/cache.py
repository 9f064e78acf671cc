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
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .diagnostics import Diagnostic
from .fingerprint import tool_versions
from .lazy import Lazy
from .names import ObjectName
from .objects import Change, Column, DependencyRules, Index, ObjectDef, References, Statement, TableDef
from .parse import Parsed

Key = bytes
Packed = tuple[Any, ...]

_MAGIC = b"sdpack8\n"
_MAX_SEGMENTS = 32
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
            self.segments += 1
            view = view[end:]

    def append(self, added: dict[Key, Any]) -> None:
        """Keep more entries; one write, so that concurrent writers do not mix."""
        if not added:
            return
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self.complete and self.segments < _MAX_SEGMENTS:
                segment = _segment(added)
                with open(self.path, "ab", buffering=0) as file:
                    self.complete = file.write(segment) == len(segment)  # not on a full disk
                self.segments += 1
            else:
                self._rewrite()

    def _rewrite(self) -> None:
        """One segment with everything, in place of many or of a damaged pack."""
        replace_file(self.path, _segment(self.entries))
        self.segments, self.complete = 1, True

    def forget_others(self, used: set[Key]) -> None:
        """Drop what no file of the repository needs any more: when all is written anew anyhow, or
        once that, with the results that are kept beside files, is most of the pack."""
        crowded = len(self.entries) > 4 * len(used) + 1000
        if not crowded and self.complete and self.segments < _MAX_SEGMENTS:
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
    """A parsed file as plain values, which marshal reads fastest: first what every plan looks
    at, last its changes, as bytes, which are read only when they are looked at."""
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
            (c.dependencies.replace, c.dependencies.include, c.dependencies.exclude, c.dependencies.line),
            c.baselines, c.inactive, c.drops_table,
        )
        for c in o.changes
    )  # fmt: skip
    indexes = tuple((i.name, i.line, i.sql, i.hash, i.compute) for i in o.indexes)
    before, after = o[1:_CHANGES], o[_CHANGES + 3 :]
    return (problems, *o.name, *before, marshal.dumps(changes), indexes, definition, *after)


def _diagnostic(d: Diagnostic) -> Packed:
    return (d.file, d.line, d.code, d.message, d.advice, d.severity, d.object)


def _statement(s: Statement) -> Packed:
    r = s.references
    return (s.sql, s.line, s.hash, s.action, (r.tables, r.calls, r.words), s.destructive, s.parsed, s.query)


_CHANGES = ObjectDef._fields.index("changes")
_CHANGE_NAMES = ObjectDef._fields.index("change_names") + 2  # as packed: problems first, a name in two parts
_REST = ObjectDef._fields.index("definition") + 3
_new = tuple.__new__  # of every object there is: half as long as calling the class
_NO_RULES = (None, (), (), 0)
_DEFAULT_RULES = DependencyRules()


def unpack(packed: Packed) -> Parsed:
    problems = tuple([Diagnostic(*item) for item in packed[0]]) if packed[0] else ()
    if packed[1] is None:
        return Parsed(None, problems)
    _, schema, name, kind, path, line, physical, changes, indexes, definition = packed[:_REST]
    return _new(Parsed, (
        _new(ObjectDef, (
            _new(ObjectName, (schema, name)), kind, path, line, physical,
            Lazy(len(packed[_CHANGE_NAMES]), changes, _changes),
            tuple([Index(*index) for index in indexes]) if indexes else (),
            None if definition is None else TableDef(tuple([Column(*c) for c in definition[0]]), *definition[1:]),
            *packed[_REST:],
        )),
        problems,
    ))  # fmt: skip


def _changes(packed: bytes) -> tuple[Change, ...]:
    return tuple([_change(change) for change in marshal.loads(packed)])


def _change(packed: Packed) -> Change:
    name, line, digest, statements, rollback, compute, rules, baselines, inactive, drops = packed
    return Change(
        name, line, digest,
        tuple([Statement(s[0], s[1], s[2], s[3], References(*s[4]), *s[5:]) for s in statements]),
        rollback, compute,
        _DEFAULT_RULES if rules == _NO_RULES else DependencyRules(*rules),
        baselines, inactive, drops,
    )  # fmt: skip

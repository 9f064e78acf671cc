"""Names of objects, and the one place where identifiers and literals are quoted.

A name is a tuple of parts, never a joined string: ``a_b.c`` and ``a.b_c`` differ, and
``select`` is a legal schema name. Identity is case-folded; how the author spelled it is
kept apart (``ObjectDef.physical``) and is what goes into SQL.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

SESSION_CATALOG = "spark_catalog"


class ObjectName(NamedTuple):
    """The identity of an object: folder (logical schema) and object, both case-folded."""

    schema: str
    object: str

    def __str__(self) -> str:
        return display(self)


def near_object(text: str, names: Iterable[ObjectName]) -> str:
    """A suggestion for what is no object's name, with or without its schema, if one is near."""
    known = {spelled: str(name) for name in sorted(names) for spelled in (name.object, str(name))}
    near = difflib.get_close_matches(text.casefold(), sorted(known), n=1, cutoff=0.6)
    return f"Did you mean {known[near[0]]}?" if near else ""


class Node(NamedTuple):
    """A change of an object; ``change`` is empty for kinds that have no named changes."""

    schema: str
    object: str
    change: str = ""

    @property
    def name(self) -> ObjectName:
        return ObjectName(self.schema, self.object)

    def __str__(self) -> str:
        return display(self if self.change else self[:2])


# What Spark takes without back quotes: ASCII, and no number such as 2020, 1e5 or 10L.
_PLAIN = re.compile(r"(?!\d+(?:[eE]\d+)?(?:[lLsSyYdDfF]|[bB][dD])?\Z)[A-Za-z0-9_]+\Z")
_PART = re.compile(r"`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>[^`.\s]+)")
_TASK_SAFE = re.compile(r"[A-Za-z0-9_]+\Z")


def object_name(schema: str, name: str) -> ObjectName:
    """The identity of an object, from any spelling of its parts."""
    return ObjectName(schema.casefold(), name.casefold())


@lru_cache(maxsize=1 << 16)  # the same few names again and again
def display(parts: tuple[str, ...]) -> str:
    """A name for people: back-quoted only where a part needs it."""
    return ".".join([part if _PLAIN.match(part) else quote_part(part) for part in parts])


def quote_part(part: str) -> str:
    """One identifier, quoted for Spark."""
    return "`" + part.replace("`", "``") + "`"


def quote(parts: tuple[str, ...]) -> str:
    """A dotted identifier for Spark: every part is quoted."""
    return ".".join(map(quote_part, parts))


def in_session_catalog(*parts: str) -> str:
    """The name of something of ours, whatever the current catalog of a session is."""
    return quote((SESSION_CATALOG, *parts))


def quote_literal(text: str) -> str:
    """A string literal for Spark, which also in a literal takes ``${x}`` for one of its variables."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'".replace("${", "\\u0024{")


def parse_name(text: str) -> tuple[str, ...] | None:
    """The parts of a dotted name as written in a header or on a command line.

    Parts may be back-quoted. ``None`` when ``text`` is not a name.
    """
    parts: list[str] = []
    position = 0
    while match := _PART.match(text, position):
        quoted = match["quoted"]
        parts.append(match["plain"] if quoted is None else quoted.replace("``", "`"))
        position = match.end()
        if position == len(text):
            return tuple(parts)
        if text[position] != ".":
            return None
        position += 1
    return None


def task_part(part: str) -> str:
    """One part of an operation id: letters, digits and ``_`` as they are.

    Every other character becomes ``-`` and its code point in hex and another ``-``, so
    that different names never share an id.
    """
    if _TASK_SAFE.match(part):
        return part
    return "".join(char if _TASK_SAFE.match(char) else f"-{ord(char):x}-" for char in part)

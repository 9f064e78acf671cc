"""The types inside a type: the fields of a STRUCT, what an ARRAY holds, the keys and values of a MAP.

Iceberg alters them one by one, by a path: ``point.x``, ``points.element.x``, ``prices.value.net``.
"""

from __future__ import annotations

from collections.abc import Iterable

from . import names
from .cursor import Cursor, Unreadable
from .lexer import LexError, tokens
from .objects import Column
from .sqltypes import read_type

_PARTS = {"struct": (), "array": ("element",), "map": ("key", "value")}


def inner(spelled: str) -> tuple[str, tuple[Column, ...]]:
    """The word of a canonical type and the types inside, as columns; none where it holds none or is
    not to be read."""
    try:
        cursor = Cursor(tokens(spelled))
        word = cursor.take().word
        if word not in _PARTS or not cursor.accept_op("<"):
            return word, ()
        found: list[Column] = []
        while not cursor.accept_op(">"):
            if found:
                cursor.expect_op(",")
            found.append(Column(_name(cursor, word, len(found)), read_type(cursor)))
    except (LexError, Unreadable):
        return "", ()
    return word, tuple(found) if cursor.ended else ()


def outer(word: str, columns: Iterable[Column]) -> str:
    """The type that has these inside."""
    spelled = (
        f"{names.display((column.name,))}:{column.type}" if word == "struct" else column.type
        for column in columns
    )
    return f"{word}<{','.join(spelled)}>"


def _name(cursor: Cursor, word: str, place: int) -> str:
    if word != "struct":
        if place == len(_PARTS[word]):
            raise Unreadable
        return _PARTS[word][place]
    name = cursor.name()
    cursor.expect_op(":")
    return name

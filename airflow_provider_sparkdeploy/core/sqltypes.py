"""The one spelling of a column's type: the one that DESCRIBE uses.

``INTEGER`` and ``int``, ``DEC(5)`` and ``decimal(5,0)`` are the same type, and must not look
like a difference between a declaration and a catalog.
"""

from __future__ import annotations

from . import names
from .cursor import Cursor, Unreadable
from .lexer import LexError, tokens

_ALIASES = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "dec": "decimal",
    "numeric": "decimal",
    "character": "char",
    "timestamp_ltz": "timestamp",
}
_TEXT = frozenset({"string", "char", "varchar"})
_UNITS = frozenset({"year", "month", "day", "hour", "minute", "second"})

_OTHERS = """
    array bigint binary boolean date decimal double float int interval map smallint struct time timestamp
    timestamp_ntz tinyint variant void
"""

TYPE_WORDS = _TEXT | frozenset(_ALIASES) | frozenset(_OTHERS.split())


def canonical_type(text: str) -> str:
    """A type as DESCRIBE spells it; the names of STRUCT fields keep their case.

    Fields are quoted where SQL needs it. DESCRIBE does not do that, so what it prints for a
    field with an unusual name is no type; what cannot be read is returned as it is. Compare
    with ``type_key``.
    """
    try:
        cursor = Cursor(tokens(text))
        found = read_type(cursor)
    except (LexError, Unreadable):
        return text.strip()
    return found if cursor.ended else text.strip()


def type_key(canonical: str) -> str:
    """What decides whether two canonical types are the same: not case, not quotes."""
    return canonical.replace("`", "").casefold()


def read_type(cursor: Cursor, collation: str = "") -> str:
    """The canonical spelling of the type that begins here.

    ``collation`` is the table's, for those texts that name none; UTF8_BINARY is never spelled.
    """
    word = cursor.take().word
    if not word:
        raise Unreadable
    word = _ALIASES.get(word, word)
    if cursor.accept_op("<"):
        parts: list[str] = []
        while not cursor.accept_op(">"):
            if parts:
                cursor.expect_op(",")
            parts.append(_field(cursor, collation) if word == "struct" else read_type(cursor, collation))
        return f"{word}<{','.join(parts)}>"
    if word == "interval":
        return word + _units(cursor)
    parameters = _parameters(cursor)
    match word:
        case "decimal" if not parameters:
            parameters = ["10", "0"]
        case "decimal" if len(parameters) == 1:
            parameters.append("0")
        case "time" if not parameters:
            parameters = ["6"]
    if cursor.accept("without", "time", "zone") and word == "timestamp":
        word = "timestamp_ntz"
    cursor.accept("with", "local", "time", "zone")
    spelled = f"{word}({','.join(parameters)})" if parameters else word
    return spelled + _collate(cursor, collation) if word in _TEXT else spelled


def _parameters(cursor: Cursor) -> list[str]:
    if not cursor.at_op("("):
        return []
    return [token.text.casefold() for token in cursor.skip()[1:-1] if token.text != ","]


def _units(cursor: Cursor) -> str:
    if cursor.peek().word not in _UNITS:
        return ""
    units = " " + cursor.take().word
    return f"{units} to {cursor.take().word}" if cursor.accept("to") else units


def _collate(cursor: Cursor, default: str) -> str:
    collation = cursor.dotted()[-1] if cursor.accept("collate") else default
    return f" collate {collation.upper()}" if collation.casefold() not in ("", "utf8_binary") else ""


def _field(cursor: Cursor, collation: str) -> str:
    name = cursor.name()
    cursor.accept_op(":")
    spelled = read_type(cursor, collation)
    while not cursor.at_op(",", ">"):
        if cursor.comment() is None and not cursor.accept("not", "null"):
            raise Unreadable
    return f"{names.display((name,))}:{spelled}"

"""What DESCRIBE FUNCTION EXTENDED tells of a SQL function, read back.

Spark prints it for people: names, types, defaults and comments in columns, nothing escaped. What can
be read in two ways is read in the likelier one; ``spark.importing`` makes a temporary function of
the result and compares what Spark prints of that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .cursor import Cursor, Unreadable
from .declaration import Parameter, SqlFunction
from .lexer import LexError, Token, tokens
from .sqltypes import read_type

_WIDTH = 15  # of a label, with its colon
_LABEL = re.compile(
    r"(Function|Type|Input|Returns|Comment|Deterministic|Data Access|Configs|Create Time|Body):"
)
_BEFORE_LITERALS = {
    "date", "timestamp", "timestamp_ntz", "timestamp_ltz", "interval", "x", "r", "and", "or", "not", "like", "when",
    "then", "else",
}  # fmt: skip
_COMPARED = ("Type", "Input", "Returns", "Comment", "Deterministic", "Data Access", "Body")


def described_parts(rows: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """The labelled entries of a SQL function, each as its rows; empty for a function of another kind."""
    found: dict[str, list[str]] = {}
    label = ""
    for row in rows:
        text: str = row["function_desc"]
        if (match := _LABEL.match(text)) and match[1] not in found:
            label = match[1]
            found[label] = [text[_WIDTH:]]
        elif label and text.startswith(" " * _WIDTH):
            found[label].append(text[_WIDTH:])
    return {key: tuple(lines) for key, lines in found.items()} if "Body" in found else {}


def compared(parts: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """What two descriptions of one function have in common, whatever it is called."""
    return {label: parts.get(label, ()) for label in _COMPARED}


def read_function(parts: Mapping[str, tuple[str, ...]]) -> SqlFunction | None:
    """The function; None where what Spark prints cannot be read."""
    inputs = [] if parts.get("Input") in (None, ("()",)) else _parameters(parts["Input"])
    if inputs is None:
        return None
    columns: list[Parameter] | None = []
    if parts["Type"] == ("TABLE",):
        columns = _parameters(parts.get("Returns", ()))
        if not columns:
            return None
    return SqlFunction(
        parameters=tuple(inputs),
        returns=" ".join(parts.get("Returns", ("",))).strip(),
        columns=tuple(columns or ()),
        body="\n".join(parts["Body"]).strip(),
        comment="\n".join(parts.get("Comment", ())),
        deterministic=parts.get("Deterministic") != ("false",),
    )


def _parameters(lines: Sequence[str]) -> list[Parameter] | None:
    """Types begin in the same column of every line: the first where all of them can be read."""
    widest = max((len(line) for line in lines), default=0)
    for column in range(2, widest):
        found = [_parameter(line, column) for line in lines]
        if all(found):
            return [item for item in found if item is not None]
    return None


def _parameter(line: str, column: int) -> Parameter | None:
    name = line[:column]
    if not name.endswith(" ") or len(line) <= column or line[column] == " ":
        return None
    rest = line[column:]
    end = _type_end(rest)
    if end is None:
        return None
    kind, rest = rest[:end].strip(), rest[end:].strip()
    if rest.startswith("DEFAULT "):
        default, comment = _default(rest.removeprefix("DEFAULT "))
        return Parameter(name.rstrip(), kind, default, comment)
    if rest and not (len(rest) > 1 and rest[0] == rest[-1] == "'"):
        return None
    return Parameter(name.rstrip(), kind, "", rest[1:-1])


def _type_end(text: str) -> int | None:
    """Where the type ends that a text begins with."""
    quote = text.find("'")
    head = text if quote < 0 else text[:quote]  # a comment is not escaped
    try:
        found = tokens(head)
        cursor = Cursor(found)
        read_type(cursor)
    except (LexError, Unreadable):
        return None
    rest = cursor.rest()
    if not rest:
        return len(head)
    return rest[0].start if rest[0].word == "default" else None


def _default(text: str) -> tuple[str, str]:
    """An expression, and the comment behind it, which may have apostrophes of its own: it begins where
    what stands before is an expression already."""
    for start in (found.start() for found in re.finditer(" '", text) if text.endswith("'")):
        try:
            before = tokens(text[:start])
        except LexError:
            continue
        if before and _is_whole(before):
            return text[:start].strip(), text[start + 2 : -1]
    return text, ""


def _is_whole(found: Sequence[Token]) -> bool:
    """Whether an expression may end here; a literal may follow some words and every operator."""
    last = found[-1]
    depth = sum({"(": 1, ")": -1}.get(token.text, 0) for token in found if token.kind == "op")
    return depth == 0 and (last.kind != "op" or last.text in (")", "]")) and last.word not in _BEFORE_LITERALS

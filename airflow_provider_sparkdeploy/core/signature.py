"""The signature of a SQL function: what CREATE FUNCTION declares, and what a catalog tells of it.

What cannot be read with certainty is None, and is not compared: a difference that is none would
have the function redeployed by every plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .cursor import Cursor, Unreadable
from .lexer import LexError, lex, tokens
from .names import quote_part
from .objects import Column
from .sqltypes import canonical_type, read_type, type_key
from .statement import read_head

_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# A function keeps CHAR and VARCHAR as STRING, and a schema or a session may have a say in these.
_LEFT_OPEN = (
    (re.compile(r"\b(?:var)?char\(\d+\)"), "string"),
    (re.compile(r" collate \w+"), ""),
    (re.compile(r"\btimestamp_ntz\b"), "timestamp"),
)


@dataclass(frozen=True, slots=True)
class Signature:
    """Parameters, and the type that is returned; None where it is not known. A table function
    returns columns, which are not looked at."""

    parameters: tuple[Column, ...] | None = None
    returns: str | None = None


def declared_signature(sql: str) -> Signature:
    """What a CREATE FUNCTION declares; without RETURNS the type is Spark's to find."""
    try:
        found = lex(sql)
        cursor = Cursor(tokens(sql[found.starts[read_head(found).after] :]))
        parameters = _declared_parameters(cursor) if cursor.at_op("(") else None
        scalar = cursor.accept("returns") and not cursor.at("table")
        return Signature(parameters, read_type(cursor) if scalar else None)
    except (LexError, Unreadable, IndexError):
        return Signature()


def described_signature(parts: Mapping[str, tuple[str, ...]]) -> Signature:
    """What DESCRIBE FUNCTION EXTENDED prints of a function, by label (``functiontext.described_parts``).

    Nothing is escaped there, so a parameter with a default, a comment or an unusual name leaves all
    of them unknown.
    """
    told = parts.get("Input", ("",))
    parameters = () if told == ("()",) else _all(_plain_parameter(line) for line in told)
    return Signature(parameters, _plain_type(parts))


def stored_signature(kept: Mapping[str, str]) -> Signature:
    """The same of what Spark keeps of a function in its metastore: the list of parameters as DDL."""
    scalar = kept.get("isTableFunc") == "false"
    returns = {"Type": ("SCALAR" if scalar else "TABLE",), "Returns": (kept.get("returnType", ""),)}
    return Signature(_stored_parameters(kept.get("inputParam", "")), _plain_type(returns))


def signature_text(signature: Signature) -> str:
    """What is known, as CREATE FUNCTION has it behind the name."""
    listed = ""
    if signature.parameters is not None:
        listed = ", ".join(f"{quote_part(item.name)} {item.type}" for item in signature.parameters)
        listed = f"({listed})"
    return f"{listed} RETURNS {signature.returns}" if signature.returns else listed


def signature_difference(declared: Signature, observed: Signature) -> str:
    """How two signatures differ in what is known of both; empty where they do not."""
    if (
        declared.parameters is not None
        and observed.parameters is not None
        and _keys(declared.parameters) != _keys(observed.parameters)
    ):
        return "its parameters were changed"
    if (
        declared.returns is not None
        and observed.returns is not None
        and _key(declared.returns) != _key(observed.returns)
    ):
        return "its return type was changed"
    return ""


def _keys(parameters: Iterable[Column]) -> list[tuple[str, str]]:
    return [(item.name.casefold(), _key(item.type)) for item in parameters]


def _key(type: str) -> str:
    found = type_key(canonical_type(type))
    for pattern, instead in _LEFT_OPEN:
        found = pattern.sub(instead, found)
    return found


def _declared_parameters(cursor: Cursor) -> tuple[Column, ...]:
    cursor.expect_op("(")
    found: list[Column] = []
    while not cursor.accept_op(")"):
        if found:
            cursor.expect_op(",")
        found.append(Column(cursor.name(), read_type(cursor)))
        while not cursor.at_op(",", ")"):
            cursor.skip()  # a default, a comment
    return tuple(found)


def _stored_parameters(text: str) -> tuple[Column, ...] | None:
    try:
        cursor = Cursor(tokens(text))
        found: list[Column] = []
        while not cursor.ended:
            if found:
                cursor.expect_op(",")
            found.append(Column(cursor.name(), read_type(cursor)))
    except (LexError, Unreadable):
        return None
    return tuple(found) if all(_PLAIN.fullmatch(item.name) for item in found) else None


def _plain_parameter(line: str) -> Column | None:
    """The only parameter in a line, if that is just a name and a type."""
    found = _stored_parameters(line) if "`" not in line else None
    return found[0] if found and len(found) == 1 else None


def _plain_type(parts: Mapping[str, tuple[str, ...]]) -> str | None:
    told = parts.get("Returns", ())
    if parts.get("Type") != ("SCALAR",) or len(told) != 1:
        return None
    try:
        cursor = Cursor(tokens(told[0]))
        found = read_type(cursor)
    except (LexError, Unreadable):
        return None
    return found if cursor.ended else None


def _all(found: Iterable[Column | None]) -> tuple[Column, ...] | None:
    items = tuple(found)
    return tuple(item for item in items if item) if all(items) else None

"""What stands between the name of a view and its query, and how it is changed in place.

CREATE OR REPLACE VIEW is a drop and a create in the built-in catalog: who reads in between finds
nothing. ALTER VIEW changes the comment, the properties and the schema mode in one call each. No
statement changes a list of columns, and ALTER VIEW ... AS forgets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .cursor import Cursor, Unreadable
from .lexer import LexError, tokens
from .names import quote, quote_literal
from .objects import TableDef
from .tabledef import read_properties

_BEFORE_NAME = frozenset({"create", "or", "replace", "materialized", "view"})
COMMENT = "comment"  # of a view it is one of its properties


@dataclass(frozen=True, slots=True)
class ViewHeader:
    """The comment is among the properties. ``mode`` is empty where the server decides."""

    properties: Mapping[str, str]
    mode: str = ""


@dataclass(frozen=True, slots=True)
class HeaderChange:
    slug: str
    sql: str


def view_header(sql: str) -> ViewHeader | None:
    """The header of a CREATE VIEW; None where it has a list of columns, or what we do not know."""
    properties: dict[str, str] = {}
    mode = ""
    try:
        cursor = Cursor(tokens(sql))
        while cursor.peek().word in _BEFORE_NAME:
            cursor.take()
        cursor.accept("if", "not", "exists")
        cursor.dotted()
        while not cursor.accept("as"):
            if (text := cursor.comment()) is not None:
                properties[COMMENT] = text
            elif cursor.accept("tblproperties"):
                properties.update(read_properties(cursor))
            elif cursor.accept("with", "schema"):
                mode = " ".join(_words_before_clause(cursor))
            else:
                return None
    except (LexError, Unreadable):
        return None
    return ViewHeader(properties, mode)


def stated_comment(sql: str, definition: TableDef | None) -> str | None:
    """The comment that the statement of a view gives; ``definition`` is there where it lists columns."""
    if definition is not None:
        return definition.comment or None
    header = view_header(sql)
    return header.properties.get(COMMENT) if header else None


def _words_before_clause(cursor: Cursor) -> list[str]:
    words = [cursor.take().word]
    if words == ["type"]:
        words.append(cursor.take().word)
    return words


def header_changes(
    physical: tuple[str, ...], deployed: str, wanted: str, kept: frozenset[str] = frozenset()
) -> tuple[HeaderChange, ...] | None:
    """The statements that make one header of another, without the properties in ``kept``; None
    where there are none that do."""
    old, new = view_header(deployed), view_header(wanted)
    if old is None or new is None or (old.mode and not new.mode):
        return None
    view = quote(physical)
    given = {
        key: value
        for key, value in new.properties.items()
        if old.properties.get(key) != value and key not in kept
    }
    gone = [key for key in old.properties if key not in new.properties and key not in kept]
    found: list[HeaderChange] = []
    if given:
        pairs = ", ".join(f"{quote_literal(key)} = {quote_literal(value)}" for key, value in given.items())
        found.append(HeaderChange("set_properties", f"ALTER VIEW {view} SET TBLPROPERTIES ({pairs})"))
    if gone:
        keys = ", ".join(map(quote_literal, gone))
        found.append(
            HeaderChange("unset_properties", f"ALTER VIEW {view} UNSET TBLPROPERTIES IF EXISTS ({keys})")
        )
    if new.mode != old.mode:
        found.append(HeaderChange("schema_mode", f"ALTER VIEW {view} WITH SCHEMA {new.mode.upper()}"))
    return tuple(found)

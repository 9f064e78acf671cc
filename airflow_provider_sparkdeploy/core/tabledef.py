"""From the tokens of a CREATE statement to what it declares: a ``TableDef``.

It reads tokens, not a syntax tree, so that every type and clause that Spark accepts works.
What a definition does not hold is not compared with the catalog: defaults, generated
expressions, constraints, options, the location, and comments and NOT NULL inside a STRUCT.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import names
from .cursor import Cursor, Unreadable, unescape
from .lexer import LexError, Token, tokens
from .objects import Column, TableDef
from .sqltypes import TYPE_WORDS, canonical_type, read_type, type_key

__all__ = [
    "bucketing",
    "canonical_partition",
    "canonical_type",
    "clustering",
    "read_properties",
    "table_definition",
    "type_key",
]

_MODIFIERS = frozenset(
    {"or", "replace", "refresh", "external", "temporary", "temp", "global", "private", "streaming"}
)
_CONSTRAINTS = frozenset({"primary", "foreign", "unique", "check"})
_TRANSFORMS = {
    "year": "years",
    "month": "months",
    "day": "days",
    "date": "days",
    "hour": "hours",
    "date_hour": "hours",
}


def table_definition(found: list[Token]) -> TableDef | None:
    """What CREATE TABLE or CREATE MATERIALIZED VIEW declares; None without a list of columns."""
    cursor = Cursor(found)
    try:
        return _definition(cursor) if _header(cursor) else None
    except Unreadable:
        return None


def canonical_partition(text: str) -> str:
    """A partition field, as DESCRIBE or PARTITIONED BY spell it, the way a definition does."""
    try:
        cursor = Cursor(tokens(text))
        found = _partition_field(cursor, {})
    except (LexError, Unreadable):
        return text.strip()
    return found if cursor.ended else text.strip()


def bucketing(count: int, columns: Sequence[str], sorted_by: Sequence[str] = ()) -> str:
    """CLUSTERED BY ... INTO n BUCKETS the way a definition spells it: as a transform, like Spark."""
    order = f" sorted by ({_listed(sorted_by)})" if sorted_by else ""
    return f"bucket({count},{_listed(columns)}){order}"


def clustering(columns: Sequence[str]) -> str:
    """CLUSTER BY (...) the way a definition spells it; a dot in a column is a path."""
    return f"cluster_by({','.join(names.display(tuple(column.split('.'))) for column in columns)})"


def _listed(columns: Sequence[str]) -> str:
    return ",".join(names.display((column,)) for column in columns)


def _header(cursor: Cursor) -> bool:
    """Goes to the list of columns; False where there is none."""
    if not cursor.accept("create") and not cursor.at("replace"):
        return False
    while cursor.peek().word in _MODIFIERS:
        cursor.take()
    if not cursor.accept("table") and not cursor.accept("materialized", "view"):
        return False
    cursor.accept("if", "not", "exists")
    if cursor.at("identifier") and cursor.at_op("(", ahead=1):
        cursor.take()
        cursor.skip()
    else:
        cursor.dotted()
    if not cursor.accept_op("("):
        return False
    # CREATE TABLE t (SELECT 1) is a query in parentheses, CREATE TABLE t (select INT) is not
    query = cursor.peek().word in ("select", "with", "from", "values")
    return not query or cursor.peek(1).word in TYPE_WORDS


def _definition(cursor: Cursor) -> TableDef:
    collation = _default_collation(cursor)
    columns = _columns(cursor, collation)
    spelled = {column.name.casefold(): column.name for column in columns}
    provider = comment = ""
    fields: list[str] = []
    layout: list[str] = []
    properties: dict[str, str] = {}
    while not cursor.ended and not cursor.accept("as"):
        if cursor.accept("using"):
            provider = ".".join(cursor.dotted()).casefold()
        elif cursor.accept("stored", "as") or cursor.accept("row", "format"):
            provider = provider or "hive"
        elif cursor.accept("partitioned", "by"):
            for field in _partitioning(cursor, spelled, collation):
                if isinstance(field, Column):  # Hive declares its partition columns here
                    columns.append(field)
                    field = names.display((field.name,))
                fields.append(field)
        elif cursor.accept("clustered", "by"):
            layout.append(_buckets(cursor, spelled))
        elif cursor.at("cluster", "by") and cursor.at_op("(", ahead=2):
            cursor.accept("cluster", "by")
            layout.append(clustering(_name_list(cursor, spelled)))
        elif cursor.accept("tblproperties"):
            properties.update(read_properties(cursor))
        elif (text := cursor.comment()) is not None:
            comment = text
        else:
            cursor.skip()
    entries = tuple(sorted(properties.items()))
    return TableDef(tuple(columns), provider, tuple(fields + layout), entries, comment)


def _default_collation(cursor: Cursor) -> str:
    """DEFAULT COLLATION comes after the columns, but is that of the columns that name none."""
    rest = Cursor(cursor.rest())
    while not rest.ended:
        if rest.accept("default", "collation"):
            return rest.dotted()[-1]
        rest.take()
    return ""


def _columns(cursor: Cursor, collation: str) -> list[Column]:
    """The elements up to the closing parenthesis; constraints are passed over."""
    columns: list[Column] = []
    while True:
        if _at_constraint(cursor):
            while not cursor.at_op(",", ")"):
                cursor.skip()
        else:
            columns.append(_column(cursor, collation))
        if not cursor.accept_op(","):
            cursor.expect_op(")")
            return columns


def _at_constraint(cursor: Cursor) -> bool:
    """A column may have any of these names: what follows decides."""
    match cursor.peek().word:
        case "primary" | "foreign":
            return cursor.at("key", ahead=1)
        case "unique" | "check":
            return cursor.at_op("(", ahead=1)
        case "constraint":
            return cursor.peek(2).word in _CONSTRAINTS
    return False


def _column(cursor: Cursor, collation: str) -> Column:
    name = cursor.name()
    untyped = (
        cursor.at_op(",", ")")
        or cursor.at("not", "null")
        or (cursor.at("comment") and cursor.at_literal(ahead=1))
    )
    spelled = "" if untyped else read_type(cursor, collation)
    nullable = True
    comment = previous = ""
    while not cursor.at_op(",", ")"):
        if previous != "is" and cursor.accept("not", "null"):
            nullable = False
        elif (text := cursor.comment()) is not None:
            comment = text
        else:
            previous = cursor.skip()[0].word
    return Column(name, spelled, nullable, comment)


def _partitioning(cursor: Cursor, spelled: Mapping[str, str], collation: str) -> list[str | Column]:
    """Fields over declared columns, or declarations of further columns."""
    fields: list[str | Column] = []
    cursor.expect_op("(")
    while True:
        if cursor.at_op("(", ".", ",", ")", ahead=1):
            fields.append(_partition_field(cursor, spelled))
        else:
            fields.append(_column(cursor, collation))
        if not cursor.accept_op(","):
            cursor.expect_op(")")
            return fields


def _partition_field(cursor: Cursor, spelled: Mapping[str, str]) -> str:
    """A column, ``days(ts)`` or ``bucket(16,id)``; synonyms and the order of arguments are one."""
    if not cursor.at_op("(", ahead=1):
        return _reference(cursor, spelled)
    transform = cursor.name().casefold()
    cursor.expect_op("(")
    numbers: list[str] = []
    references: list[str] = []
    while not cursor.accept_op(")"):
        if numbers or references:
            cursor.expect_op(",")
        if cursor.peek().text.isdigit():
            numbers.append(cursor.take().text)
        else:
            references.append(_reference(cursor, spelled))
    if transform == "identity" and len(references) == 1:
        return references[0]
    return f"{_TRANSFORMS.get(transform, transform)}({','.join(numbers + references)})"


def _reference(cursor: Cursor, spelled: Mapping[str, str]) -> str:
    """A column, spelled as it was declared: not every catalog folds names in transforms."""
    first, *rest = cursor.dotted()
    return names.display((spelled.get(first.casefold(), first), *rest))


def _name_list(cursor: Cursor, spelled: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    cursor.expect_op("(")
    while not cursor.accept_op(")"):
        name = ".".join(cursor.dotted())
        found.append(spelled.get(name.casefold(), name))
        cursor.accept("asc")
        cursor.accept_op(",")
    return found


def _buckets(cursor: Cursor, spelled: Mapping[str, str]) -> str:
    columns = _name_list(cursor, spelled)
    order = _name_list(cursor, spelled) if cursor.accept("sorted", "by") else []
    if not cursor.accept("into") or not cursor.peek().text.isdigit():
        raise Unreadable
    return bucketing(int(cursor.take().text), columns, order)


def read_properties(cursor: Cursor) -> dict[str, str]:
    found: dict[str, str] = {}
    cursor.expect_op("(")
    while True:
        entry: list[Token] = []
        while not cursor.at_op(",", ")"):
            entry.append(cursor.take())
        key, value = _property(Cursor(entry))
        found[key] = value
        if not cursor.accept_op(","):
            cursor.expect_op(")")
            return found


def _property(entry: Cursor) -> tuple[str, str]:
    """``key = value``; where the ``=`` is left out, the first literal alone is the key."""
    equals = any(token.kind == "op" and token.text in ("=", "==") for token in entry.rest())
    if not entry.at_literal():
        key = ".".join(entry.dotted())
    else:
        key = entry.literal() if equals else unescape(entry.take())
    if equals:
        entry.take()
    if entry.at_literal():
        return key, entry.literal()
    return key, "".join(token.text for token in entry.rest()).casefold()

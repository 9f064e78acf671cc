"""``data`` files: CSV with a header row, loaded into a managed table by key.

A column's type is what the header says (``code:string``), or the narrowest that every
value fits. An empty cell is NULL.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

from .diagnostics import Diagnostic, near_name
from .lexer import combined_hash
from .names import quote, quote_literal, quote_part
from .objects import Column, TableDef
from .sqltypes import TYPE_WORDS, canonical_type

_NARROWEST = (
    ("boolean", re.compile(r"(?i:true|false)\Z")),
    ("bigint", re.compile(r"[+-]?(?:0|[1-9]\d{0,17})\Z")),
    ("double", re.compile(r"[+-]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?\Z")),
    ("date", re.compile(r"\d{4}-\d\d-\d\d\Z")),
    ("timestamp", re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?\Z")),
)
_TYPE = re.compile(r"(\w*)(.*)", re.DOTALL)

# What Spark casts from text, see SparkDateTimeUtils and StringUtils
_BOOLEAN = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "0"), False),
}
_DAY = r"(\d{4})(?:-(\d\d?)(?:-(\d\d?)%s)?)?"
_DATE = re.compile(_DAY % "(?:[ T].*)?", re.ASCII)
_TIMESTAMP = re.compile(_DAY % r"(?:[ T](?:(\d\d?):(\d\d?)(?::(\d\d?)(?:\.(\d*))?)?\s*(\D.*)?)?)?", re.ASCII)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d\d?)(?::?(\d\d))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class DataFile:
    definition: TableDef
    rows: tuple[tuple[str, ...], ...]
    hash: str


def read_data(
    text: str, keys: tuple[str, ...], path: str, first_line: int, problems: list[Diagnostic]
) -> DataFile | None:
    """The content of a CSV file; None, and problems, when it is not usable."""

    def report(line: int, code: str, message: str, advice: str) -> None:
        problems.append(Diagnostic(path, line, code, message, advice))

    reader = csv.reader(io.StringIO(text), strict=True)
    numbered: list[tuple[int, tuple[str, ...]]] = []
    line = first_line
    try:
        for cells in reader:
            if cells:
                numbered.append((line, tuple(cells)))
            line = first_line + reader.line_num  # where the next row begins: a cell may have lines
    except csv.Error as error:
        report(
            line, "SD141", f"not CSV: {error}", "Close every quote, and double those inside a quoted cell."
        )
        return None
    if not numbered:
        if problems:  # what is wrong in the header may be why
            return None
        report(first_line, "SD141", "the file is empty", "The first row must name the columns.")
        return None
    header_line, header = numbered[0]
    rows = numbered[1:]
    count = len(problems)
    for line, row in rows:
        if len(row) != len(header):
            report(
                line,
                "SD141",
                f"{len(row)} cells in a row, {len(header)} in the header",
                "Add or remove cells.",
            )
    columns = [
        _column(cell, [row[i] for _, row in rows if len(row) == len(header)]) for i, cell in enumerate(header)
    ]
    names = [column.name.casefold() for column in columns]
    for name in sorted({name for name in names if names.count(name) > 1 or not name}):
        report(
            header_line, "SD141", f"column {name or '(no name)'} is there twice or has no name", "Rename it."
        )
    for column in columns:
        word, rest = _TYPE.match(column.type).groups()  # type: ignore[union-attr]
        if word.casefold() not in TYPE_WORDS or rest.count("(") != rest.count(")"):
            advice = (
                near_name(word.casefold(), TYPE_WORDS)
                or "Write a type of Spark, like string or decimal(10,2)."
            )
            report(header_line, "SD141", f"column {column.name}: {column.type} is not a type", advice)
    key_names = [key.casefold() for key in keys]
    if len(set(key_names)) < len(key_names):
        report(header_line, "SD142", "a key column is named twice", "Name each once in keys=.")
    for key in sorted(set(key_names) - set(names)):
        report(header_line, "SD142", f"key {key} is not a column", f"Columns: {', '.join(names)}.")
    if not keys and not count:  # what is wrong in the header may have been they
        report(
            header_line, "SD142", "no key columns", "Add -- //// METADATA keys=<columns> as the first line."
        )
    if len(problems) > count:
        return None
    at = [names.index(key) for key in key_names]
    seen: dict[tuple[Hashable, ...], int] = {}
    for line, row in rows:
        if not all(row[i] for i in at):
            report(
                line,
                "SD143",
                "a key cell is empty, and NULL is equal to nothing",
                "Fill it, or remove the row.",
            )
            continue
        key_value = tuple(_value(row[i], columns[i].type) for i in at)
        if key_value in seen:
            spelled = ", ".join(row[i] for i in at)
            report(
                line,
                "SD143",
                f"key {spelled} is also in line {seen[key_value]}",
                "Keep one of the rows, or add a column to keys=.",
            )
        seen.setdefault(key_value, line)
    if len(problems) > count:
        return None
    content = tuple(row for _, row in rows)
    stream = [*(f"{column.name}:{column.type}" for column in columns), "\x1d", *key_names, "\x1d"]
    stream += map(repr, sorted(content))  # quoted, so that no cell can pass for two
    return DataFile(TableDef(tuple(columns)), content, combined_hash(*stream))


def _value(cell: str, type: str) -> Hashable:
    """What a cell means in a column of this type: ``1`` and ``+1`` are one key. What Spark would not
    take for a value of this type means itself."""
    try:
        if type in ("tinyint", "smallint", "int", "bigint"):
            return int(cell)
        if type in ("float", "double") or type.startswith("decimal"):
            return Decimal(cell)
        if type == "date":
            return _date(cell.strip())
        if type in ("timestamp", "timestamp_ntz"):
            return _timestamp(cell.strip(), zoned=type == "timestamp")
    except (ValueError, ArithmeticError):
        return cell
    if type == "boolean":
        return _BOOLEAN.get(cell.strip().lower(), cell)
    return cell.rstrip(" ") if type.startswith("char(") else cell


def _date(cell: str) -> Hashable:
    if (found := _DATE.fullmatch(cell)) is None:
        return cell
    return date(*(int(part or 1) for part in found.groups()))


def _timestamp(cell: str, *, zoned: bool) -> Hashable:
    """A moment in UTC where the cell names its zone, else the time of a clock: whose, the session says."""
    if (found := _TIMESTAMP.fullmatch(cell)) is None:
        return cell
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    clock = datetime(
        int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0),
        int((fraction or "")[:6].ljust(6, "0")),
    )  # fmt: skip
    if zone is None or not zoned:
        return clock
    offset = _offset(zone)
    return (clock, zone) if offset is None else clock.replace(tzinfo=timezone(offset)).astimezone(UTC)


def _offset(zone: str) -> timedelta | None:
    """How far a zone is from UTC; None of one that is named after a place."""
    if zone in ("Z", "UTC", "GMT", "UT"):
        return timedelta()
    if (found := _OFFSET.fullmatch(zone)) is None:
        return None
    distance = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
    return distance if found[1] == "+" else -distance


def _column(cell: str, values: list[str]) -> Column:
    name, colon, declared = cell.strip().partition(":")
    if colon and declared.strip():
        return Column(name.strip(), canonical_type(declared))
    filled = [value for value in values if value]
    for candidate, pattern in _NARROWEST:
        if filled and all(pattern.match(value) for value in filled):
            return Column(name.strip(), candidate)
    return Column(name.strip(), "string")


def create_sql(physical: tuple[str, ...], definition: TableDef) -> str:
    """The managed table that the file is loaded into."""
    columns = ", ".join(f"{quote_part(column.name)} {column.type}" for column in definition.columns)
    return f"CREATE TABLE {quote(physical)} ({columns})"


def load_sql(physical: tuple[str, ...], data: DataFile) -> str:
    """The statement that makes the table hold the rows of the file, and no others.

    A cell is text until it is cast: Spark says which one does not fit its column. The columns are named,
    because a table has them in the order in which they were made, and Spark inserts by position.
    """
    columns = data.definition.columns
    casts = ", ".join(f"CAST({quote_part(c.name)} AS {c.type}) AS {quote_part(c.name)}" for c in columns)
    names = ", ".join(quote_part(column.name) for column in columns)
    rows = [f"  ({', '.join(map(_cell, row))})" for row in sorted(data.rows)]
    none = "" if rows else "\nWHERE false"
    listed = ",\n".join(rows or [f"  ({', '.join(['NULL'] * len(columns))})"])
    return f"INSERT OVERWRITE TABLE {quote(physical)} ({names})\nSELECT {casts} FROM VALUES\n{listed}\nAS file ({names}){none}"


def _cell(cell: str) -> str:
    return quote_literal(cell) if cell else "NULL"

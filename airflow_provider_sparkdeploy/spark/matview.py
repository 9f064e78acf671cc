"""Materialized views, where Spark has none: a view over the data table of the last refresh.

Readers use the view. A refresh fills a new data table in a side schema, marks it, and swaps the
view to it in one metastore call, so that nobody sees the view missing, empty or half-written.
The mark is the hash of the statement; a table gets it when all its rows are there, so a table
with the mark is complete. A table is created before it is filled (not by CREATE TABLE AS), so
that a killed server leaves no files that no catalog knows of.

The name of a data table tells whose it is and of which attempt, and names sort by time.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ..core.diagnostics import SparkDeployError, problem
from ..core.lexer import LexError, lex
from ..core.marker import MARKER
from ..core.names import (
    SESSION_CATALOG,
    ObjectName,
    display,
    in_session_catalog,
    quote,
    quote_literal,
    quote_part,
)
from ..core.objects import Column
from ..core.statement import name_at
from .failure import HalfDone
from .session import Row, Spark, SparkFailure

OBJECT = "sparkdeploy.object"
PUBLISHED = "sparkdeploy.published"
SUPERSEDED = "sparkdeploy.superseded"
RETENTION = 3600.0
MISSING = frozenset({"TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "NO_SUCH_NAMESPACE"})

_ATTEMPT = re.compile(r"\d{14}_[a-z0-9]+\Z")
_READABLE = 60  # characters of the name that are for people
_CHAR = re.compile(r"char(?:acter)?\s*\(\s*(\d+)\s*\)\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Member:
    """A materialized view to compute. ``columns`` are empty where the query alone says what they
    are; a column without a type is of the query's."""

    name: ObjectName
    physical: tuple[str, ...]
    query: str
    columns: tuple[Column, ...]
    hash: str
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """What readers see: the data table behind the view, and the one before it."""

    table: str
    previous: str | None


# Names


def data_table(physical: tuple[str, ...], attempt: str) -> str:
    """The name of the data table of a view that an attempt makes."""
    if not _ATTEMPT.match(attempt):
        raise ValueError(f"{attempt!r} does not name an attempt: 20261231235959_1a2b3c")
    return f"{_stem(physical)}_{attempt}"


def data_table_of(view_text: str) -> tuple[str, ...] | None:
    """The data table that a view's text names; None for a text that no refresh has written."""
    try:
        found = lex(view_text)
    except LexError:
        return None
    parts, end = name_at(found.texts, 3)
    written = found.lower[:3] == ["select", "*", "from"] and end == len(found.texts) and len(parts) == 3
    return parts if written and parts[0] == SESSION_CATALOG else None


def _stem(physical: tuple[str, ...]) -> str:
    """Readable, legal in every catalog, and never the same for two names.

    The session catalog may be left out of a name, and names do not differ by case.
    """
    folded = tuple(part.casefold() for part in physical)
    if len(folded) == 3 and folded[0] == SESSION_CATALOG:
        folded = folded[1:]
    readable = re.sub(r"[^a-z0-9]+", "_", "_".join(folded)).strip("_")[:_READABLE]
    digest = hashlib.sha256("\x1f".join(folded).encode()).hexdigest()[:10]
    return f"mv_{readable}_{digest}"


def qualified(data_schema: str, table: str) -> str:
    return in_session_catalog(data_schema, table)


# What is done


def refresh(
    spark: Spark,
    member: Member,
    *,
    data_schema: str,
    attempt: str,
    retention: float = RETENTION,
    now: datetime | None = None,
) -> Published:
    """Compute a materialized view anew, and let readers have it.

    An attempt whose data table is complete already (it died before the swap) is only published.
    """
    check_name(spark, member.physical)
    if not is_ready(spark, member, data_schema=data_schema, attempt=attempt):
        enter(spark, member.physical)
        create_table(spark, member, data_schema=data_schema, attempt=attempt)
        fill(spark, member, f"({_text(member.query)})", data_schema=data_schema, attempt=attempt)
    [done] = publish(spark, [member], data_schema=data_schema, attempt=attempt, retention=retention, now=now)
    return done


def create_empty(
    spark: Spark,
    member: Member,
    *,
    data_schema: str,
    attempt: str,
    retention: float = RETENTION,
    now: datetime | None = None,
) -> Published:
    """A materialized view without rows: a member of a cycle, before it is computed."""
    if not member.columns or not all(column.type for column in member.columns):
        raise problem(
            "SD821",
            f"{display(member.physical)} does not declare its columns with their types",
            advice="Members of a cycle are created empty before they are computed: name (column type, ...).",
        )
    check_name(spark, member.physical)
    if not is_ready(spark, member, data_schema=data_schema, attempt=attempt):
        create_table(spark, member, data_schema=data_schema, attempt=attempt)
    [done] = publish(spark, [member], data_schema=data_schema, attempt=attempt, retention=retention, now=now)
    return done


def drop_view(spark: Spark, physical: tuple[str, ...], *, data_schema: str) -> None:
    """The view first, so that no reader finds it without its data; then all of its data tables."""
    check_name(spark, physical)
    spark.sql(f"DROP VIEW IF EXISTS {quote(physical)}")
    for table in data_tables(spark, physical, data_schema=data_schema):
        spark.sql(f"DROP TABLE IF EXISTS {qualified(data_schema, table)}")


# The steps of it


def create_table(spark: Spark, member: Member, *, data_schema: str, attempt: str) -> None:
    """The data table of an attempt, empty and without the mark. What the attempt left before is dropped."""
    table = qualified(data_schema, data_table(member.physical, attempt))
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {in_session_catalog(data_schema)}")
    spark.sql(f"DROP TABLE IF EXISTS {table}")
    comment = f" COMMENT {quote_literal(member.comment)}" if member.comment else ""
    clauses = f"USING parquet{comment} TBLPROPERTIES ({quote_literal(OBJECT)} = {quote_literal(display(member.physical))})"
    if member.columns and all(column.type for column in member.columns):
        spark.sql(f"CREATE TABLE {table} ({', '.join(map(_declaration, member.columns))}) {clauses}")
        return
    shape = projection(member.columns, f"({_text(member.query)})")
    spark.sql(f"CREATE TABLE {table} {clauses} AS SELECT * FROM ({shape}) WHERE false")
    for column in member.columns:
        if column.comment:
            comment = quote_literal(column.comment)
            spark.sql(f"ALTER TABLE {table} ALTER COLUMN {quote_part(column.name)} COMMENT {comment}")


def fill(spark: Spark, member: Member, relation: str, *, data_schema: str, attempt: str) -> None:
    """Write all rows of a relation into the data table of an attempt."""
    table = qualified(data_schema, data_table(member.physical, attempt))
    spark.sql(f"INSERT INTO {table} {projection(member.columns, relation)}")


def is_ready(spark: Spark, member: Member, *, data_schema: str, attempt: str) -> bool:
    """Whether the data table of an attempt is complete."""
    found = properties(spark, data_schema, data_table(member.physical, attempt))
    return found is not None and found.get(MARKER) == member.hash


def publish(
    spark: Spark,
    members: Sequence[Member],
    *,
    data_schema: str,
    attempt: str,
    retention: float,
    now: datetime | None = None,
) -> list[Published]:
    """Let readers have the data tables of an attempt, and drop the tables that nobody needs.

    All tables are marked before the first swap: who finds all of the marks may go on with the
    swaps. Once one is swapped, so must be the others.
    """
    now = now or datetime.now(UTC)
    for member in members:
        table = data_table(member.physical, attempt)
        _mark(spark, data_schema, table, {MARKER: member.hash, PUBLISHED: now.isoformat()})
    done: list[Published] = []
    for member in members:
        try:
            done.append(swap(spark, member, data_schema=data_schema, attempt=attempt))
        except (SparkFailure, SparkDeployError) as error:
            if not done:
                raise
            raise HalfDone(
                f"{len(done)} of {len(members)} materialized views are swapped: {error}"
            ) from error
    for member, seen in zip(members, done, strict=True):
        keep = {seen.table, seen.previous}
        if seen.previous is not None:
            _mark(spark, data_schema, seen.previous, {SUPERSEDED: now.isoformat()})
        collect_tables(
            spark, member.physical, data_schema=data_schema, keep=keep, retention=retention, now=now
        )
    return done


def swap(spark: Spark, member: Member, *, data_schema: str, attempt: str) -> Published:
    """Point the view to the data table of an attempt."""
    table = data_table(member.physical, attempt)
    query = f"SELECT * FROM {qualified(data_schema, table)}"
    view = check_name(spark, member.physical)
    if view is None:
        comment = f" COMMENT {quote_literal(member.comment)}" if member.comment else ""
        spark.sql(f"CREATE VIEW {quote(member.physical)}{comment} AS {query}")
        return Published(table, None)
    behind = data_table_of(view.text)
    previous = behind[-1] if behind else None
    if previous == table:
        return Published(table, None)
    spark.sql(f"ALTER VIEW {quote(member.physical)} AS {query}")
    if member.comment is not None and member.comment != view.comment:
        text = quote_literal(member.comment)
        spark.sql(f"ALTER VIEW {quote(member.physical)} SET TBLPROPERTIES ('comment' = {text})")
    return Published(table, previous)


def collect_tables(
    spark: Spark,
    physical: tuple[str, ...],
    *,
    data_schema: str,
    keep: set[str | None],
    retention: float,
    now: datetime,
) -> list[str]:
    """Drop the data tables that readers last saw at least ``retention`` seconds ago, and what crashes
    have left, which none ever did. ``keep`` are the table that readers see and the one before it.

    Where a crash came between a swap and the note of it, the table is old from now on.
    """
    before = now - timedelta(seconds=retention)
    dropped: list[str] = []
    for table in data_tables(spark, physical, data_schema=data_schema):
        if table in keep:
            continue
        found = properties(spark, data_schema, table) or {}
        if PUBLISHED in found and SUPERSEDED not in found:
            _mark(spark, data_schema, table, {SUPERSEDED: now.isoformat()})
            continue
        seen_until = datetime.fromisoformat(found[SUPERSEDED]) if SUPERSEDED in found else _begun_at(table)
        if seen_until <= before:
            spark.sql(f"DROP TABLE IF EXISTS {qualified(data_schema, table)}")
            dropped.append(table)
    return dropped


def _begun_at(table: str) -> datetime:
    """When the attempt began that has made a data table."""
    moment = table.rsplit("_", 2)[1]
    return datetime.strptime(moment, "%Y%m%d%H%M%S").replace(tzinfo=UTC)


def _mark(spark: Spark, data_schema: str, table: str, values: Mapping[str, str]) -> None:
    """Note something in the properties of a data table; one that somebody has dropped needs no note."""
    listed = ", ".join(f"{quote_literal(key)} = {quote_literal(value)}" for key, value in values.items())
    try:
        spark.sql(f"ALTER TABLE {qualified(data_schema, table)} SET TBLPROPERTIES ({listed})")
    except SparkFailure as failure:
        if failure.condition not in MISSING or MARKER in values:
            raise


def data_tables(spark: Spark, physical: tuple[str, ...], *, data_schema: str) -> list[str]:
    """All data tables of a view, in the order of their attempts."""
    stem = _stem(physical)
    try:
        rows = spark.sql(
            f"SHOW TABLES IN {in_session_catalog(data_schema)} LIKE {quote_literal(stem + '_*')}"
        )
    except SparkFailure as failure:
        if failure.condition in MISSING:
            return []
        raise
    names = [row["tableName"] for row in rows if not row["isTemporary"]]
    return sorted(name for name in names if _ATTEMPT.match(name.removeprefix(f"{stem}_")))


def enter(spark: Spark, physical: tuple[str, ...]) -> None:
    """Make the schema of an object the current one: that is what its unqualified names mean."""
    schema = physical[:-1]
    spark.sql(f"USE {quote(schema if len(schema) > 1 else (SESSION_CATALOG, *schema))}")


def projection(columns: Sequence[Column], relation: str) -> str:
    """A query whose columns, by position, have the declared names and types."""
    if not columns:
        return f"SELECT * FROM {relation}"
    given = [f"c{number}" for number in range(1, len(columns) + 1)]
    items = (
        f"{cast(name, column.type)} AS {quote_part(column.name)}"
        for name, column in zip(given, columns, strict=True)
    )
    return f"SELECT {', '.join(items)} FROM {relation} AS q({', '.join(given)})"


def cast(expression: str, spelled: str) -> str:
    """A value of a declared type. Spark takes CHAR(n) for a string, and pads it only when it is read."""
    fixed = _CHAR.match(spelled)
    if fixed:
        text = f"CAST({expression} AS STRING)"
        return f"rpad({text}, greatest({fixed[1]}, length({text})), ' ')"
    return f"CAST({expression} AS {spelled})" if spelled else expression


# What there is


@dataclass(frozen=True, slots=True)
class View:
    text: str
    comment: str


def check_name(spark: Spark, physical: tuple[str, ...]) -> View | None:
    """The view of a name; None if there is nothing. An error if the name is taken by something else."""
    detail = describe(spark, quote(physical))
    if detail is None:
        return None
    if detail.get("Type") != "VIEW":
        raise problem(
            "SD822",
            f"{display(physical)} is to be a materialized view, and there is a table of that name",
            advice="Rename the table, or drop it if it is not needed: it is not touched.",
        )
    return View(detail.get("View Text", ""), detail.get("Comment", ""))


def describe(spark: Spark, name: str) -> dict[str, str] | None:
    """What DESCRIBE tells of a table or view beside its columns; None where there is none."""
    try:
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}")
    except SparkFailure as failure:
        if failure.condition in MISSING:
            return None
        raise
    start = next(
        (at for at, row in enumerate(rows) if row["col_name"] == "# Detailed Table Information"), len(rows)
    )
    return {row["col_name"]: row["data_type"] for row in rows[start + 1 :]}


def properties(spark: Spark, data_schema: str, table: str) -> dict[str, str] | None:
    """The properties of a data table; None where there is no such table."""
    try:
        rows: list[Row] = spark.sql(f"SHOW TBLPROPERTIES {qualified(data_schema, table)}")
    except SparkFailure as failure:
        if failure.condition in MISSING:
            return None
        raise
    return {row["key"]: row["value"] for row in rows}


def _declaration(column: Column) -> str:
    comment = f" COMMENT {quote_literal(column.comment)}" if column.comment else ""
    return f"{quote_part(column.name)} {column.type}{'' if column.nullable else ' NOT NULL'}{comment}"


def _text(query: str) -> str:
    """A query that may be put in brackets, whatever comment it ends with."""
    return f"\n{query}\n"

"""The deploy log beside what it describes: a table that survives the loss of Airflow.

One writer, under the lock, appends what the table does not have yet: concurrent INSERTs into a
built-in table lose rows that were acknowledged. Entries are numbered within their run, so one
that is appended twice (a crash between the INSERT and the note of it) is read once. Intents
are not part of it: what has no outcome when a run ends gets one by the next.

Two environments may share a catalog, and the schema of the table in it: every row says whose it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ..core.deploylog import Entry, decode_entry, encode_entry
from ..core.names import in_session_catalog, quote_literal
from .session import Row, Sessions, Spark, SparkFailure

TABLE = "deploy_log"
_RECORDED = "recorded"
_LARGEST = 1_000_000  # characters of one INSERT
_ABSENT = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND")


@dataclass(frozen=True, slots=True)
class Numbered:
    """An entry, and its number among the recorded entries of its run."""

    number: int
    entry: Entry


@dataclass(frozen=True, slots=True)
class Point:
    """How far a history was read: its last batch, and what that ends with. The number alone says little:
    the history of another environment, and one that was made anew, count the same way."""

    batch: int = 0
    ends: str = ""


def due(entries: Iterable[Entry]) -> list[Numbered]:
    """The entries of a log that the history does not have yet."""
    counts: dict[str, int] = {}
    recorded: dict[str, int] = {}
    found: list[Numbered] = []
    for entry in entries:
        if is_note(entry):
            recorded[entry.run] = max(entry.detail[_RECORDED], recorded.get(entry.run, 0))
        elif entry.type != "intent":
            counts[entry.run] = number = counts.get(entry.run, 0) + 1
            found.append(Numbered(number, entry))
    return [item for item in found if item.number > recorded.get(item.entry.run, 0)]


def is_note(entry: Entry) -> bool:
    """Whether an entry of the log says what the history has."""
    return entry.type == "run" and _RECORDED in entry.detail


def is_lost(spark: Spark, schema: str, environment: str) -> bool:
    """Whether the history has nothing: it was never written, or somebody dropped or emptied it."""
    try:
        return not spark.sql(f"SELECT 1 FROM {_of(schema, environment)} LIMIT 1")
    except SparkFailure as failure:
        if failure.condition in _ABSENT:
            return True
        raise


def recorded(items: Iterable[Numbered]) -> list[Entry]:
    """The notes that the history has these, for the log."""
    last = {item.entry.run: item.number for item in items}
    return [Entry("run", run, detail={_RECORDED: number}) for run, number in last.items()]


def _of(schema: str, environment: str) -> str:
    return f"{in_session_catalog(schema, TABLE)} WHERE environment = {quote_literal(environment)}"


@contextmanager
def writing(sessions: Sessions, run: str) -> Iterator[Spark]:
    """A session to record a run in. Who was killed in an INSERT of the same run is stopped first."""
    key = f"{run}/record"
    sessions.settle(key)
    with sessions.open(key) as spark:
        yield spark


def append(spark: Spark, schema: str, environment: str, items: Sequence[Numbered]) -> None:
    """Add entries, in their order, behind all others."""
    table = in_session_catalog(schema, TABLE)
    for statement in _inserts(table, environment, items):
        try:
            spark.sql(statement)
        except SparkFailure as failure:
            if failure.condition not in _ABSENT:
                raise
            spark.sql(
                f"CREATE TABLE {table} "
                "(batch INT, environment STRING, place INT, run STRING, number INT, at STRING, entry STRING) "
                "USING parquet COMMENT 'What SparkDeploy did here; one row per entry of its deploy log'"
            )
            spark.sql(statement)


def _inserts(table: str, environment: str, items: Sequence[Numbered]) -> Iterator[str]:
    """Statements of a size that Spark likes. Batches count up: there is one writer."""
    rows: list[str] = []
    size = 0
    for place, item in enumerate(items, 1):
        entry = item.entry
        text = encode_entry(entry).decode("utf-8", "replace").rstrip("\n")
        cells = (quote_literal(entry.run), str(item.number), quote_literal(entry.at), quote_literal(text))
        rows.append(f"({place}, {', '.join(cells)})")
        size += len(rows[-1])
        if size > _LARGEST or place == len(items):
            yield (
                f"INSERT INTO {table} SELECT (SELECT coalesce(max(batch), 0) + 1 FROM {table}), "
                f"{quote_literal(environment)}, * FROM VALUES {', '.join(rows)} AS (place, run, number, at, entry)"
            )
            rows, size = [], 0


def read(spark: Spark, schema: str, environment: str) -> list[Numbered]:
    """Everything that was ever done, in order; empty where nothing was."""
    return read_after(spark, schema, environment, Point())[0]


def read_after(
    spark: Spark, schema: str, environment: str, point: Point
) -> tuple[list[Numbered], Point, bool]:
    """What was done since a point, the point where the history ends, and whether it goes on from the
    first to the second.

    Batches only count up, so whoever has folded all up to one needs only what came after. A history
    that does not have that point is another one: all of it is read.
    """
    last, known = _ends(spark, schema, environment, point.batch)
    first = point.batch if known == point else 0
    if first == last.batch:
        return [], last, known == point
    rows = spark.sql(
        "SELECT number, min(struct(batch, place, entry)) AS first "
        f"FROM {_of(schema, environment)} GROUP BY run, number HAVING min(batch) > {first} ORDER BY first"
    )
    return [_numbered(row["number"], row["first"]["entry"]) for row in rows], last, known == point


def last_point(spark: Spark, schema: str, environment: str) -> Point:
    """Where the history ends."""
    return _ends(spark, schema, environment, 0)[0]


def _ends(spark: Spark, schema: str, environment: str, batch: int) -> tuple[Point, Point]:
    """The end of the history, and that of one of its batches."""
    rows = _rows(
        spark,
        "SELECT coalesce(max(batch), 0) AS last, max(struct(batch, place, row)).row AS ends, "
        f"(max(struct(place, row)) FILTER (WHERE batch = {batch})).row AS known FROM "
        f"(SELECT *, concat_ws('/', run, number, at) AS row FROM {_of(schema, environment)})",
    )
    found = rows[0] if rows else {}
    ends = ((found.get("last", 0), found.get("ends")), (batch, found.get("known")))
    last, known = (Point(int(number), f"{environment}/{end or ''}") for number, end in ends)
    return last, known


def read_run(spark: Spark, schema: str, run: str) -> list[Numbered]:
    """What the history has of one run."""
    rows = _rows(
        spark,
        f"SELECT number, min(entry) AS entry FROM {in_session_catalog(schema, TABLE)} "
        f"WHERE run = {quote_literal(run)} GROUP BY number ORDER BY number",
    )
    return [_numbered(row["number"], row["entry"]) for row in rows]


def _rows(spark: Spark, question: str) -> list[Row]:
    """The answer; empty where there is no history."""
    try:
        return spark.sql(question)
    except SparkFailure as failure:
        if failure.condition in _ABSENT:
            return []
        raise


def _numbered(number: int, entry: str) -> Numbered:
    return Numbered(number, decode_entry(json.loads(entry)))

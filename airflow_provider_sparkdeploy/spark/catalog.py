"""What is really there: the objects that a repository or a log names, as a catalog has them.

Asked in waves, each in parallel: the names in every schema; what stands behind those that are
wanted, many in one question; and one by one what an answer left open. What is listed but cannot
be described is unreadable, never missing. Only a schema that Spark says does not exist makes its
objects missing: any other refusal to list one is raised.

Where many objects of the embedded catalog are wanted, ``metastore`` reads them from its database
first, and only what that leaves open is asked for.

Spark has no word for the indexes of a JDBC catalog. PostgreSQL lists them in a view of its own,
which the catalog lets through; those of other databases are not judged.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ..core.catalog import Catalog, ObservedKind, ObservedObject
from ..core.names import ObjectName, parse_name, quote, quote_literal
from ..core.objects import Column
from . import described, metastore
from .asking import Asking, by_halves, chunks
from .described import Described
from .matview import data_table_of
from .metastore import Key, Metastore
from .session import Row, Sessions, Spark, SparkFailure
from .wanted import Schema, Wanted, schemas_of, wanted_objects

__all__ = ["Wanted", "inspect", "rows_or_none", "schema_exists", "wanted_objects"]

_THREADS = 4  # more do not help: one server, and one metastore behind it
_DESCRIBED_AT_ONCE = 200
_MANY = 20  # objects, from which on it takes longer to ask for each than for all that there is
_ANALYSED_AT_ONCE = 20  # the work for a join of n relations grows faster than n

_NO_SCHEMA = ("SCHEMA_NOT_FOUND", "NO_SUCH_NAMESPACE", "NO_SUCH_DATABASE", "DATABASE_NOT_FOUND")
_NO_OBJECT = ("TABLE_OR_VIEW_NOT_FOUND", "VIEW_NOT_FOUND", "UNRESOLVED_ROUTINE", "ROUTINE_NOT_FOUND")
_NO_JSON = ("NOT_SUPPORTED_COMMAND_FOR_V2_TABLE", "PARSE_SYNTAX_ERROR")
_NO_ABILITY = ("MISSING_CATALOG_ABILITY", "_LEGACY_ERROR_TEMP_1184")  # the latter in Spark 3.5
_VIEWS = ("view", "materialized_view")
_OWN_METADATA = ("delta", "iceberg", "hudi")  # of whose tables the metastore knows little

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class _Listed:
    """The names in a schema. ``views`` are those that a catalog lists apart from its tables."""

    relations: frozenset[str] = frozenset()
    views: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()


def inspect(sessions: Sessions, wanted: Mapping[ObjectName, Wanted], *, data_schema: str) -> Catalog:
    """The actual state of all that is wanted. Raises ``SparkFailure`` where a schema cannot be listed."""
    schemas = schemas_of(wanted)
    with Asking(sessions, _THREADS) as asking:
        known = _read_metastore(asking, sessions, schemas)
        found: dict[ObjectName, _Found] = {}
        asked: list[Schema] = []
        for schema in schemas:
            if known is not None and schema.in_session_catalog:
                found |= _told_of(known, schema)
                schema = _open_in(known, schema)
            if schema.relations or schema.functions:
                asked.append(schema)
        listings = [asking.ask(_list, schema) for schema in asked]
        many = [
            _ask_of_many(asking, schema, listing.result())
            for schema, listing in zip(asked, listings, strict=True)
        ]
        for schema, answers in zip(asked, many, strict=True):
            found |= _relations(asking, schema, answers)
            found |= answers.functions
        told = {name: item.result() if isinstance(item, Future) else item for name, item in found.items()}
        objects = {name: item for name, item in told.items() if item is not None}
        objects |= _materialized(asking, objects, data_schema, known)
    return Catalog(objects, frozenset(wanted))


_Found = Future[ObservedObject | None] | ObservedObject


@dataclass(frozen=True, slots=True)
class _Answers:
    """What was asked of a whole schema, by the keys of its names."""

    listed: _Listed
    described: Sequence[Future[dict[str, Described]]] = ()
    columns: Sequence[Future[dict[str, tuple[Column, ...]]]] = ()
    indexes: Future[dict[str, tuple[str, ...]] | None] | None = None
    functions: Mapping[ObjectName, Future[ObservedObject | None]] = field(default_factory=dict)


# All of the embedded catalog


def _read_metastore(asking: Asking, sessions: Sessions, schemas: Sequence[Schema]) -> Metastore | None:
    own = [schema for schema in schemas if schema.in_session_catalog]
    count = sum(len(schema.relations) + len(schema.functions) for schema in own)
    return metastore.read(asking, sessions.metastore) if sessions.metastore and count >= _MANY else None


def _told_of(known: Metastore, schema: Schema) -> dict[ObjectName, ObservedObject]:
    told: dict[ObjectName, ObservedObject] = {}
    for items, there in ((schema.relations, known.relations), (schema.functions, known.functions)):
        for name, item in items.items():
            found = there.get(_place(schema, item))
            if found is not None:
                told[name] = found
    return told


def _open_in(known: Metastore, schema: Schema) -> Schema:
    """The schema with what is there and not told of: that is asked for as ever."""

    def left(
        items: Mapping[ObjectName, Wanted], there: Mapping[Key, ObservedObject | None]
    ) -> dict[ObjectName, Wanted]:
        return {name: item for name, item in items.items() if there.get(_place(schema, item), item) is None}

    return replace(
        schema,
        relations=left(schema.relations, known.relations),
        functions=left(schema.functions, known.functions),
    )


def _place(schema: Schema, item: Wanted) -> Key:
    return schema.parts[-1].casefold(), schema.key_of(item)


# All names of a schema


def _list(spark: Spark, schema: Schema) -> _Listed:
    relations = views = functions = frozenset[str]()
    if schema.relations:
        rows = rows_or_none(spark, schema.parts, "TABLES")
        relations = frozenset(schema.key(row["tableName"]) for row in rows if not row["isTemporary"])
    if not schema.in_session_catalog and any(item.kind == "view" for item in schema.relations.values()):
        rows = rows_or_none(spark, schema.parts, "VIEWS")
        views = frozenset(schema.key(row["viewName"]) for row in rows if not row["isTemporary"])
    if schema.functions:
        rows = rows_or_none(spark, schema.parts, "USER FUNCTIONS")
        functions = frozenset(schema.key((parse_name(row["function"]) or ("",))[-1]) for row in rows)
    return _Listed(relations, views, functions)


def rows_or_none(spark: Spark, schema: tuple[str, ...], what: str) -> list[Row]:
    """What SHOW lists in a schema: nothing where that does not exist, or its catalog cannot have it."""
    try:
        return spark.sql(f"SHOW {what} IN {quote(schema)}")
    except SparkFailure as failure:
        if _is(failure, _NO_SCHEMA + _NO_ABILITY):
            return []
        # Iceberg says it in words of its own, without a condition.
        if not failure.transient and not failure.condition and not schema_exists(spark, schema):
            return []
        raise


def schema_exists(spark: Spark, schema: tuple[str, ...]) -> bool:
    try:
        spark.sql(f"DESCRIBE SCHEMA {quote(schema)}")
    except SparkFailure as failure:
        if _is(failure, _NO_SCHEMA):
            return False
        raise
    return True


# Many objects in one question


def _ask_of_many(asking: Asking, schema: Schema, listed: _Listed) -> _Answers:
    present = {schema.key_of(item): item for item in schema.relations.values()}
    present = {key: item for key, item in present.items() if key in listed.relations}
    tables = [(key, item.physical) for key, item in present.items() if item.kind not in _VIEWS]
    bulk = sorted(present) if schema.in_session_catalog else []
    return _Answers(
        listed,
        [asking.ask(_describe_many, schema.parts, names) for names in chunks(bulk, _DESCRIBED_AT_ONCE)],
        [asking.ask(_analyse_many, batch) for batch in chunks(tables, _ANALYSED_AT_ONCE)],
        asking.ask(_indexes, schema) if schema.is_jdbc and present else None,
        {
            name: asking.ask(_function, schema, item)
            for name, item in schema.functions.items()
            if schema.key_of(item) in listed.functions
        },
    )


def _describe_many(spark: Spark, schema: tuple[str, ...], names: Sequence[str]) -> dict[str, Described]:
    """The names are those of the session catalog: lower case, and nothing that a pattern minds."""

    def ask(some: Sequence[str]) -> dict[str, Described]:
        pattern = quote_literal("|".join(some))
        rows = spark.sql(f"SHOW TABLE EXTENDED IN {quote(schema)} LIKE {pattern}")
        return {
            row["tableName"].casefold(): described.from_extended(row["information"])
            for row in rows
            if not row["isTemporary"]
        }

    return by_halves(ask, names)


def _analyse_many(
    spark: Spark, tables: Sequence[tuple[str, tuple[str, ...]]]
) -> dict[str, tuple[Column, ...]]:
    """The columns of tables, from the analysis of one query over all of them, which is never run."""

    def ask(some: Sequence[tuple[str, tuple[str, ...]]]) -> dict[tuple[str, tuple[str, ...]], Any]:
        structs = ", ".join(f"struct(t{number}.*) AS c{number}" for number in range(len(some)))
        joined = ", ".join(f"{quote(table)} AS t{number}" for number, (_, table) in enumerate(some))
        fields = spark.schema(f"SELECT {structs} FROM {joined}")["fields"]
        return {table: field["type"] for table, field in zip(some, fields, strict=True)}

    return {key: described.columns_of(struct) for (key, _), struct in by_halves(ask, tables).items()}


def _indexes(spark: Spark, schema: Schema) -> dict[str, tuple[str, ...]] | None:
    """The indexes by table; None where the database does not have PostgreSQL's list of them."""
    listing = quote((*schema.parts[:-1], "pg_catalog", "pg_indexes"))
    question = (
        f"SELECT tablename, indexname FROM {listing} WHERE schemaname = {quote_literal(schema.parts[-1])}"
    )
    found: dict[str, list[str]] = {}
    try:
        rows = spark.sql(question)
    except SparkFailure as failure:
        if failure.transient:
            raise
        return None
    for row in rows:
        found.setdefault(row["tablename"], []).append(row["indexname"])
    return {table: tuple(sorted(indexes)) for table, indexes in found.items()}


# One object


def _relations(asking: Asking, schema: Schema, answers: _Answers) -> dict[ObjectName, _Found]:
    """What the answers tell of every relation; what they leave open is asked."""
    told = _merged(answers.described)
    columns = _merged(answers.columns)
    indexes = answers.indexes.result() if answers.indexes else None
    found: dict[ObjectName, _Found] = {}
    for name, item in schema.relations.items():
        key = schema.key_of(item)
        if key in answers.listed.views:
            found[name] = ObservedObject("view")  # its text is not judged
        elif key in answers.listed.relations:
            entry = Described("table") if schema.is_jdbc else told.get(key)
            own = indexes.get(key, ()) if indexes is not None else None
            if entry is not None and _settles(entry, item) and (key in columns or not _compared(entry, item)):
                found[name] = _observed(entry, columns.get(key), own)
            else:
                found[name] = asking.ask(_relation, schema, item, entry, columns.get(key), own)
    return found


def _observed(
    entry: Described, columns: tuple[Column, ...] | None, indexes: tuple[str, ...] | None
) -> ObservedObject:
    definition = replace(entry.definition, columns=columns) if columns is not None else entry.definition
    return ObservedObject(entry.kind, definition, entry.text, entry.marker, indexes)


def _settles(entry: Described, item: Wanted) -> bool:
    return entry.exact and not item.exact and entry.definition.provider not in _OWN_METADATA


def _compared(entry: Described, item: Wanted) -> bool:
    """Whether its columns matter: not where something else than a table was to be there."""
    return entry.kind == "table" and item.kind not in _VIEWS


def _relation(
    spark: Spark,
    schema: Schema,
    item: Wanted,
    entry: Described | None,
    columns: tuple[Column, ...] | None,
    indexes: tuple[str, ...] | None,
) -> ObservedObject | None:
    """An object, asked for alone. None if it is gone meanwhile; unreadable if Spark refuses."""
    try:
        if not schema.is_jdbc and (entry is None or not _settles(entry, item)):
            entry = _describe(spark, schema, item)
        assert entry is not None
        if columns is None and _compared(entry, item):
            columns = described.columns_of_rows(spark.sql(f"DESCRIBE TABLE {quote(item.physical)}"))
        return _observed(entry, columns, indexes)
    except SparkFailure as failure:
        return _refused(spark, failure, schema, item)


def _describe(spark: Spark, schema: Schema, item: Wanted) -> Described:
    """A description that leaves nothing open: as JSON where Spark has it, which is not in v2."""
    table = quote(item.physical)
    properties = {row["key"]: row["value"] for row in spark.sql(f"SHOW TBLPROPERTIES {table}")}
    if schema.in_session_catalog:
        try:
            rows = spark.sql(f"DESCRIBE TABLE EXTENDED {table} AS JSON")
            return described.from_json(json.loads(rows[0]["json_metadata"]), properties)
        except SparkFailure as failure:
            if not _is(failure, _NO_JSON):
                raise
    return described.from_rows(spark.sql(f"DESCRIBE TABLE EXTENDED {table}"), properties)


def _function(spark: Spark, schema: Schema, item: Wanted) -> ObservedObject | None:
    try:
        rows = spark.sql(f"DESCRIBE FUNCTION EXTENDED {quote(item.physical)}")
    except SparkFailure as failure:
        return _refused(spark, failure, schema, item)
    return described.function_of(rows)


def _refused(spark: Spark, failure: SparkFailure, schema: Schema, item: Wanted) -> ObservedObject | None:
    """What a refusal to describe a listed object means. It is gone only if it is no longer listed:
    Spark 3.5 also says of a table in a database that it is not there when it may not be read."""
    if failure.transient:
        raise failure
    if _is(failure, _NO_OBJECT):
        listed = _list(spark, schema)
        if schema.key_of(item) not in (listed.functions if item.kind == "function" else listed.relations):
            return None
    kind: ObservedKind = "table" if item.kind in ("data", "migration", "sink") else item.kind  # type: ignore[assignment]
    return ObservedObject(kind, readable=False)


# Materialized views


def _materialized(
    asking: Asking,
    objects: Mapping[ObjectName, ObservedObject],
    data_schema: str,
    known: Metastore | None,
) -> dict[ObjectName, ObservedObject]:
    """The views that a refresh has written, as what they are. The marker of each is on the table
    behind it: empty where that table is gone, for then nothing of it can be trusted."""
    behind: dict[ObjectName, str] = {}
    for name, item in objects.items():
        table = data_table_of(item.text) if item.kind == "view" and item.text else None
        if table and table[-2].casefold() == data_schema.casefold():
            behind[name] = table[-1].casefold()
    tables = sorted(set(behind.values()))
    if known is not None:
        there = {table: known.relations.get((data_schema.casefold(), table)) for table in tables}
        markers = {table: item.marker for table, item in there.items() if item is not None}
        tables = [table for table in tables if table not in markers]
    else:
        markers = {}
    asked = [asking.ask(_describe_many, (data_schema,), some) for some in chunks(tables, _DESCRIBED_AT_ONCE)]
    markers |= {table: entry.marker for table, entry in _merged(asked).items()}
    return {
        name: replace(objects[name], kind="materialized_view", text=None, marker=markers.get(table) or "")
        for name, table in behind.items()
    }


def _merged(answers: Iterable[Future[dict[K, V]]]) -> dict[K, V]:
    return {key: value for answer in answers for key, value in answer.result().items()}


def _is(failure: SparkFailure, conditions: tuple[str, ...]) -> bool:
    """Whether a failure is of one of these conditions, or of a kind of one."""
    return failure.condition.partition(".")[0] in conditions

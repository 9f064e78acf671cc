"""An existing schema as files: what its tables, views and functions are, asked of Spark.

Nothing is changed there. Functions are tried out: a temporary one is made of what was read, and must
be described by Spark as the original is. What cannot be said in a file, or not with certainty, is
left out and named.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import functiontext
from ..core.catalog import Catalog, ObservedObject
from ..core.declaration import (
    Storage,
    function_statement,
    hidden_properties,
    in_sql,
    table_statement,
    type_text,
    view_statement,
)
from ..core.lexer import LexError, lex
from ..core.names import SESSION_CATALOG, ObjectName, object_name, parse_name, quote, quote_literal
from ..core.objects import Column, Kind, TableDef
from ..core.references import find_references
from ..core.settings import Settings
from ..core.sqltypes import canonical_type
from ..core.statement import read_head
from .asking import Asking
from .catalog import inspect, rows_or_none
from .described import columns_of, detail_of_rows
from .matview import data_table_of
from .session import Row, Sessions, Spark, SparkFailure
from .wanted import Wanted

_THREADS = 4
_BESIDE_TYPES = ("__CHAR_VARCHAR_TYPE_STRING", "__COLLATIONS")


@dataclass(frozen=True, slots=True)
class Draft:
    """The file of an object: ``header`` are its attributes, ``remark`` what a person should know."""

    name: ObjectName
    kind: Kind
    file: str
    statement: str
    header: str = ""
    remark: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An object that has no file, and why."""

    name: str
    why: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Imported:
    """What was found in a schema. ``catalog`` is how it looks to a plan."""

    drafts: tuple[Draft, ...]
    left_out: tuple[LeftOut, ...]
    catalog: Catalog


@dataclass(frozen=True, slots=True)
class _Names:
    relations: tuple[str, ...]
    views: tuple[str, ...]
    functions: tuple[str, ...]


def read_schema(sessions: Sessions, folder: str, schema: tuple[str, ...], settings: Settings) -> Imported:
    """Everything in a schema, as files of a folder."""
    place = _Place(folder, schema, settings)
    with sessions.open() as spark:
        names = _list(spark, schema)
    wanted, left_out = place.wanted(names)
    catalog = inspect(sessions, wanted, data_schema=settings.data_schema)
    with Asking(sessions, _THREADS) as asking:
        asked = {
            name: asking.ask(_draft, place, name, wanted[name].physical[-1], item)
            for name, item in sorted(catalog.objects.items())
        }
        told = [answer.result() for answer in asked.values()]
    drafts = tuple(item for item in told if isinstance(item, Draft))
    left_out += [item for item in told if isinstance(item, LeftOut)]
    return Imported(drafts, tuple(left_out), catalog)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where objects come from, and where their files go."""

    folder: str
    schema: tuple[str, ...]
    settings: Settings

    @property
    def in_session_catalog(self) -> bool:
        return _is_session_catalog(self.schema)

    @property
    def home(self) -> tuple[str, ...]:
        """The schema with its catalog, as USE and DESCRIBE name it."""
        return self.schema if len(self.schema) > 1 else (SESSION_CATALOG, *self.schema)

    def wanted(self, names: _Names) -> tuple[dict[ObjectName, Wanted], list[LeftOut]]:
        """What is looked at, and what can have no file: there is one name for all kinds."""
        found: dict[ObjectName, Wanted] = {}
        left_out: list[LeftOut] = []
        kinds: list[tuple[Kind, tuple[str, ...]]] = [
            ("table", names.relations),
            ("view", names.views),
            ("function", names.functions),
        ]
        for kind, name in ((kind, name) for kind, listed in kinds for name in listed):
            key = object_name(self.folder, name)
            physical = (*self.schema, name)
            if "/" in name or "\0" in name or name.startswith("."):
                left_out.append(LeftOut(str(key), "no file can have this name"))
            elif key in found:
                why = (
                    "there is a table or view of this name, too" if kind == "function" else "is listed twice"
                )
                left_out.append(LeftOut(str(key), why, "Rename one of them: a name stands for one object."))
            else:
                found[key] = Wanted(physical, kind, self.settings.catalog_type(physical), exact=True)
        return found, left_out

    def spelled(self, name: str) -> str:
        """An object as its own file names it."""
        return f"${{{self.folder}}}.{in_sql(name)}"


def _is_session_catalog(schema: tuple[str, ...]) -> bool:
    return len(schema) < 2 or schema[0].casefold() == SESSION_CATALOG


def _list(spark: Spark, schema: tuple[str, ...]) -> _Names:
    views = _names(rows_or_none(spark, schema, "VIEWS"), "viewName")
    tables = _names(rows_or_none(spark, schema, "TABLES"), "tableName")
    functions = sorted(
        (parse_name(row["function"]) or ("",))[-1] for row in rows_or_none(spark, schema, "USER FUNCTIONS")
    )
    if _is_session_catalog(schema):  # which lists views among its tables, and describes them as such
        return _Names(tables, (), tuple(functions))
    return _Names(tuple(name for name in tables if name not in views), views, tuple(functions))


def _names(rows: list[Row], key: str) -> tuple[str, ...]:
    return tuple(sorted(row[key] for row in rows if not row["isTemporary"]))


# One object


def _draft(
    spark: Spark, place: _Place, name: ObjectName, spelled: str, item: ObservedObject
) -> Draft | LeftOut:
    if not item.readable:
        return LeftOut(str(name), "Spark lists it and does not describe it", "Check the permissions.")
    try:
        if item.kind == "table":
            return _table(spark, place, name, spelled, item.definition)
        if item.kind == "view":
            return _view(spark, place, name, spelled, item)
        if item.kind == "function":
            return _function(spark, place, name, spelled)
    except SparkFailure as failure:
        if failure.transient:
            raise
        return LeftOut(str(name), f"Spark refuses to describe it: {failure}")
    return LeftOut(
        str(name),
        "it is a materialized view",
        "Write its file, or take it from the repository that deploys it; then drop what is there.",
    )


def _table(spark: Spark, place: _Place, name: ObjectName, spelled: str, table: TableDef) -> Draft | LeftOut:
    physical = quote((*place.schema, spelled))
    fields = spark.schema(f"SELECT * FROM {physical}")["fields"]
    defaults = {
        field["name"]: field["metadata"]["CURRENT_DEFAULT"]
        for field in fields
        if "CURRENT_DEFAULT" in field["metadata"]
    }
    detail = _detail(spark, physical) if place.in_session_catalog else {}
    options = detail.get("storage_properties", {})
    if options is None:
        return LeftOut(
            str(name), "what Spark tells of its options cannot be read with certainty", "Write its file."
        )
    storage = Storage(
        options=options,
        location=detail.get("location", "") if detail.get("type") == "EXTERNAL" else "",
        serde=_serde(detail) if detail.get("provider") == "hive" else None,
        buckets=_buckets(detail),
        defaults=defaults,
        types=_types(fields),
    )
    header = "lifecycle=external" if storage.location else ""
    hidden = ", ".join(hidden_properties(table))
    remark = f"Spark hides the value of {hidden}: it is not in the file" if hidden else ""
    statement = table_statement(place.spelled(spelled), table, storage)
    return Draft(name, "table", spelled, statement, header, remark)


def _types(fields: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The types that have comments of fields in them, which are not compared and yet worth keeping.

    Not where Spark keeps lengths or collations beside the type: those are worth more.
    """
    plain = [field for field in fields if not any(key in json.dumps(field) for key in _BESIDE_TYPES)]
    found = {field["name"]: _commented(field["type"]) for field in plain}
    return {name: text for name, text in found.items() if " COMMENT " in text}


def _commented(told: Any) -> str:
    """A type in Spark's JSON, with the comments of its fields."""
    if isinstance(told, str):
        return type_text(canonical_type(told))
    match told["type"]:
        case "array":
            return f"ARRAY<{_commented(told['elementType'])}>"
        case "map":
            return f"MAP<{_commented(told['keyType'])}, {_commented(told['valueType'])}>"
        case "struct":
            return f"STRUCT<{', '.join(map(_field, told['fields']))}>"
    return ""


def _field(field: Mapping[str, Any]) -> str:
    comment = field["metadata"].get("comment")
    text = f"{in_sql(field['name'])}: {_commented(field['type'])}"
    return f"{text} COMMENT {quote_literal(comment)}" if comment else text


def _detail(spark: Spark, physical: str) -> Mapping[str, Any]:
    try:
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {physical} AS JSON")
    except SparkFailure as failure:
        if failure.condition != "PARSE_SYNTAX_ERROR":  # Spark 3.5 has no JSON
            raise
        return detail_of_rows(spark.sql(f"DESCRIBE TABLE EXTENDED {physical}"))
    found: Mapping[str, Any] = json.loads(rows[0]["json_metadata"])
    return found


def _serde(detail: Mapping[str, Any]) -> tuple[str, str, str]:
    return (
        detail.get("serde_library", ""),
        detail.get("input_format", ""),
        detail.get("output_format", ""),
    )


def _buckets(detail: Mapping[str, Any]) -> tuple[int, tuple[str, ...], tuple[str, ...]] | None:
    if not detail.get("num_buckets"):
        return None
    return (
        int(detail["num_buckets"]),
        tuple(detail.get("bucket_columns", ())),
        tuple(detail.get("sort_columns", ())),
    )


def _view(
    spark: Spark, place: _Place, name: ObjectName, spelled: str, item: ObservedObject
) -> Draft | LeftOut:
    if item.text is None:
        return LeftOut(str(name), "its catalog does not tell its query", "Write its file.")
    behind = data_table_of(item.text)
    if behind is not None and behind[-1].startswith("mv_"):
        return LeftOut(
            str(name),
            "it is a materialized view that SparkDeploy keeps",
            "Take its file from the repository that deploys it.",
        )
    detail = _detail(spark, quote((*place.schema, spelled)))
    home = parse_name(detail.get("view_catalog_and_namespace", "")) or ()
    at_home = [part.casefold() for part in home] == [part.casefold() for part in place.home]
    strange = () if at_home else _unqualified(item.text)
    if strange:
        return LeftOut(
            str(name),
            f"its query was written in {'.'.join(home)}, and names {', '.join(strange)} without a schema",
            "Alter the view so that it names schemas; then import it.",
        )
    columns = _columns(spark, place, item, detail)
    mode = detail.get("view_schema_mode", "")
    statement = view_statement(place.spelled(spelled), item.text, columns, item.definition, mode)
    return Draft(name, "view", spelled, statement)


def _columns(
    spark: Spark, place: _Place, item: ObservedObject, detail: Mapping[str, Any]
) -> tuple[Column, ...]:
    """The columns that a view names itself, where it does: with other names than those of its query,
    or with comments that do not come from there."""
    names = [column["name"] for column in detail["columns"]]
    comments = [column.get("comment", "") for column in detail["columns"]]
    if any(comments) and item.text:
        spark.sql(f"USE {quote(place.home)}")
        try:
            of_query = [column.comment for column in columns_of(spark.schema(item.text))]
        except SparkFailure:  # a view that nobody can read just now
            of_query = []
        if len(of_query) == len(comments):
            pairs = zip(comments, of_query, strict=True)
            comments = ["" if own == inherited else own for own, inherited in pairs]
    if names == list(detail.get("view_query_output_columns", ())) and not any(comments):
        return ()
    return tuple(Column(name, "", True, comment) for name, comment in zip(names, comments, strict=True))


def _unqualified(query: str) -> Sequence[str]:
    """The names in a query that mean the schema in which it was written."""
    try:
        found = lex(query)
    except LexError:
        return ["something"]
    references, parsed = find_references(query, found, read_head(found))
    if not parsed:
        return ["something"]
    return sorted({parts[0] for parts in (*references.tables, *references.calls) if len(parts) == 1})


def _function(spark: Spark, place: _Place, name: ObjectName, spelled: str) -> Draft | LeftOut:
    parts = functiontext.described_parts(
        spark.sql(f"DESCRIBE FUNCTION EXTENDED {quote((*place.schema, spelled))}")
    )
    if not parts:
        return LeftOut(str(name), "it is not written in SQL", "A file can hold SQL functions only.")
    function = functiontext.read_function(parts)
    if function is None or not _is_same(
        spark, place, function_statement("{}", function, temporary=True), parts
    ):
        return LeftOut(
            str(name), "what Spark tells of it cannot be read with certainty", "Write its file by hand."
        )
    return Draft(name, "function", spelled, function_statement(place.spelled(spelled), function))


def _is_same(spark: Spark, place: _Place, statement: str, parts: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether Spark describes what was read as it describes the original."""
    trial = "sparkdeploy_import"
    spark.sql(f"USE {quote(place.home)}")
    try:
        spark.sql(statement.replace("{}", trial, 1))
        told = functiontext.described_parts(spark.sql(f"DESCRIBE FUNCTION EXTENDED {trial}"))
        spark.sql(f"DROP TEMPORARY FUNCTION {trial}")
    except SparkFailure as failure:
        if failure.transient:
            raise
        return False
    return functiontext.compared(told) == functiontext.compared(parts)

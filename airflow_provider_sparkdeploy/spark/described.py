"""From what Spark prints of its catalog to what it means. Pure; ``catalog`` does the asking.

``SHOW TABLE EXTENDED`` describes a whole schema in one answer, but as text made for people: a
comment or a query may hold a line that looks like the next entry, and properties are joined by
commas. What can be read in two ways is marked (``exact=False``), and is asked for one by one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core import names
from ..core.catalog import REDACTED, ObservedKind, ObservedObject
from ..core.functiontext import described_parts
from ..core.marker import MARKER
from ..core.objects import Column, TableDef
from ..core.providers import may_set
from ..core.signature import described_signature
from ..core.tabledef import bucketing, canonical_partition, canonical_type, clustering

# In the order in which Spark prints them: one that comes too early or twice is somebody's text.
_LABELS = (
    "Catalog", "Database", "Namespace", "Table", "Owner", "Created Time", "Last Access", "Created By", "Type",
    "Provider", "Num Buckets", "Bucket Columns", "Sort Columns", "Comment", "Collation", "View Text",
    "View Original Text", "View Schema Mode", "View Catalog and Namespace", "View Query Output Columns",
    "Table Properties", "Statistics", "Location", "Serde Library", "InputFormat", "OutputFormat",
    "Storage Properties", "Partition Provider", "Partition Columns", "Schema",
)  # fmt: skip
# Spark prints the label alone where there is nothing to say: a comment that is empty.
_LABEL = re.compile(rf"^({'|'.join(_LABELS)})(: |$)", re.MULTILINE)
_FIRST_FREE_TEXT = _LABELS.index("Comment")
_TREE = re.compile(r"^ \|-- (.*): [a-z]", re.MULTILINE)

# What is called otherwise in JSON than by its label in small letters, and what is a list there
_JSON_KEYS = {"InputFormat": "input_format", "OutputFormat": "output_format"}
_LISTS = ("Bucket Columns", "Sort Columns", "View Query Output Columns")

_RAW_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
_FILES = ("parquet", "orc", "csv", "json", "text", "avro")
# Spark reads these types back with its own parser, which stumbles over the names in some.
_PLAIN_TYPE = re.compile(r"(?:[a-z_]\w*(?:\(\d+(?:,\d+)?\))?|[<>,:])+", re.ASCII | re.IGNORECASE)
# spark.sql.redaction.options.regex and spark.redaction.regex, as they are by default
_SECRET = re.compile(r"url|secret|password|token|access[.]?key", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Described:
    """A relation as a catalog describes it; ``definition`` has no columns yet but those that a
    view names. ``exact`` is False where the text may be read in more than one way."""

    kind: ObservedKind
    definition: TableDef = TableDef()
    text: str | None = None
    marker: str | None = None
    exact: bool = True


def from_extended(information: str) -> Described:
    """One entry of SHOW TABLE EXTENDED."""
    entries, exact = _entries(information)
    properties, told = properties_of_text(entries.get("Table Properties", "[]"))
    kind = _kind(entries.get("Type", ""))
    text = entries.get("View Text")
    exact = exact and told and (text is not None) == (kind == "view")
    partitioning = _partitioning(
        _listed(entries.get("Partition Columns", "")),
        entries.get("Num Buckets", ""),
        _listed(entries.get("Bucket Columns", "")),
        _listed(entries.get("Sort Columns", "")),
        _clustering_property(properties.get("clusteringColumns", "")),
    )
    columns = _named(_TREE.findall(entries.get("Schema", "")))
    definition = _definition(
        entries.get("Provider", ""), partitioning, properties, entries.get("Comment", "")
    )
    if kind == "view":
        definition = TableDef(columns, "", (), definition.properties, definition.comment)
    return Described(kind, definition, text, properties.get(MARKER), exact)


def from_json(described: Mapping[str, Any], properties: Mapping[str, str]) -> Described:
    """DESCRIBE TABLE EXTENDED ... AS JSON and SHOW TBLPROPERTIES, which leave nothing open."""
    kind = _kind(described.get("type", ""))
    if kind == "view":
        columns = _named(column["name"] for column in described.get("columns", ()))
        definition = TableDef(columns, "", (), _kept(properties), described.get("comment", ""))
        return Described(kind, definition, described.get("view_text"), properties.get(MARKER))
    partitioning = _partitioning(
        described.get("partition_columns", ()),
        str(described.get("num_buckets", "")),
        described.get("bucket_columns", ()),
        described.get("sort_columns", ()),
        described.get("clustering_columns", ()),
    )
    comment = described.get("comment", "")
    definition = _definition(described.get("provider", ""), partitioning, properties, comment)
    return Described(kind, definition, described.get("view_text"), properties.get(MARKER))


def from_rows(rows: Sequence[Mapping[str, Any]], properties: Mapping[str, str]) -> Described:
    """DESCRIBE TABLE EXTENDED of a catalog that has no JSON: rows of name, value and comment."""
    partitioning: list[str] = []
    told = _section(rows, "# Detailed Table Information")
    section = ""
    for row in rows:
        key, value = row["col_name"] or "", row["data_type"] or ""
        if key == "# col_name":
            continue  # a heading inside a section
        if key.startswith("# "):
            section = key
        elif section == "# Partitioning" and key.startswith("Part "):
            partitioning.append(canonical_partition(value))
        elif section == "# Partition Information" and key:
            partitioning.append(canonical_partition(key))
    partitioning += _partitioning(
        (),
        told.get("Num Buckets", ""),
        _listed(told.get("Bucket Columns", "")),
        _listed(told.get("Sort Columns", "")),
        _clustering_property(properties.get("clusteringColumns", "")),
    )
    definition = _definition(
        told.get("Provider", ""), tuple(partitioning), properties, told.get("Comment", "")
    )
    kind = _kind(told.get("Type", ""))
    if kind == "view":
        columns = _named(column.name for column in columns_of_rows(rows))
        definition = TableDef(columns, "", (), definition.properties, definition.comment)
    return Described(kind, definition, told.get("View Text"), properties.get(MARKER))


def detail_of_rows(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """DESCRIBE TABLE EXTENDED as the same AS JSON would be, which Spark 3.5 does not have: what no
    other answer tells. ``storage_properties`` is None where it may be read in more than one way."""
    found: dict[str, Any] = {
        "columns": [{"name": column.name, "comment": column.comment} for column in columns_of_rows(rows)]
    }
    told = _section(rows, "# Detailed Table Information")
    for label, value in told.items():
        if label == "Storage Properties":
            pairs = [pair.partition("=") for pair in value.strip()[1:-1].split(", ")]
            exact = all(equals for _, equals, _ in pairs)
            found["storage_properties"] = {key: item for key, _, item in pairs} if exact else None
        elif label in _LISTS:
            found[label.lower().replace(" ", "_")] = _listed(value)
        else:
            found[_JSON_KEYS.get(label, label.lower().replace(" ", "_"))] = value
    return found


def _section(rows: Sequence[Mapping[str, Any]], heading: str) -> dict[str, str]:
    """The labelled rows under a heading."""
    told: dict[str, str] = {}
    section = ""
    for row in rows:
        key, value = row["col_name"] or "", row["data_type"] or ""
        if key.startswith("# "):
            section = key
        elif section == heading and key:
            told.setdefault(key, value)
    return told


def from_parameters(
    kind: ObservedKind, text: str | None, parameters: Mapping[str, str], types: Iterable[str]
) -> ObservedObject | None:
    """What Spark keeps of a relation in its metastore, where ``types`` are those that Hive knows of it.
    None of what only Spark can tell: a table of Hive's or of a connector's, one that Spark may not be
    able to read, one that is being made or dropped at this moment."""
    provider = parameters.get("spark.sql.sources.provider", "").casefold()
    schema = _joined(parameters, "spark.sql.sources.schema")
    told = provider in _FILES or kind == "view"
    if schema is None or not told:
        return None
    raw = (field["metadata"].get(_RAW_TYPE, "") for field in schema["fields"])
    if not all(_PLAIN_TYPE.fullmatch(item) for item in (*types, *filter(None, raw))):
        return None
    fields = columns_of(schema)
    properties = {key: _shown(key, value) for key, value in parameters.items()}
    comment, marker = parameters.get("comment", ""), parameters.get(MARKER)
    if kind == "view":
        names = _named(field.name for field in fields)
        return ObservedObject(kind, TableDef(names, "", (), _kept(properties), comment), text, marker)
    by = _numbered(parameters, "spark.sql.sources.schema", "numPartCols", "partCol")
    partitioning = _partitioning(
        by,
        parameters.get("spark.sql.sources.schema.numBuckets", ""),
        _numbered(parameters, "spark.sql.sources.schema", "numBucketCols", "bucketCol"),
        _numbered(parameters, "spark.sql.sources.schema", "numSortCols", "sortCol"),
        _clustering_property(parameters.get("clusteringColumns", "")),
    )
    # A value in a file may always be NULL, whatever was declared: so Spark tells it, too.
    columns = tuple(replace(field, nullable=True) for field in fields)
    definition = _definition(provider, partitioning, properties, comment)
    return ObservedObject(kind, replace(definition, columns=columns), None, marker)


def _joined(parameters: Mapping[str, str], key: str) -> Any:
    """JSON that is kept in one parameter or, where it is long, in several."""
    text = parameters.get(key)
    if text is None:
        count = int(parameters.get(f"{key}.numParts", "0"))
        parts = [parameters.get(f"{key}.part.{number}") for number in range(count)]
        if not parts or None in parts:
            return None
        text = "".join(part for part in parts if part)
    try:
        return json.loads(text)
    except ValueError:
        return None


def _numbered(parameters: Mapping[str, str], prefix: str, count: str, item: str) -> tuple[str, ...]:
    many = int(parameters.get(f"{prefix}.{count}", "0"))
    return tuple(parameters.get(f"{prefix}.{item}.{number}", "") for number in range(many))


def _shown(key: str, value: str) -> str:
    """A property as Spark would show it, so that a secret goes into no log."""
    return REDACTED if _SECRET.search(key) or _SECRET.search(value) else value


def columns_of(struct: Mapping[str, Any]) -> tuple[Column, ...]:
    """The columns of a struct in Spark's JSON, their types in the canonical spelling."""
    return tuple(
        Column(field["name"], _type_of(field), field["nullable"], field["metadata"].get("comment", ""))
        for field in struct["fields"]
    )


def columns_of_rows(rows: Iterable[Mapping[str, Any]]) -> tuple[Column, ...]:
    """The columns in the answer of DESCRIBE TABLE: all before the first blank line or heading."""
    found: list[Column] = []
    for row in rows:
        name = row["col_name"] or ""
        if not name or name.startswith("# "):
            break
        found.append(Column(name, canonical_type(row["data_type"]), True, row["comment"] or ""))
    return tuple(found)


def function_of(rows: Sequence[Mapping[str, Any]]) -> ObservedObject:
    """A function as DESCRIBE FUNCTION EXTENDED tells it."""
    return ObservedObject(
        "function", text=body_of(rows), signature=described_signature(described_parts(rows))
    )


def body_of(rows: Iterable[Mapping[str, Any]]) -> str | None:
    """The body in the answer of DESCRIBE FUNCTION EXTENDED; None of what is not written in SQL."""
    for row in rows:
        text: str = row["function_desc"]
        if text.startswith("Body:"):
            return text.removeprefix("Body:").strip()
    return None


def properties_of_text(text: str) -> tuple[dict[str, str], bool]:
    """``[a=b, c=d]``, and whether it can only be read in this way.

    Spark sorts by key, so that a value with a comma in it rarely passes for two entries.
    """
    inner = text.strip()[1:-1]
    if not inner:
        return {}, True
    pairs = [entry.partition("=") for entry in inner.split(", ")]
    keys = [key for key, _, _ in pairs]
    exact = all(equals for _, equals, _ in pairs) and keys == sorted(set(keys)) and "\n" not in inner
    return {key: value for key, _, value in pairs}, exact


def _entries(information: str) -> tuple[dict[str, str], bool]:
    """The labelled entries, and whether each label stands where Spark would have put it."""
    found = list(_LABEL.finditer(information))
    ends = [match.start() - 1 for match in found[1:]] + [len(information)]
    entries: dict[str, str] = {}
    for match, end in zip(found, ends, strict=True):
        entries.setdefault(match[1], information[match.end() : end])
    places = [_LABELS.index(match[1]) for match in found]
    told = all(match[2] or at <= _FIRST_FREE_TEXT for match, at in zip(found, places, strict=True))
    return entries, told and places == sorted(set(places))


def _kind(told: str) -> ObservedKind:
    word = told.upper()
    if "MATERIALIZED" in word:
        return "materialized_view"
    return "view" if word == "VIEW" else "table"


def _definition(
    provider: str, partitioning: tuple[str, ...], properties: Mapping[str, str], comment: str
) -> TableDef:
    return TableDef((), provider.casefold(), partitioning, _kept(properties), comment)


def _kept(properties: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The properties that an author may have set: engines keep theirs among them."""
    return tuple(sorted((key, value) for key, value in properties.items() if may_set(key)))


def _partitioning(
    columns: Sequence[str], buckets: str, by: Sequence[str], order: Sequence[str], clusters: Sequence[str]
) -> tuple[str, ...]:
    found = [names.display((column,)) for column in columns]
    if buckets:
        found.append(bucketing(int(buckets), by, order))
    if clusters:
        found.append(clustering(clusters))
    return tuple(found)


def _clustering_property(text: str) -> tuple[str, ...]:
    """``[["a"],["b","c"]]``: paths of names."""
    return tuple(".".join(path) for path in json.loads(text)) if text else ()


def _listed(text: str) -> tuple[str, ...]:
    """The names in ``[`a`, `b``c`]``. Spark 3.5 does not quote the columns of a view's query."""
    if "`" not in text:
        return tuple(name for name in text.strip("[]").split(", ") if name)
    return tuple(name.replace("``", "`") for name in re.findall(r"`((?:[^`]|``)*)`", text))


def _named(columns: Iterable[str]) -> tuple[Column, ...]:
    """The columns of a view, of which nothing but the names is compared."""
    return tuple(Column(name, "") for name in columns)


def _type_of(field: Mapping[str, Any]) -> str:
    raw = field["metadata"].get(_RAW_TYPE)
    return canonical_type(raw or _spelled_field(field))


def _spelled_field(field: Mapping[str, Any]) -> str:
    return _spelled(field["type"], field["name"], field["metadata"].get("__COLLATIONS", {}))


def _spelled(told: Any, path: str, collations: Mapping[str, str]) -> str:
    """A type in Spark's JSON, spelled as SQL. Collations are kept beside it, by path from the field."""
    if isinstance(told, str):
        collation = collations.get(path, "").rpartition(".")[2]
        return f"{told} collate {collation}" if collation else told
    match told["type"]:
        case "array":
            return f"array<{_spelled(told['elementType'], f'{path}.element', collations)}>"
        case "map":
            key = _spelled(told["keyType"], f"{path}.key", collations)
            return f"map<{key},{_spelled(told['valueType'], f'{path}.value', collations)}>"
        case "struct":
            fields = (
                f"{names.quote_part(field['name'])}:{_spelled_field(field)}" for field in told["fields"]
            )
            return f"struct<{','.join(fields)}>"
        case _:  # a user-defined type
            return str(told.get("class", told["type"]))

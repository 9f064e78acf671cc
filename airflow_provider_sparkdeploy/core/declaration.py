"""From what a catalog holds to the statement that declares it: the text of a file.

The inverse of ``tabledef``, and more: a definition holds what is compared with a catalog, a file
must also make the same table where there is none. Pure; ``spark.importing`` does the asking.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .catalog import REDACTED
from .lexer import Lexemes, LexError, lex
from .names import display, quote_literal
from .objects import Column, TableDef
from .providers import is_clustering, may_unset
from .sqltypes import TYPE_WORDS, type_key
from .statement import is_identifier, name_at
from .tokens import built_in_tokens

_WORD = re.compile(r"`(?:[^`]|``)*`|[a-z_]+")
# What Delta counts for itself among what an author sets.
_DELTA_OWN = re.compile(r"delta\.(?:min(?:reader|writer)version|feature\..*|columnmapping\.maxcolumnid)")
_HIVE_FORMATS = {
    "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat": "ORC",
    "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat": "PARQUET",
    "org.apache.hadoop.mapred.TextInputFormat": "TEXTFILE",
}


@dataclass(frozen=True, slots=True)
class Storage:
    """What a table has beyond its definition. ``serde`` are library, input and output format of
    a Hive table; ``buckets`` are number, columns and order, where Spark's own catalog keeps them;
    ``types`` are those of columns with more in them than is compared: comments of fields."""

    options: Mapping[str, str] = field(default_factory=dict)
    location: str = ""
    serde: tuple[str, str, str] | None = None
    buckets: tuple[int, tuple[str, ...], tuple[str, ...]] | None = None
    defaults: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a SQL function, or a column that one returns."""

    name: str
    type: str
    default: str = ""
    comment: str = ""


@dataclass(frozen=True, slots=True)
class SqlFunction:
    """What DESCRIBE FUNCTION tells of a SQL function. ``columns`` are those of a table function."""

    parameters: tuple[Parameter, ...]
    returns: str
    columns: tuple[Parameter, ...]
    body: str
    comment: str = ""
    deterministic: bool = True


def in_sql(name: str) -> str:
    """A name as it can stand in SQL: quoted where it has to be."""
    return built_in_tokens({"": (name,)})[""]


def table_statement(name: str, table: TableDef, storage: Storage) -> str:
    """CREATE TABLE. ``name`` is as it is to stand in the file."""
    hive = table.provider == "hive" and storage.serde is not None
    fields = [item for item in table.partitioning if not is_clustering(item)]
    if storage.buckets is not None:
        fields = [item for item in fields if not item.startswith("bucket(")]
    parts = {type_key(item) for item in fields} if hive else set()
    columns = [item for item in table.columns if type_key(display((item.name,))) not in parts]
    lines = [f"CREATE TABLE {name} ("]
    lines += _listed([f"  {_column(item, storage)}" for item in columns])
    lines.append(")")
    if table.provider and not hive:
        lines.append(f"USING {table.provider}")
    if storage.options and not hive:
        lines.append(f"OPTIONS ({_pairs(storage.options)})")
    if hive:
        declared = [item for item in table.columns if type_key(display((item.name,))) in parts]
        fields = [_column(item, storage) for item in declared]
    if fields:
        lines.append(f"PARTITIONED BY ({', '.join(fields)})")
    if storage.buckets is not None:
        lines.append(_buckets(*storage.buckets))
    lines += [
        f"CLUSTER BY {item.removeprefix('cluster_by')}" for item in table.partitioning if is_clustering(item)
    ]
    if hive and storage.serde is not None:
        lines += _hive(storage.serde, storage.options)
    if storage.location:
        lines.append(f"LOCATION {quote_literal(storage.location)}")
    lines += _comment_and_properties(table.comment, table.properties)
    return "\n".join(lines)


def view_statement(
    name: str, query: str, columns: Sequence[Column], view: TableDef, schema_mode: str = ""
) -> str:
    """CREATE VIEW. ``columns`` are those that it names itself; the query is taken as it is."""
    lines = [f"CREATE VIEW {name}"]
    if columns:
        listed = [
            in_sql(item.name) + (f" COMMENT {quote_literal(item.comment)}" if item.comment else "")
            for item in columns
        ]
        lines[0] += f" ({', '.join(listed)})"
    lines += _comment_and_properties(view.comment, view.properties)
    if schema_mode not in ("", "COMPENSATION"):
        lines.append(f"WITH SCHEMA {schema_mode}")
    lines[-1] += " AS"
    return "\n".join([*lines, query.strip()])


def function_statement(name: str, function: SqlFunction, *, temporary: bool = False) -> str:
    """CREATE FUNCTION."""
    word = "TEMPORARY FUNCTION" if temporary else "FUNCTION"
    returns = f"TABLE ({', '.join(map(_parameter, function.columns))})" if function.columns else ""
    lines = [
        f"CREATE {word} {name}({', '.join(map(_parameter, function.parameters))})",
        f"RETURNS {returns or function.returns}",
    ]
    if function.comment:
        lines.append(f"COMMENT {quote_literal(function.comment)}")
    if not function.deterministic:
        lines.append("NOT DETERMINISTIC")
    return "\n".join([*lines, f"RETURN {function.body}"])


def hidden_properties(table: TableDef) -> list[str]:
    """The properties whose values Spark does not tell."""
    return [key for key, value in table.properties if value == REDACTED]


def with_tokens(text: str, folders: Mapping[str, tuple[str, ...]], known: Collection[tuple[str, str]]) -> str:
    """A text with ``${folder}`` for the schema in every name of a ``known`` object (folder, object).

    In this environment the text stays what it was: a name that is spelled in another way than its
    token is left alone. So are all names of a schema whose name also stands alone in the text, for
    there it may be an alias.
    """
    for folder, value in built_in_tokens(folders).items():
        try:
            found = lex(text)
        except LexError:
            return text
        starts = _schema_starts(found, folders[folder], folder, known)
        pieces: list[str] = []
        kept = 0
        for start in starts:
            if text[start : start + len(value) + 1].casefold() == f"{value}.".casefold():
                pieces += (text[kept:start], f"${{{folder}}}")
                kept = start + len(value)
        text = "".join([*pieces, text[kept:]])
    return text


def _schema_starts(
    found: Lexemes, schema: tuple[str, ...], folder: str, known: Collection[tuple[str, str]]
) -> list[int]:
    """Where names of known objects begin; none where the schema's own name stands alone somewhere."""
    wanted = tuple(part.casefold() for part in schema)
    starts: list[int] = []
    for at, word in enumerate(found.texts):
        before = found.texts[at - 1] if at else ""
        if before == "{" or before.startswith(".") or not is_identifier(word):
            continue
        parts = tuple(part.casefold() for part in name_at(found.texts, at)[0])
        if parts == wanted[-1:]:
            return []
        size = len(wanted)
        if parts[:size] == wanted and len(parts) > size and (folder, parts[size]) in known:
            starts.append(found.starts[at])
    return starts


def _column(column: Column, storage: Storage) -> str:
    words = [in_sql(column.name), storage.types.get(column.name) or type_text(column.type)]
    if not column.nullable:
        words.append("NOT NULL")
    if default := storage.defaults.get(column.name):
        words.append(f"DEFAULT {default}")
    if column.comment:
        words.append(f"COMMENT {quote_literal(column.comment)}")
    return " ".join(words)


def type_text(spelled: str) -> str:
    """A canonical type as people write it: the words of SQL in capitals, names as they are."""
    text = spelled.replace(",", ", ").replace(":", ": ") if "<" in spelled else spelled

    def capital(match: re.Match[str]) -> str:
        is_field = text[match.end() :].startswith(":")
        return match[0].upper() if match[0] in _WORDS and not is_field else match[0]

    return _WORD.sub(capital, text)


_WORDS = TYPE_WORDS | {"collate", "year", "month", "day", "hour", "minute", "second", "to"}


def _buckets(count: int, columns: Sequence[str], order: Sequence[str]) -> str:
    by = f" SORTED BY ({', '.join(map(in_sql, order))})" if order else ""
    return f"CLUSTERED BY ({', '.join(map(in_sql, columns))}){by} INTO {count} BUCKETS"


def _hive(serde: tuple[str, str, str], options: Mapping[str, str]) -> list[str]:
    library, reads, writes = serde
    own = {key: value for key, value in options.items() if (key, value) != ("serialization.format", "1")}
    if not own and reads in _HIVE_FORMATS:
        return [f"STORED AS {_HIVE_FORMATS[reads]}"]
    properties = f" WITH SERDEPROPERTIES ({_pairs(own)})" if own else ""
    return [
        f"ROW FORMAT SERDE {quote_literal(library)}{properties}",
        f"STORED AS INPUTFORMAT {quote_literal(reads)} OUTPUTFORMAT {quote_literal(writes)}",
    ]


def _comment_and_properties(comment: str, properties: Iterable[tuple[str, str]]) -> list[str]:
    lines = [f"COMMENT {quote_literal(comment)}"] if comment else []
    own = {key: value for key, value in properties if _is_authors(key) and value != REDACTED}
    return [*lines, f"TBLPROPERTIES ({_pairs(own)})"] if own else lines


def _is_authors(key: str) -> bool:
    folded = key.casefold()
    return may_unset(key) or (folded.startswith("delta.") and not _DELTA_OWN.fullmatch(folded))


def _pairs(pairs: Mapping[str, str]) -> str:
    return ", ".join(f"{quote_literal(key)} = {quote_literal(value)}" for key, value in sorted(pairs.items()))


def _parameter(item: Parameter) -> str:
    words = [in_sql(item.name), item.type]
    if item.default:
        words.append(f"DEFAULT {item.default}")
    if item.comment:
        words.append(f"COMMENT {quote_literal(item.comment)}")
    return " ".join(words)


def _listed(lines: list[str]) -> list[str]:
    return [f"{line}," for line in lines[:-1]] + lines[-1:]

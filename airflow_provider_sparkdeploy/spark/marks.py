"""What free-form statements leave in the catalog, because nothing else there shows that they ran.

A mark is a small table of its own whose properties hold the intent, and whether the statement
has succeeded. It is made before the statement is sent and goes when the history has the outcome,
so that it survives the loss of the log, and no two statements ever write to the same table.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..core.codec import decode_operation
from ..core.deploylog import Entry, decode_entry, encode_entry
from ..core.names import in_session_catalog, quote_literal
from ..core.operations import Operation
from .packing import pack, unpack
from .session import Spark, SparkFailure

_PREFIX = "run_"
_KEY = "sparkdeploy.run."
_LONGEST = 3500  # metastores keep a property in 4,000 characters
_ABSENT = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND")


@dataclass(frozen=True, slots=True)
class Mark:
    """The intent of a statement, and whether it has succeeded."""

    intent: Entry
    done: bool

    @property
    def operation(self) -> Operation:
        return decode_operation(self.intent.detail["operation"])


def name_of(operation: Operation) -> str:
    """The mark of a statement: the same in every run, and another where it runs on another schema."""
    told = "\0".join((operation.id, operation.hash, *operation.physical))
    return _PREFIX + hashlib.sha256(told.encode()).hexdigest()[:24]


def begin(spark: Spark, schema: str, environment: str, name: str, intent: Entry) -> None:
    """Say that a statement is about to be sent, in place of what an earlier attempt said."""
    packed = pack(encode_entry(intent))
    parts = [packed[at : at + _LONGEST] for at in range(0, len(packed), _LONGEST)]
    values = {"state": "intent", "environment": environment, "parts": str(len(parts))}
    values |= {f"part.{number}": part for number, part in enumerate(parts)}
    table = in_session_catalog(schema, name)
    create = f"CREATE TABLE {table} (nothing INT) USING parquet TBLPROPERTIES ({_listed(values)})"
    try:
        spark.sql(create)
    except SparkFailure as failure:
        if failure.condition != "TABLE_OR_VIEW_ALREADY_EXISTS":
            raise
        spark.sql(f"DROP TABLE IF EXISTS {table}")
        spark.sql(create)


def succeed(spark: Spark, schema: str, name: str) -> None:
    spark.sql(
        f"ALTER TABLE {in_session_catalog(schema, name)} SET TBLPROPERTIES ({_listed({'state': 'done'})})"
    )


def read(spark: Spark, schema: str, name: str) -> Mark | None:
    """The mark of a statement; None if it was never about to be sent, or is in the history."""
    found = _values(spark, schema, name)
    return _mark(found) if found else None


def _values(spark: Spark, schema: str, name: str) -> dict[str, str]:
    try:
        rows = spark.sql(f"SHOW TBLPROPERTIES {in_session_catalog(schema, name)}")
    except SparkFailure as failure:
        if failure.condition in _ABSENT:
            return {}
        raise
    return {row["key"].removeprefix(_KEY): row["value"] for row in rows if row["key"].startswith(_KEY)}


def _mark(values: Mapping[str, str]) -> Mark:
    packed = "".join(values[f"part.{number}"] for number in range(int(values["parts"])))
    return Mark(decode_entry(json.loads(unpack(packed))), values["state"] == "done")


def read_all(spark: Spark, schema: str, environment: str) -> dict[str, Mark]:
    """The marks of all statements of an environment whose outcome the history does not have yet."""
    try:
        rows = spark.sql(f"SHOW TABLES IN {in_session_catalog(schema)} LIKE '{_PREFIX}*'")
    except SparkFailure as failure:
        if failure.condition in _ABSENT:
            return {}
        raise
    names = sorted(str(row["tableName"]) for row in rows)
    found = {name: _values(spark, schema, name) for name in names}
    return {name: _mark(values) for name, values in found.items() if values.get("environment") == environment}


def drop(spark: Spark, schema: str, names: Iterable[str]) -> None:
    for name in sorted(names):
        spark.sql(f"DROP TABLE IF EXISTS {in_session_catalog(schema, name)}")


def _listed(values: Mapping[str, str]) -> str:
    return ", ".join(f"{quote_literal(_KEY + key)} = {quote_literal(value)}" for key, value in values.items())

"""The catalog of the embedded server, read from its own database: all of it in a few questions.

Spark asks its metastore for one object after the other, which takes milliseconds for each. The
embedded server has the database of its metastore in its own process, and can be asked for whole
tables of it. What is read is what Spark has written there itself: the schema of a table as JSON,
the text of a view, the body of a function.

One table of the database in each question: a question that waits for nothing while it has a lock
cannot be part of a deadlock. What somebody makes or drops meanwhile is therefore seen in part;
of that, as of everything that is not plain, Spark is asked.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..core.catalog import ObservedKind, ObservedObject
from ..core.names import quote_literal
from ..core.signature import stored_signature
from . import described
from .asking import Asking
from .session import Row, Spark, SparkFailure

_SQL_FUNCTION = "sqlFunction."
_NUMBER = 3  # digits before each part of what is kept of a function

_QUESTIONS = {
    "schemas": "SELECT DB_ID, NAME FROM APP.DBS",
    "relations": "SELECT TBL_ID, DB_ID, SD_ID, TBL_NAME, TBL_TYPE, VIEW_EXPANDED_TEXT FROM APP.TBLS",
    "parameters": "SELECT TBL_ID, PARAM_KEY, PARAM_VALUE FROM APP.TABLE_PARAMS "
    "WHERE PARAM_KEY NOT LIKE 'view.sqlConfig.%'",
    "storage": "SELECT SD_ID, CD_ID FROM APP.SDS",
    # Only the names inside of a type can be such that Spark does not understand it.
    "types": "SELECT CD_ID, TYPE_NAME FROM APP.COLUMNS_V2 WHERE TYPE_NAME LIKE '%struct<%'",
    "functions": "SELECT FUNC_ID, DB_ID, FUNC_NAME, CLASS_NAME FROM APP.FUNCS",
    "bodies": "SELECT FUNC_ID, INTEGER_IDX, RESOURCE_URI FROM APP.FUNC_RU",
}

Key = tuple[str, str]
"""Schema and name, in lower case."""


@dataclass(frozen=True, slots=True)
class Metastore:
    """All that there is; None where Spark has to be asked what it is."""

    relations: Mapping[Key, ObservedObject | None]
    functions: Mapping[Key, ObservedObject | None]


def read(asking: Asking, database: str) -> Metastore | None:
    """All of a catalog; None where its database does not have what is expected there."""
    asked = {name: asking.ask(_rows, name, database) for name in _QUESTIONS}
    try:
        return _metastore({name: answer.result() for name, answer in asked.items()})
    except SparkFailure as failure:
        if failure.transient:
            raise
        return None


def _rows(spark: Spark, name: str, database: str) -> list[Row]:
    view = f"sparkdeploy_metastore_{name}"
    options = f"url {quote_literal(database)}, query {quote_literal(_QUESTIONS[name])}"
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {view} USING jdbc OPTIONS ({options})")
    return spark.sql(f"SELECT * FROM {view}")


def _metastore(rows: Mapping[str, Sequence[Row]]) -> Metastore:
    schemas = {row["DB_ID"]: row["NAME"].casefold() for row in rows["schemas"]}
    parameters: dict[int, dict[str, str]] = defaultdict(dict)
    for row in rows["parameters"]:
        parameters[row["TBL_ID"]][row["PARAM_KEY"]] = row["PARAM_VALUE"] or ""
    columns = {row["SD_ID"]: row["CD_ID"] for row in rows["storage"]}
    types: dict[int, list[str]] = defaultdict(list)
    for row in rows["types"]:
        types[row["CD_ID"]].append(row["TYPE_NAME"])
    relations = {}
    for row in rows["relations"]:
        kind: ObservedKind = "view" if row["TBL_TYPE"] == "VIRTUAL_VIEW" else "table"
        own = types.get(columns.get(row["SD_ID"], -1), ())
        relations[_key(schemas, row, "TBL_NAME")] = described.from_parameters(
            kind, row["VIEW_EXPANDED_TEXT"], parameters[row["TBL_ID"]], own
        )
    parts: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for row in rows["bodies"]:
        parts[row["FUNC_ID"]].append((row["INTEGER_IDX"], row["RESOURCE_URI"]))
    functions = {
        _key(schemas, row, "FUNC_NAME"): _function(row["CLASS_NAME"], sorted(parts[row["FUNC_ID"]]))
        for row in rows["functions"]
    }
    return Metastore(relations, functions)


def _key(schemas: Mapping[int, str], row: Row, name: str) -> Key:
    return schemas.get(row["DB_ID"], ""), row[name].casefold()


def _function(made_of: str, parts: Sequence[tuple[int, str]]) -> ObservedObject | None:
    """A function that is written in SQL; the others have no body that could be told."""
    if made_of != _SQL_FUNCTION:
        return None
    try:
        kept = json.loads("".join(text[_NUMBER:] for _, text in parts))
    except ValueError:
        return None
    own = {key.removeprefix(_SQL_FUNCTION): value for key, value in kept.items()}
    body = own.get("expression") or own.get("query")
    return ObservedObject("function", text=body.strip(), signature=stored_signature(own)) if body else None

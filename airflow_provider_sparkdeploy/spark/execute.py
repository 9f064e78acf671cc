"""One operation, on Spark.

The author's text is what runs, but for three splices: the marker of a table, the query of a
materialized view (which open-source Spark refuses to create), and what was spliced when the
plan was made. An operation runs in a session whose current schema is its object's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from ..core.deploylog import Entry
from ..core.diagnostics import SparkDeployError, problem
from ..core.lexer import lex
from ..core.marker import marked
from ..core.names import display, quote
from ..core.operations import Operation
from ..core.state import DeployedObject, PutObject
from ..core.statement import read_head, view_text
from ..core.viewheader import stated_comment
from . import marks
from .matview import Member, create_empty, drop_view, refresh
from .session import Spark, SparkFailure
from .target import Target

Detail = Mapping[str, Any]
OnPass = Callable[[int, int], None]

_NO_SCHEMA = ("SCHEMA_NOT_FOUND", "NO_SUCH_NAMESPACE")
_INDEX_AS_WANTED = {"index": "INDEX_ALREADY_EXISTS", "drop": "INDEX_NOT_FOUND"}
_WITH_FUNCTIONS = 4  # the first Spark that has functions in SQL
_LOCATION = re.compile(r"location\s+[`'\"]?([^`'\"\s]+?)[`'\"]?\s+already exists")
_VISIBLE = frozenset(
    {
        ("add", "column"),
        ("add", "columns"),
        ("alter", "column"),
        ("change", "column"),
        ("drop", "column"),
        ("drop", "columns"),
        ("rename", "column"),
        ("replace", "columns"),
        ("set", "tblproperties"),
        ("unset", "tblproperties"),
    }
)


def new_attempt() -> str:
    """The name of one attempt: sorts by time, and is never used twice."""
    return f"{datetime.now(UTC):%Y%m%d%H%M%S}_{os.urandom(3).hex()}"


def execute(
    operation: Operation, spark: Spark, target: Target, intent: Entry, on_pass: OnPass | None = None
) -> Detail:
    """Run an operation to its end, and give what there is to tell of it.

    ``intent`` is its entry in the log: it names the attempt, and a free-form statement leaves it
    in the catalog, because nothing else there would tell that it ran.
    """
    enter_schema(spark, operation)
    if is_managed_view(operation, target):
        return _materialized_view(operation, spark, target, intent.detail["attempt"], on_pass)
    if is_free_form(operation):
        return _run_once(operation, spark, target, intent)
    sql = operation.sql
    if operation.action == "create" and is_marked(operation, target):
        sql = marked(sql, operation.hash)
    elif operation.action == "refresh":
        sql = f"REFRESH MATERIALIZED VIEW {quote(operation.physical)}"
    try:
        spark.sql(sql)
    except SparkFailure as failure:
        if failure.condition == "LOCATION_ALREADY_EXISTS":
            raise _left_over(operation, failure) from None
        if operation.kind == "function" and failure.condition == "PARSE_SYNTAX_ERROR":
            _must_have_functions(operation, spark)
        if operation.index is None or failure.condition != _INDEX_AS_WANTED.get(operation.action):
            raise
    return {}


def is_marked(operation: Operation, target: Target) -> bool:
    """Whether a table that it creates can carry a marker."""
    return target.catalog_type(operation.physical) != "jdbc"


def is_managed_view(operation: Operation, target: Target) -> bool:
    """Whether we keep the materialized view ourselves, rather than the catalog."""
    made = operation.kind == "materialized_view" and operation.index is None and operation.action != "alter"
    return made and not target.native_views


def is_free_form(operation: Operation) -> bool:
    """Whether a catalog does not show if the statement has run.

    Of an author's statement everything but CREATE, DROP, and what ALTER TABLE does to columns and
    properties; of ours nothing.
    """
    if operation.action == "run":
        return True
    if not operation.change or operation.action not in ("alter", "drop"):
        return False
    found = lex(operation.sql)
    head = read_head(found)
    if operation.action == "drop":
        return head.verb != "drop" or not head.name
    after = (*found.lower[head.after : head.after + 2], "", "")
    return head.noun != "table" or (after[0], after[1]) not in _VISIBLE


def enter_schema(spark: Spark, operation: Operation) -> None:
    """Make the object's schema the current one; setup makes it if it is not there."""
    schema = quote(operation.physical[:-1])
    try:
        spark.sql(f"USE {schema}")
    except SparkFailure as failure:
        if failure.condition not in _NO_SCHEMA:
            raise
        if operation.phase == "teardown":
            return  # nothing can be in a schema that is not there
        spark.sql(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        spark.sql(f"USE {schema}")


def _run_once(operation: Operation, spark: Spark, target: Target, intent: Entry) -> Detail:
    name = marks.name_of(operation)
    marks.begin(spark, target.log_schema, target.environment, name, intent)
    spark.sql(operation.sql)
    marks.succeed(spark, target.log_schema, name)
    return {}


def records(operation: Operation) -> list[DeployedObject]:
    """What the operation makes of the objects that it touches."""
    return [effect.record for effect in operation.effects if isinstance(effect, PutObject)]


def _materialized_view(
    operation: Operation, spark: Spark, target: Target, attempt: str, on_pass: OnPass | None
) -> Detail:
    data_schema = target.data_schema
    if operation.action == "drop":
        drop_view(spark, operation.physical, data_schema=data_schema)
        return {}
    members = _members(operation)
    if operation.action == "fixpoint":
        return _fixpoint(members, spark, target, attempt, on_pass)
    [member] = members
    if not member.hash:  # a member of a cycle: it is filled by the fixpoint
        create_empty(spark, member, data_schema=data_schema, attempt=attempt)
    else:
        refresh(spark, member, data_schema=data_schema, attempt=attempt, retention=target.retention)
    return {"attempt": attempt}


def finish_view(operation: Operation, spark: Spark, target: Target, attempt: str) -> bool:
    """Let readers have what a killed attempt had computed; False if it had not come that far.

    An attempt that has swapped some members of a cycle and not the others is finished here.
    """
    from .fixpoint import resume_fixpoint

    return resume_fixpoint(
        spark,
        _members(operation),
        data_schema=target.data_schema,
        attempt=attempt,
        retention=target.retention,
    )


def _fixpoint(
    members: list[Member], spark: Spark, target: Target, attempt: str, on_pass: OnPass | None
) -> Detail:
    from .fixpoint import run_fixpoint  # it needs a parser, which other operations do without

    result = run_fixpoint(
        spark,
        members,
        data_schema=target.data_schema,
        max_iterations=target.max_iterations,
        attempt=attempt,
        retention=target.retention,
        on_pass=on_pass,
    )
    return {
        "attempt": attempt,
        "iterations": result.iterations,
        "rows": result.rows,
        "converged": result.converged,
    }


def _members(operation: Operation) -> list[Member]:
    return [_member(record) for record in records(operation)]


def _member(record: DeployedObject) -> Member:
    parts = view_text(record.text)
    if parts is None:
        raise problem("SD803", f"{record.name} has no query", advice="Plan again.")
    columns = record.definition.columns if record.definition else ()
    comment = record.comment
    if comment is None:
        comment = stated_comment(record.text, record.definition)
    return Member(record.name, record.physical, parts.query, columns, record.hash, comment)


def _must_have_functions(operation: Operation, spark: Spark) -> None:
    """Raises where Spark is too old for functions in SQL, of which it only says that it finds a bracket."""
    version = str(spark.sql("SELECT version() AS v")[0]["v"]).partition(" ")[0]
    if int(version.partition(".")[0]) < _WITH_FUNCTIONS:
        raise problem(
            "SD807",
            f"{display(operation.physical)} is written in SQL, and Spark {version} has no such functions",
            advice=f"They came with Spark {_WITH_FUNCTIONS}. Until then a function is a class: CREATE FUNCTION "
            "name AS 'class' USING JAR '...'. Or write its expression into the views that call it.",
        ) from None


def _left_over(operation: Operation, failure: SparkFailure) -> SparkDeployError:
    """Files where a table is to be made, and no table: a CREATE TABLE AS whose server was killed
    leaves them. They may also be somebody's, so they are named and not touched."""
    found = _LOCATION.search(str(failure))
    location = found.group(1) if found else "its location"
    remove = (
        f"rm -r {location.removeprefix('file:')}"
        if location.startswith("file:/")
        else f"hdfs dfs -rm -r {location}"
    )
    return problem(
        "SD804",
        f"{display(operation.physical)} is not there, but there are files where it is to be: {location}",
        advice=f"A CREATE TABLE AS that was killed leaves such files. If they are nobody's, remove them and "
        f"apply again: {remove}",
    )

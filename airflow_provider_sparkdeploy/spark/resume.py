"""What became of an operation that was begun and never reported.

The catalog is looked at: as it should be after the operation, it is done; as it was before,
it is run. An operation that may be run twice at no harm is run. A free-form statement left a
mark. Whatever cannot be told is *uncertain*: a person decides, with two commands to do so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..core.catalog import ObservedObject
from ..core.diagnostics import Diagnostic
from ..core.lexer import lex
from ..core.names import ObjectName
from ..core.objects import Kind, TableDef
from ..core.operations import Operation
from ..core.providers import provider_family
from ..core.reconcile import comparable, same_text
from ..core.state import DropObject, Effect, PutObject, decode_definition, encode_definition
from ..core.statement import Head, function_body, index_name, query_at, read_head, view_text
from ..core.tablediff import table_changes
from . import marks
from .catalog import Wanted, inspect
from .execute import finish_view, is_free_form, is_managed_view, is_marked, records
from .matview import drop_view
from .session import Sessions
from .target import Target

Verdict = Literal["done", "run", "uncertain"]
_AGAIN = "it may be run again at no harm"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict, and what was seen, in words. ``effects`` are what is no longer true of what
    the log says if it was not done."""

    verdict: Verdict
    saw: str
    effects: tuple[Effect, ...] = ()


def snapshot(operation: Operation, sessions: Sessions, target: Target) -> dict[str, Any]:
    """What must be known of the catalog before the operation to judge it afterwards."""
    scripted_alter = operation.action == "alter" and operation.change and not is_free_form(operation)
    unmarked_create = operation.action == "create" and operation.change and not is_marked(operation, target)
    if not scripted_alter and not unmarked_create:
        return {}
    observed = _look(operation, sessions, target)
    return {"before": encode_definition(observed.definition) if observed else None}


def judge(operation: Operation, intent: Mapping[str, Any], sessions: Sessions, target: Target) -> Judgement:
    """Whether an operation was done. ``intent`` is the detail of its intent.

    A materialized view whose rows were all written is published: that is looking and acting in
    one, because until then readers of a cycle may see one member of before and one of after.
    """
    if is_free_form(operation):
        return _judge_free_form(operation, intent, sessions, target)
    if operation.index is not None:
        return _judge_index(operation, sessions, target)
    if operation.action == "load":
        return Judgement("run", _AGAIN, doubts(operation))
    if is_managed_view(operation, target) and operation.action != "drop":
        with sessions.open() as spark:
            if finish_view(operation, spark, target, intent["attempt"]):
                return Judgement("done", "all of its rows were there; they are published now")
        return Judgement("run", "its rows were not all written")
    if operation.action in ("refresh", "fixpoint"):
        return Judgement("run", _AGAIN)
    observed = _look(operation, sessions, target)
    if observed is not None and not observed.readable:
        return Judgement("uncertain", "the object exists, but cannot be read")
    if operation.action == "drop":
        return _judge_drop(operation, observed, sessions, target)
    if operation.action == "replace":
        return _judge_replace(operation, observed)
    if operation.action == "create":
        return _judge_create(operation, intent, observed, target)
    return _judge_alter(operation, intent, observed, target)


def doubts(operation: Operation) -> tuple[Effect, ...]:
    """What is true of the objects of an operation that may have been done in part: they are
    there, and what is in them is unknown."""
    return tuple(PutObject(replace(record, hash="", text="", digest="")) for record in records(operation))


def _judge_free_form(
    operation: Operation, intent: Mapping[str, Any], sessions: Sessions, target: Target
) -> Judgement:
    with sessions.open() as spark:
        mark = marks.read(spark, target.log_schema, marks.name_of(operation))
    if mark is None or mark.intent.detail["attempt"] != intent["attempt"]:
        return Judgement("run", "it was never sent")
    if mark.done:
        return Judgement("done", "it left the mark of its success")
    return Judgement("uncertain", "it was sent, and nothing in a catalog shows whether it took effect")


def _judge_index(operation: Operation, sessions: Sessions, target: Target) -> Judgement:
    observed = _look(operation, sessions, target)
    if observed is None or observed.indexes is None:
        return Judgement("run", _AGAIN)
    there = index_name(operation.sql) in observed.indexes
    if there == (operation.action == "index"):
        return Judgement("done", "the index is there" if there else "the index is gone")
    return Judgement("run", "the index is still there" if there else "the index is not there")


def _judge_drop(
    operation: Operation, observed: ObservedObject | None, sessions: Sessions, target: Target
) -> Judgement:
    if observed is not None:
        return Judgement("run", "it is still there")
    if is_managed_view(operation, target):
        with sessions.open() as spark:  # its data tables may be left, and nobody else knows of them
            drop_view(spark, operation.physical, data_schema=target.data_schema)
    return Judgement("done", "the object is gone")


def _judge_replace(operation: Operation, observed: ObservedObject | None) -> Judgement:
    """ALTER VIEW changes the text and nothing else. CREATE OR REPLACE may change more, and is a
    drop and a create in the built-in catalog."""
    if observed is None:
        gone = tuple(DropObject(record.name) for record in records(operation))
        return Judgement("run", "the object is gone", gone)
    if _head(operation).verb != "alter":
        return Judgement("run", _AGAIN, doubts(operation))
    if _shows(operation, "view", observed):
        return Judgement("done", "the view has its new query")
    return Judgement("run", "the view does not have its new query")


def _judge_create(
    operation: Operation, intent: Mapping[str, Any], observed: ObservedObject | None, target: Target
) -> Judgement:
    if observed is None:
        return Judgement("run", "the object is not there")
    found = lex(operation.sql)
    head = read_head(found)
    filled = query_at(found, head) is not None
    kind = _kind(operation, head)
    if "replace" in head.words:
        return _judge_replaced_table(operation, observed, kind, filled)
    if kind in ("view", "function"):
        same = _shows(operation, kind, observed)
    elif observed.marker is not None:
        same = observed.marker == operation.hash
        if same and filled and observed.definition.provider == "hive":
            return Judgement("uncertain", "the table is there, and nothing shows whether all its rows are")
    elif operation.change:  # nothing is recorded of what a script makes: was it there before?
        same = not is_marked(operation, target) and intent.get("before", ...) is None and not filled
    else:
        declared = next((record.definition for record in records(operation) if record.definition), None)
        same = declared is not None and not _left(operation, declared, observed, target)
    if same:
        return Judgement("done", "the object is there, as it should be")
    if "exists" in head.words:
        return Judgement("run", "the statement does nothing where the object exists")
    return Judgement("uncertain", "an object of that name is there, and it is not what this operation makes")


def _judge_replaced_table(
    operation: Operation, observed: ObservedObject, kind: Kind, filled: bool
) -> Judgement:
    """CREATE OR REPLACE, of an author's. One that reads what it replaces must not run twice."""
    if kind == "table" and observed.marker == operation.hash:
        return Judgement("done", "the table carries its marker")
    if filled and kind == "table" and observed.marker is None:
        return Judgement("uncertain", "nothing shows whether the table was replaced")
    return Judgement("run", _AGAIN)


def left_in_doubt(operation: Operation) -> tuple[Effect, ...]:
    """What is no longer known of an operation that was begun and did not end, as somebody says."""
    replaced = operation.action == "replace" and _head(operation).verb != "alter"
    return doubts(operation) if operation.action == "load" or replaced else ()


def _shows(operation: Operation, kind: Kind, observed: ObservedObject) -> bool:
    """Whether a view has the query, or a function the body, that the operation gives it."""
    if kind == "view":
        parts = view_text(operation.sql)
        declared = parts.query if parts else None
    else:
        declared = function_body(operation.sql)
    return declared is not None and observed.text is not None and same_text(declared, observed.text)


def _judge_alter(
    operation: Operation, intent: Mapping[str, Any], observed: ObservedObject | None, target: Target
) -> Judgement:
    if observed is None:
        return Judgement("uncertain", "the object is gone")
    if not operation.change:  # made by the planner: it knows what it leads to
        after = next((record.definition for record in records(operation) if record.definition), None)
        if operation.kind not in ("table", "data") or after is None:
            return Judgement("run", _AGAIN)  # a comment, or what the next plan looks at anyway
        return _judge_alteration(operation, after, observed, target)
    if intent.get("before") is None:
        return Judgement("uncertain", "the object was not there before")
    old, now = decode_definition(intent["before"]), observed.definition
    if old == now:
        return Judgement("run", "the table is as it was before")
    words = {word.strip("`'\"").casefold() for word in lex(operation.sql).texts}
    foreign = sorted(_touched(old, now) - words)
    if foreign:
        return Judgement(
            "uncertain", f"the table changed, also in what the statement does not name: {', '.join(foreign)}"
        )
    return Judgement("done", "the table shows its effect")


def _judge_alteration(
    operation: Operation, after: TableDef, observed: ObservedObject, target: Target
) -> Judgement:
    if _left(operation, after, observed, target):
        return Judgement("run", "the table does not show its effect")
    return Judgement("done", "the table is as the operation leaves it")


def _left(operation: Operation, after: TableDef, observed: ObservedObject, target: Target) -> bool:
    """Whether anything is left to do to a table, as its catalog tells differences."""
    family = provider_family(after, target.catalog_type(operation.physical))
    return bool(table_changes(operation.physical, comparable(observed.definition, after), after, family))


def _touched(old: TableDef, now: TableDef) -> set[str]:
    """The names of all that differs between two definitions."""
    columns = {(c.name.casefold(), c) for c in old.columns} ^ {(c.name.casefold(), c) for c in now.columns}
    properties = set(old.properties) ^ set(now.properties)
    return {name for name, _ in columns} | {key.casefold() for key, _ in properties if "." not in key}


def _look(operation: Operation, sessions: Sessions, target: Target) -> ObservedObject | None:
    """The object that the statement is about: a script may name another than its own."""
    physical, kind = operation.physical, operation.kind
    if operation.change:
        head = _head(operation)
        kind = _kind(operation, head)
        if head.name:
            physical = (*physical[:-1], *head.name) if len(head.name) == 1 else head.name
    name = ObjectName("", "judged")
    wanted = Wanted(physical, kind, target.catalog_type(physical), exact=True)
    return inspect(sessions, {name: wanted}, data_schema=target.data_schema).objects.get(name)


def _head(operation: Operation) -> Head:
    return read_head(lex(operation.sql))


def _kind(operation: Operation, head: Head) -> Kind:
    """What the statement is about: a script of a table may also make a view."""
    if operation.change and head.noun in ("table", "view", "function"):
        return head.noun  # type: ignore[return-value]
    return operation.kind


def uncertain(operation: Operation, saw: str) -> Diagnostic:
    """What a person has to decide, and how to say it."""
    return Diagnostic(
        "", 0, "SD810", f"{operation.id} is uncertain: {saw}",
        f"Look at {operation.object}. If it was done: sparkdeploy resolve {operation.id} --applied. "
        f"If not: sparkdeploy resolve {operation.id} --rerun.",
        object=str(operation.object),
    )  # fmt: skip

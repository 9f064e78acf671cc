"""Scripted tables of a run that neither the log nor the history tells of, known by their markers.

A run that is killed has not written its history, and its log may be lost with its machine. A table
carries the hash of the statement that made it; the statements of a script run in order; those whose
effect nobody could see left marks. So of each script it is known how far it has come, but for one
statement at most. That one is taken as begun: apply looks at it, and asks where it cannot tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from ..core.codec import encode_operation
from ..core.deploylog import Entry, now
from ..core.objects import TableDef
from ..core.operations import Operation
from ..core.planner import make_plan
from ..core.repository import Repository
from ..core.state import State, encode_definition
from . import marks
from .catalog import Wanted, inspect
from .execute import is_free_form, new_attempt
from .marks import Mark
from .observe import looked_up
from .session import Sessions
from .target import Target

_SAW = "the table carries the marker of its script"


def rebuilt(
    sessions: Sessions, repository: Repository, target: Target, known: State, left: Iterable[Mark], run: str
) -> list[Entry]:
    """The entries of what was done to tables that ``known`` does not have, or not as they are. ``left``
    are the marks whose outcome is not known either; they tell of themselves, and come after these."""
    planned = make_plan(repository, known).plan.operations
    scripts = {
        name: list(operations)
        for name, operations in groupby(
            sorted(filter(_is_of_script, planned), key=lambda operation: operation.object),
            key=lambda operation: operation.object,
        )
    }
    wanted = {
        name: Wanted(operations[0].physical, "table", target.catalog_type(operations[0].physical), exact=True)
        for name, operations in scripts.items()
    }
    there = inspect(sessions, wanted, data_schema=target.data_schema).objects
    told = {marks.name_of(operation): mark for mark in left if (operation := mark.operation)}
    entries: list[Entry] = []
    for name, operations in scripts.items():
        observed = there.get(name)
        recorded = known[name].definition if name in known else None
        if name not in known:
            found = _entries(operations, observed.marker if observed else None, told, run)
        elif (
            observed is not None and recorded is not None and observed.definition.columns != recorded.columns
        ):
            before = replace(observed.definition, columns=recorded.columns)
            found = _altered(operations[0], before, run)
        else:
            continue
        for entry in found:
            effects = looked_up(entry.effects, sessions, target)
            entries.append(Entry(entry.type, run, entry.at, entry.operation, effects, entry.detail))
    return entries


def _altered(operation: Operation, before: TableDef, run: str) -> Iterator[Entry]:
    """A table that is known, and not as it is recorded: the next statement of its script may have run."""
    if operation.action == "alter" and not is_free_form(operation):
        detail = {"operation": encode_operation(operation), "attempt": new_attempt()}
        yield Entry(
            "intent", run, now(), operation.id, detail={**detail, "before": encode_definition(before)}
        )


def _is_of_script(operation: Operation) -> bool:
    return operation.kind == "table" and operation.change is not None and operation.phase == "setup"


def _entries(
    operations: Sequence[Operation], marker: str | None, told: Mapping[str, Mark], run: str
) -> Iterator[Entry]:
    """What was done of one script, as far as it is known, and the statement that may have been."""
    made = [n for n, item in enumerate(operations) if item.action == "create" and item.hash == marker]
    seen = [n for n, item in enumerate(operations) if marks.name_of(item) in told]
    last = max([*made, *seen], default=-1)
    if not made:
        return
    for number, operation in enumerate(operations):
        if is_free_form(operation):
            if number > last:
                return  # it would have left its mark
        elif number <= last:
            yield Entry("done", run, now(), operation.id, operation.effects, {"saw": _SAW})
        else:
            detail = {"operation": encode_operation(operation), "attempt": new_attempt()}
            yield Entry("intent", run, now(), operation.id, detail=detail)
            return

"""A deploy log again, from what is kept in the catalog: the history and the marks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..core.deploylog import Entry, now
from ..core.state import State, fold
from . import history, marks
from .apply import applied, unfinished
from .history import Numbered
from .marks import Mark
from .session import Spark

Rebuild = Callable[[State, Sequence[Mark]], list[Entry]]
"""What else can be known, beside what the history tells and the marks that it does not."""


def recover(
    spark: Spark, schema: str, run: str, environment: str, rebuild: Rebuild = lambda known, left: []
) -> list[Entry]:
    """The entries of a new log; none where the catalog keeps nothing.

    A statement that was begun and never reported is so in the new log, too: apply will call it
    uncertain.
    """
    told = history.read(spark, schema, environment)
    left = _left(spark, schema, environment, told)
    known = fold((effect, item.entry.at, item.entry.run) for item in told for effect in item.entry.effects)
    more = rebuild(known, left)
    if not told and not left and not more:
        return []
    started = {"event": "started", "kind": "recover", "environment": environment}
    return [
        *(item.entry for item in told),
        *history.recorded(told),
        Entry("run", run, now(), detail=started),
        *more,
        *(entry for mark in left for entry in _entries(mark, run)),
        Entry("run", run, now(), detail={"event": "succeeded"}),
    ]


def left_marks(spark: Spark, schema: str, environment: str, run: str) -> list[Entry]:
    """What free-form statements left in the catalog that the history does not tell: outcomes, and
    intents without one."""
    if not marks.read_all(spark, schema, environment):
        return []
    left = _left(spark, schema, environment, history.read(spark, schema, environment))
    return [entry for mark in left for entry in _entries(mark, run)]


def _left(spark: Spark, schema: str, environment: str, told: list[Numbered]) -> list[Mark]:
    """The marks that the history does not tell of, in the order in which they were made."""
    left = [mark for mark in marks.read_all(spark, schema, environment).values() if not _is_told(mark, told)]
    return sorted(left, key=lambda mark: (mark.intent.at, mark.intent.operation, mark.operation.statement))


def _is_told(mark: Mark, told: list[Numbered]) -> bool:
    """Whether the history has the outcome of the very attempt that a mark is of: none was there before."""
    intent = mark.intent
    return any(
        item.entry.operation == intent.operation
        and intent.run in (item.entry.run, item.entry.detail.get("resumes"))
        and item.entry.at >= intent.at
        for item in told
    )


def _entries(mark: Mark, run: str) -> Iterator[Entry]:
    yield mark.intent
    if mark.done:
        [item] = unfinished([mark.intent])
        yield applied(item, run, "it left the mark of its success")

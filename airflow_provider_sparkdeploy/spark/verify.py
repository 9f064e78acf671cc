"""What a deployment broke: every dependent of what changed is analysed, redeployed or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..core.diagnostics import Diagnostic
from ..core.names import ObjectName, quote
from ..core.objects import ObjectDef
from ..core.state import DeployedObject, State
from .asking import Asking, by_halves, chunks
from .session import Sessions, Spark, SparkFailure

_READ = ("view", "materialized_view")
_THREADS = 4
_AT_ONCE = 20


def dependents_of(changed: Iterable[ObjectName], deployed: State) -> set[ObjectName]:
    """Everything that depends on what changed, over any number of steps, and what changed itself."""
    dependents: dict[ObjectName, list[ObjectName]] = {}
    for name, record in deployed.items():
        for target in record.dependencies:
            dependents.setdefault(target, []).append(name)
    found = set(changed)
    pending = list(found)
    while pending:
        for name in dependents.get(pending.pop(), ()):
            if name not in found:
                found.add(name)
                pending.append(name)
    return found


def broken_views(
    sessions: Sessions,
    deployed: State,
    files: Mapping[ObjectName, ObjectDef],
    changed: Iterable[ObjectName],
    skip: frozenset[ObjectName],
) -> list[Diagnostic]:
    """The deployed views that can no longer be read. ``files`` say where a view is declared, if it is;
    ``skip`` are those that this run did not get to."""
    records = [
        record
        for name in sorted(dependents_of(changed, deployed))
        if (record := deployed.get(name)) is not None
        and record.kind in _READ and record.lifecycle != "external" and name not in skip
        and not (name in files and files[name].inactive)
    ]  # fmt: skip
    with Asking(sessions, _THREADS) as asking:
        answers = [asking.ask(_analyse, some) for some in chunks(records, _AT_ONCE)]
        broken = [found for answer in answers for found in answer.result()]
    return [_told(record, why, files.get(record.name)) for record, why in broken]


def _analyse(spark: Spark, records: Sequence[DeployedObject]) -> list[tuple[DeployedObject, str]]:
    """Many in one analysis, which is never run; only what Spark refuses is asked for alone."""
    told = dict(enumerate(records))

    def ask(some: Sequence[int]) -> dict[int, bool]:
        listed = ", ".join(f"(SELECT 1 FROM {quote(told[number].physical)}) t{number}" for number in some)
        spark.schema(f"SELECT 1 FROM {listed}")
        return dict.fromkeys(some, True)

    readable = by_halves(ask, list(told))
    alone = ((record, _refusal(spark, record)) for number, record in told.items() if number not in readable)
    return [(record, why) for record, why in alone if why]


def _refusal(spark: Spark, record: DeployedObject) -> str:
    """Why a view cannot be read; empty where it can."""
    try:
        spark.schema(f"SELECT * FROM {quote(record.physical)}")
    except SparkFailure as failure:
        if failure.transient:
            raise
        return str(failure).strip().splitlines()[0]
    return ""


def _told(record: DeployedObject, why: str, file: ObjectDef | None) -> Diagnostic:
    path, line = (file.path, file.line) if file else ("", 0)
    return Diagnostic(
        path, line, "SD830", f"{record.kind} {record.name} can no longer be read: {why}",
        "Something that it reads has changed under it. Correct its query, or the change, and apply again.",
        object=str(record.name),
    )  # fmt: skip

"""What a deployment broke: every dependent of what changed is analysed, redeployed or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..core.diagnostics import Diagnostic
from ..core.names import ObjectName, quote
from ..core.objects import ObjectDef
from ..core.operations import Operation
from ..core.state import DeployedObject, PutObject, State, subject
from ..core.statement import view_text
from .asking import Asking, by_halves, chunks
from .matview import enter
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


def touched(operation: Operation) -> set[ObjectName]:
    """The objects that an operation may have changed: its own, those that a script is known to alter, and
    of a migration all that it names."""
    found = {operation.object, *map(subject, operation.effects)}
    if operation.kind == "migration":
        records = (effect.record for effect in operation.effects if isinstance(effect, PutObject))
        found.update(name for record in records for name in record.dependencies)
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
        answers += [asking.ask(_analyse_query, item) for item in records if item.kind == "materialized_view"]
        broken = {record.name: (record, why) for answer in answers for record, why in answer.result()}
    return [_told(*broken[name], files.get(name)) for name in sorted(broken)]


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


def _analyse_query(spark: Spark, record: DeployedObject) -> list[tuple[DeployedObject, str]]:
    """Readers of a materialized view see the rows of its last refresh. The next one runs its query."""
    parts = view_text(record.text) if record.text else None
    if parts is None:
        return []
    enter(spark, record.physical)
    why = _refused(spark, parts.query)
    return [(record, why)] if why else []


def _refusal(spark: Spark, record: DeployedObject) -> str:
    """Why a view cannot be read; empty where it can."""
    return _refused(spark, f"SELECT * FROM {quote(record.physical)}")


def _refused(spark: Spark, query: str) -> str:
    try:
        spark.schema(query)
    except SparkFailure as failure:
        if failure.transient:
            raise
        return str(failure).strip().splitlines()[0]
    return ""


def _told(record: DeployedObject, why: str, file: ObjectDef | None) -> Diagnostic:
    path, line = (file.path, file.line) if file else ("", 0)
    done = "computed" if record.kind == "materialized_view" else "read"
    return Diagnostic(
        path, line, "SD830", f"{record.kind} {record.name} can no longer be {done}: {why}",
        "Something that it reads has changed under it. Correct its query, or the change, and apply again.",
        object=str(record.name),
    )  # fmt: skip

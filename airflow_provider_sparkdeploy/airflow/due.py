"""What can be refreshed, in which order, and what of it is due. Values in, values out.

A *unit* is what one task refreshes: a materialized view, or all views of a cycle, which are computed
together. A unit is due when the first of its members' schedules is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, tzinfo

from croniter import CroniterBadDateError, croniter  # type: ignore[import-untyped]

from ..core.cron import PRESETS
from ..core.cycles import check_cycles
from ..core.diagnostics import SparkDeployError
from ..core.graph import build_graph
from ..core.names import Node, ObjectName
from ..core.operations import operation_id
from ..core.repository import Repository
from .units import Unit


def units_of(repository: Repository) -> tuple[Unit, ...]:
    """All units of a repository, each after those that it reads. Errors of the files are raised.

    Parses nothing while the repository is what it was when somebody looked before.
    """
    graph = build_graph(repository)
    components, refused = check_cycles(repository, graph)
    errors = [item for item in (*repository.problems, *graph.problems, *refused) if item.severity == "error"]
    if errors:
        raise SparkDeployError(errors)
    ids = {
        name: operation_id("setup", name)
        for name, item in repository.objects.items()
        if item.kind == "materialized_view" and not item.inactive and item.lifecycle != "external"
    }
    for component in components:
        ids |= dict.fromkeys(component.members, operation_id("setup", component.members[0], "fixpoint"))
    members: dict[str, list[ObjectName]] = {}
    after: dict[str, set[str]] = {}
    reads: dict[int, frozenset[str]] = {}  # the units that a node's content comes from, the nearest ones
    for place in graph.downstream([Node(*name) for name in ids]):
        needs = frozenset[str]().union(*(reads.get(need, ()) for need in graph.requires.edges[place]))
        name = graph.requires.node(place).name
        computing = ids.get(name)
        if computing is None:
            reads[place] = needs
            continue
        reads[place] = frozenset([computing])
        members.setdefault(computing, []).append(name)
        after.setdefault(computing, set()).update(needs - {computing})
    found: list[Unit] = []
    for computing, names in members.items():
        unit = _unit(repository, computing, tuple(sorted(names)), tuple(sorted(after[computing])))
        found += [unit, *_indexes(repository, unit)]
    return tuple(found)


def _indexes(repository: Repository, unit: Unit) -> Iterator[Unit]:
    """Those of its members, whose rows are in new tables once it was computed."""
    for name in unit.members:
        for index in repository.objects[name].indexes:
            making = operation_id("setup", name, index.name, "index")
            yield Unit(making, unit.members, (unit.id,), unit.schedules, index=True)


def _unit(repository: Repository, unit: str, members: tuple[ObjectName, ...], after: tuple[str, ...]) -> Unit:
    schedules: set[str] = set()
    problems: list[str] = []
    for name in members:
        item = repository.objects[name]
        if not item.schedule:
            continue
        expression = PRESETS.get(item.schedule, item.schedule)
        where = f"{item.path}:{item.line}: the schedule of {name}"
        if not croniter.is_valid(expression):
            problems.append(
                f"{where} is not a cron expression: {item.schedule}. "
                'Write five fields, such as "0 2 * * *", or @daily.'
            )
        elif _comes_round(expression):
            schedules.add(expression)
        else:
            problems.append(f"{where} never comes round: {item.schedule}. Leave it out, if that is meant.")
    return Unit(unit, members, after, tuple(sorted(schedules)), tuple(problems))


def _comes_round(expression: str) -> bool:
    """Not so for the 30th of February. Whoever asked when that is would get an error, and so would all others
    in the same DAG."""
    try:
        croniter(expression, datetime.now(UTC)).get_next(datetime)
    except CroniterBadDateError:
        return False
    return True


def is_due(unit: Unit, refreshed: Mapping[ObjectName, datetime], now: datetime, zone: tzinfo) -> bool:
    """Whether one of its schedules has come round since the oldest of its members was computed.

    What has no schedule is never due; what has one, and nobody knows when it was computed, always is.
    """
    if not unit.schedules:
        return False
    if any(name not in refreshed for name in unit.members):
        return True
    last = min(refreshed[name] for name in unit.members).astimezone(zone)
    return next_time(unit.schedules, last) <= now


def next_time(schedules: Iterable[str], after: datetime) -> datetime:
    """When the first of them comes round after a moment, in the time zone of that."""
    times: list[datetime] = [croniter(item, after).get_next(datetime) for item in schedules]
    return min(times)

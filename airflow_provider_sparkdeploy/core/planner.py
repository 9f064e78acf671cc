"""All stages in a row: a repository, what is deployed, and what is asked for, to a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from .catalog import Catalog
from .collecting import without_collector
from .cycles import Component, check_cycles
from .diagnostics import Diagnostic, SparkDeployError, did_you_mean
from .diff import Diff, diff
from .dirty import Dirty, Facts, propagate
from .graph import Graph, build_graph
from .guard import guard, held_back
from .hazards import find_hazards
from .names import ObjectName, display
from .observing import observed_operations
from .operations import Operation, Plan, objects_of
from .plan import build_operations
from .reconcile import reconcile
from .repository import Repository
from .select import Universe, select
from .state import DeployedObject, Due, State, subject


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for, beyond what the repository says."""

    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    force_schemas: tuple[str, ...] = ()
    rollback: bool = False


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, and everything that led to it, for those who explain it."""

    plan: Plan
    repository: Repository
    graph: Graph
    components: tuple[Component, ...]
    diff: Diff | None = None
    dirty: Dirty | None = None
    selected: frozenset[ObjectName] | None = None
    acting: Dirty | None = None  # what is dirty for the sake of changes that are not held back
    drift: Mapping[ObjectName, str] = field(default_factory=dict)  # what is not as it was recorded, and how


@without_collector()
def make_plan(
    repository: Repository, state: State, *, catalog: Catalog | None = None, request: Request | None = None
) -> Planned:
    """The plan that brings the catalog to what the repository says."""
    request = request or Request()
    graph = build_graph(repository)
    components, refused = check_cycles(repository, graph)
    problems = [*repository.problems, *graph.problems, *refused]
    if any(item.severity == "error" for item in repository.problems):
        return Planned(_failed(repository, components, problems), repository, graph, components)
    reconciled = reconcile(repository, state, catalog)
    found = diff(repository, graph, reconciled, rollback=request.rollback)
    universe = make_universe(repository, graph, found)
    selected = select(universe, request.select, request.exclude)
    forced = _forced(request, universe)
    facts = _facts(repository, graph, found, universe, forced, selected)
    if late := _late(found, facts, selected):
        state = {**found.state, **late}
        found = diff(repository, graph, replace(reconciled, state=state), rollback=request.rollback)
        facts = _facts(repository, graph, found, universe, forced, selected)
    problems += [*reconciled.problems, *found.problems, *_unparsed(repository, found)]
    dirty = propagate(facts)
    if any(item.severity == "error" for item in problems):
        plan = _failed(repository, components, problems, dirty)
        return Planned(plan, repository, graph, components, found, dirty, selected, drift=reconciled.differs)
    operations = observed_operations(
        build_operations(repository, graph, components, found, dirty, selected), repository
    )
    allowed, blocked = guard(operations, repository.settings, graph, found, selected)
    acting, held = dirty, held_back(operations, blocked, facts)
    if held.objects or held.indexes:
        acting = propagate(held.without(facts))
        again = build_operations(repository, graph, components, found, acting, selected, held.objects)
        stopped = {item.operation.id for item in blocked}
        allowed = tuple(
            operation
            for operation in guard(again, repository.settings, graph, found, selected)[0]
            if operation.id not in stopped
        )
    problems += find_hazards(repository, found, allowed)
    if any(item.severity == "error" for item in problems):
        plan = _failed(repository, components, problems, dirty)
        return Planned(plan, repository, graph, components, found, dirty, selected, drift=reconciled.differs)
    problems += _left_out(dirty, found, selected, allowed)
    plan = Plan(
        fingerprint=repository.fingerprint,
        operations=allowed,
        dirty=_dirty_names(dirty),
        components=components,
        blocked=blocked,
        diagnostics=tuple(sorted(set(problems))),
        notes=tuple(note for note in found.notes if selected is None or subject(note) in selected),
    )
    return Planned(plan, repository, graph, components, found, dirty, selected, acting, reconciled.differs)


def due_objects(planned: Planned) -> tuple[Due, ...]:
    """What the plan redeploys for the sake of other objects, to be recorded before it is run. If a
    run does not get to them, nothing but the log remembers that they are due: the others may be
    as they should be by then."""
    if planned.acting is None or planned.diff is None:
        return ()
    entries = (planned.diff.objects[fact.object] for fact in planned.acting.facts("object"))
    due = [
        entry.name
        for entry in entries
        if entry.old and entry.new and not entry.changed and not entry.left and not entry.new.scripted
        and entry.new.kind != "table"
    ]  # fmt: skip
    due += [name for name, entry in planned.diff.objects.different.items() if entry.due]  # also the late ones
    return tuple(map(Due, dict.fromkeys(due)))


def _late(
    found: Diff, facts: Facts, selected: frozenset[ObjectName] | None
) -> dict[ObjectName, DeployedObject]:
    """What was computed from a materialized view that was due then, and is redeployed only now: a selection
    left that out. It is due with it."""
    pending = [
        name
        for name, entry in found.objects.different.items()
        if entry.due and entry.new and entry.new.kind == "materialized_view"
        and (selected is None or name in selected)
    ]  # fmt: skip
    late: dict[ObjectName, DeployedObject] = {}
    seen = set(pending)
    while pending:
        for name in facts.reached_by(pending.pop()):
            if name in seen:
                continue
            seen.add(name)
            pending.append(name)
            entry = found.objects[name]
            old, new = entry.old, entry.new
            if old and new and new.kind in ("materialized_view", "sink") and not (entry.changed or old.due):
                late[name] = replace(old, due=True, digest="")
    return late


def _failed(
    repository: Repository,
    components: tuple[Component, ...],
    problems: list[Diagnostic],
    dirty: Dirty | None = None,
) -> Plan:
    """A plan with errors has no operations: nothing may be applied."""
    return Plan(
        repository.fingerprint,
        dirty=_dirty_names(dirty),
        components=components,
        diagnostics=tuple(sorted(set(problems))),
    )


def make_universe(repository: Repository, graph: Graph, found: Diff) -> Universe:
    """All objects, with those that go with this plan, and their dependencies. (A migration that
    was deployed and deleted is only in the log: nothing can happen to it.)"""
    removed = {
        name: entry.old
        for name, entry in found.objects.different.items()
        if entry.new is None and entry.old is not None and entry.changed
    }
    depends_on = dict(graph.depends_on)
    for name, entry in found.objects.different.items():
        if name in removed:
            depends_on[name] = removed[name].dependencies
        elif entry.old is not None and entry.new is not None:
            gone = [target for target in entry.old.dependencies if target in removed]
            if gone:
                depends_on[name] = tuple(sorted({*depends_on[name], *gone}))
    known = {*repository.objects.outlines.names, *removed}
    dependents: dict[ObjectName, list[ObjectName]] = {}
    for name, targets in sorted(depends_on.items()) if removed else depends_on.items():
        for target in targets:
            if target in known:
                dependents.setdefault(target, []).append(name)
    return Universe(
        repository.objects, removed, depends_on, {name: tuple(others) for name, others in dependents.items()}
    )


def _forced(request: Request, universe: Universe) -> tuple[str, ...]:
    schemas = {name.schema for name in universe.names}
    forced = {schema.casefold() for schema in request.force_schemas}
    unknown = [
        Diagnostic(
            "", 0, "SD502", f"--force-schema {schema}: there is no such schema",
            did_you_mean(schema, schemas) or "sparkdeploy graph shows all objects with their schemas.",
        )
        for schema in sorted(forced - schemas)
    ]  # fmt: skip
    if unknown:
        raise SparkDeployError(unknown)
    return tuple(sorted(forced))


def _facts(
    repository: Repository,
    graph: Graph,
    found: Diff,
    universe: Universe,
    forced: tuple[str, ...],
    selected: frozenset[ObjectName] | None,
) -> Facts:
    """The facts of section 6: what there is, and which selected objects changed."""
    outlines = repository.objects.outlines
    objects = {
        name: repository.objects[name]
        for name, plain in zip(outlines.names, outlines.plain, strict=True)
        if not plain
    }
    removed = universe.removed
    changed: dict[ObjectName, str] = {}
    changed_indexes: list[tuple[ObjectName, str]] = []
    for name, entry in found.objects.different.items():
        if selected is not None and name not in selected:
            continue
        if entry.changed:
            changed[name] = "drift" if entry.drift else "changed"
        changed_indexes += [(name, index) for index in (*entry.indexes_changed, *entry.indexes_removed)]
    computes = {name: used for name, item in objects.items() if (used := item.computes)}
    index_computes = {
        (name, index.name): index.compute
        for name, item in objects.items()
        for index in item.indexes
        if index.compute
    }
    boundary = {compute for used in computes.values() for compute in used} | set(index_computes.values())
    for name, record in removed.items():
        if record.computes:
            computes[name] = record.computes
    for name, entry in found.objects.different.items():
        for index in entry.old.indexes if entry.old and entry.indexes_removed else ():
            if index.compute and index.name in entry.indexes_removed:
                index_computes[name, index.name] = index.compute
    indexed_before = {
        name: tuple(index.compute for index in entry.old.indexes if index.compute)
        for name, entry in found.objects.different.items()
        if entry.old is not None and entry.old.indexes and (entry.status == "removed" or entry.replaced)
    }
    return Facts(
        objects=tuple(sorted(universe.names)),
        dependents=universe.dependents,
        changed=changed,
        forced=forced,
        computes=computes,
        index_computes=index_computes,
        indexed_before=indexed_before,
        changed_indexes=tuple(changed_indexes),
        sinks=frozenset(
            [name for name, item in objects.items() if item.kind == "sink"]
            + [name for name, record in removed.items() if record.kind == "sink"]
        ),
        replacements=frozenset(
            [name for name, item in objects.items() if item.replacement]
            + [name for name, record in removed.items() if record.replacement]
        ),
        boundary=frozenset(boundary),
        propagation=repository.settings.propagation,
    )


def _dirty_names(dirty: Dirty | None) -> dict[str, tuple[str, ...]]:
    names = {"objects": "object", "schemas": "schema", "compute": "compute", "indexes": "index"}
    if dirty is None:
        return dict.fromkeys(names, ())
    return {key: tuple(display(fact.name) for fact in dirty.facts(kind)) for key, kind in names.items()}


def _unparsed(repository: Repository, found: Diff) -> Iterable[Diagnostic]:
    """Statements whose references were found by a scan, where they matter: in what changed."""
    for name, entry in found.objects.different.items():
        if not entry.changed or entry.new is None:
            continue
        for change in entry.new.changes:
            for statement in change.statements:
                if not statement.parsed:
                    yield Diagnostic(
                        entry.new.path, statement.line, "SD210",
                        "this statement could not be read in full; its references were found by looking for known names",
                        "Check them with sparkdeploy graph; dependencies= overrides them.",
                        severity="warning", object=str(name),
                    )  # fmt: skip


def _left_out(
    dirty: Dirty, found: Diff, selected: frozenset[ObjectName] | None, operations: tuple[Operation, ...]
) -> Iterable[Diagnostic]:
    """What the selection leaves as it is although it changed or should be redeployed. The members of a
    component are computed with those that are selected. (What is not selected is no seed of the dirty
    propagation, so what changed is not always dirty.)"""
    if selected is None:
        return
    computed = {name for item in operations if item.action == "fixpoint" for name in objects_of(item)}
    different = found.objects.different
    unfinished = {name for name, entry in different.items() if entry.unfinished and not entry.left}
    redeployed = {
        fact.object
        for fact in dirty.facts("object")
        if (new := found.objects[fact.object].new)
        and new.kind not in ("table", "migration")
        and not found.objects[fact.object].left
    }
    left = sorted((unfinished | redeployed) - selected - computed)
    if left:
        shown = ", ".join(map(str, left[:10])) + (f" and {len(left) - 10} more" if len(left) > 10 else "")
        yield Diagnostic(
            "", 0, "SD503", f"changed or dirty but not selected, so they are left as they are: {shown}",
            "Select them too (name+ adds what depends on name), or plan without a selection afterwards.", severity="warning",
        )  # fmt: skip

"""Materialized views computed anew, as a plan of its own: nothing else is touched.

It is the plan in which every one of them is dirty and nothing is propagated, so that order,
components and operations are those of any other plan.
"""

from __future__ import annotations

from dataclasses import replace

from .catalog import Catalog
from .cycles import check_cycles
from .diagnostics import Diagnostic, SparkDeployError
from .diff import diff
from .dirty import Facts, propagate
from .graph import Graph, build_graph
from .names import ObjectName
from .operations import Plan
from .plan import build_operations
from .planner import Planned, make_universe
from .reconcile import reconcile
from .repository import Repository
from .select import select
from .settings import Propagation
from .state import State


def make_refresh(
    repository: Repository,
    state: State,
    *,
    catalog: Catalog | None = None,
    include: tuple[str, ...] = (),
    exclude: tuple[str, ...] = (),
    despite_errors: bool = False,
) -> Planned:
    """The operations that refresh all deployed materialized views, or the selected ones.

    A member of a cycle takes its component with it. What is not deployed as the repository
    says is left to ``apply``, and named in a warning. ``despite_errors`` goes on where files have
    errors: what is deployed as its own file says needs nothing of the others. Only a cycle that nobody
    may compute is refused all the same.
    """
    graph = build_graph(repository)
    components, refused = check_cycles(repository, graph)
    found_wrong = refused if despite_errors else (*repository.problems, *graph.problems, *refused)
    errors = [item for item in found_wrong if item.severity == "error"]
    if despite_errors:
        graph = _as_deployed(graph, state)
    if errors:
        raise SparkDeployError(errors)
    in_place = replace(repository, settings=replace(repository.settings, redeploy="replace"))
    found = diff(in_place, graph, reconcile(in_place, state, catalog))
    chosen = select(make_universe(in_place, graph, found), include, exclude)
    views = {
        name for name, item in repository.objects.items()
        if item.kind == "materialized_view" and not item.inactive and item.lifecycle != "external"
        and (chosen is None or name in chosen)
    }  # fmt: skip
    for component in components:
        if views.intersection(component.members):
            views.update(component.members)
    pending = {name for name in views if found.objects[name].old is None or found.objects[name].changed}
    for component in components:
        if pending.intersection(component.members):
            pending.update(component.members)
    due = views - pending
    dirty = propagate(
        Facts(
            objects=tuple(sorted(repository.objects)),
            dependents={},
            changed=dict.fromkeys(sorted(due), "forced"),
            propagation=Propagation(schema=False, compute=False),
        )
    )
    operations = build_operations(in_place, graph, components, found, dirty, frozenset(due))
    refreshes = tuple(item for item in operations if item.action in ("refresh", "fixpoint", "index"))
    plan = Plan(
        repository.fingerprint,
        operations=refreshes,
        dirty={
            "objects": tuple(str(name) for name in sorted(due)),
            "schemas": (),
            "compute": (),
            "indexes": (),
        },
        components=components,
        diagnostics=tuple(_left(name) for name in sorted(pending)),
    )
    return Planned(plan, repository, graph, components, found, dirty, frozenset(due))


def _as_deployed(graph: Graph, state: State) -> Graph:
    """With the dependencies that were deployed: those on a broken file cannot be found in the files, and
    what a refresh records must still have them."""
    known = {name: old.dependencies for name in graph.depends_on if (old := state.get(name)) is not None}
    return replace(graph, depends_on={**graph.depends_on, **known})


def _left(name: ObjectName) -> Diagnostic:
    return Diagnostic(
        "", 0, "SD506", f"{name} is not refreshed: it is not deployed as the repository says",
        "Deploy it first: sparkdeploy apply.", severity="warning", object=str(name),
    )  # fmt: skip

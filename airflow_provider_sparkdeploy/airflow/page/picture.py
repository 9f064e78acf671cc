"""Objects and what they read, as a graph: what is deployed, and what a plan makes of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...core.names import display
from ...core.state import DeployedObject, State
from .values import Kept, Step, schema_of

Reads = Mapping[str, tuple[str, ...]]


def deployed_reads(state: State) -> dict[str, tuple[str, ...]]:
    """What every deployed object depends on, as people write names."""
    return {display(name): _dependencies(record) for name, record in state.items()}


def _dependencies(record: DeployedObject) -> tuple[str, ...]:
    needed = {node.name for change in record.changes for node in change.needs}
    return tuple(sorted(display(name) for name in {*record.dependencies, *needed} if name != record.name))


def planned_reads(state: State, steps: Iterable[Step]) -> dict[str, tuple[str, ...]]:
    """The same once a plan is done; what it drops is still there, to be seen."""
    reads = deployed_reads(state)
    for step in steps:
        if step.phase == "teardown":
            reads.setdefault(step.object, ())
        elif step.reads or step.object not in reads:
            reads[step.object] = tuple(sorted({*step.reads, *reads.get(step.object, ())} - {step.object}))
        for member in step.members:
            reads.setdefault(member, ())
    return reads


def symbol(actions: set[str]) -> str:
    """What happens to an object, in one word, for all of its operations."""
    if {"drop", "create"} <= actions:
        return "recreate"
    for action in ("create", "drop", "replace", "fixpoint", "refresh", "load", "alter", "run", "index"):
        if action in actions:
            return action
    return ""


def cycles(reads: Reads) -> list[tuple[str, ...]]:
    """Groups of objects that read each other (or themselves): Tarjan's, without recursion."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[tuple[str, ...]] = []
    for start in sorted(reads):
        if start in index:
            continue
        work = [(start, iter(reads[start]))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            name, needs = work[-1]
            step = next((need for need in needs if need in reads), None)
            if step is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    members = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        members.append(member)
                        if member == name:
                            break
                    if len(members) > 1:
                        found.append(tuple(sorted(members)))
            elif step not in index:
                index[step] = low[step] = len(index)
                stack.append(step)
                on_stack.add(step)
                work.append((step, iter(reads[step])))
            elif step in on_stack:
                low[name] = min(low[name], index[step])
    return sorted(found)


def members_of(kept: Kept, reads: Reads, kinds: Mapping[str, str]) -> list[tuple[str, ...]]:
    """The cyclic components: as the plan knew them, else as materialized views read each other. (Tables
    whose changes wait for each other's are none.)"""
    if kept.cycles is not None:
        return [cycle.members for cycle in kept.cycles]
    own = {name: needs for name, needs in reads.items() if kinds.get(name) == "materialized_view"}
    return cycles(own)


def deployed_kinds(state: State) -> dict[str, str]:
    return {display(name): record.kind for name, record in state.items()}


def picture(kept: Kept, steps: Sequence[Step], states: Mapping[str, str]) -> dict[str, Any]:
    """The graph that the browser draws. ``states`` are the operations' in a run."""
    reads = planned_reads(kept.state, steps)
    kinds = deployed_kinds(kept.state)
    actions: dict[str, set[str]] = {}
    danger: set[str] = set()
    worst: dict[str, str] = {}
    for step in steps:
        for name in (step.object, *step.members):
            if step.kind:
                kinds.setdefault(name, step.kind)
            actions.setdefault(name, set()).add(step.action)
        if step.destructive:
            danger.add(step.object)
        if state := states.get(step.id):
            worst[step.object] = _worse(worst.get(step.object, ""), state)
    component = {name: n for n, group in enumerate(members_of(kept, reads, kinds), 1) for name in group}
    nodes = [
        {
            "id": name,
            "schema": schema_of(name),
            "kind": kinds.get(name, ""),
            "action": symbol(actions.get(name, set())),
            "destructive": name in danger,
            "state": worst.get(name, ""),
            "component": component.get(name, 0),
            "drift": name in (kept.drift or {}),
        }
        for name in sorted(reads)
    ]
    edges = [[need, name] for name in sorted(reads) for need in reads[name] if need in reads]
    return {"nodes": nodes, "edges": edges}


_ORDER = ("", "skipped", "done", "waiting", "running", "failed")


def _worse(first: str, second: str) -> str:
    return max(first, second, key=lambda item: _ORDER.index(item) if item in _ORDER else 0)

"""Cycles: which are legal, and what to say about those that are not.

Materialized views may depend on each other when ``allow_circular`` is set and every edge
inside the component is monotone, so that iterating from empty reaches the least fixpoint.
"""

from __future__ import annotations

import hashlib
from dataclasses import astuple, dataclass

from .diagnostics import Diagnostic
from .graph import Graph
from .lexer import lex, line_of
from .names import Node, ObjectName
from .objects import ObjectDef
from .repository import Repository
from .resolve import Resolver, make_resolver
from .statement import name_at


@dataclass(frozen=True, slots=True)
class Component:
    """Materialized views that are computed together. ``monotone`` is False only where
    ``allow_circular: unsafe`` lets it pass."""

    id: int
    members: tuple[ObjectName, ...]
    monotone: bool = True


def check_cycles(
    repository: Repository, graph: Graph
) -> tuple[tuple[Component, ...], tuple[Diagnostic, ...]]:
    """The legal components, numbered in order, and an explanation for each refusal."""
    legal: list[Component] = []
    problems: list[Diagnostic] = []
    if not graph.cyclic:
        return (), ()
    resolver = make_resolver(repository)
    for nodes in graph.cyclic:
        names = tuple(sorted({node.name for node in nodes}))
        kinds = {repository.objects[name].kind for name in names}
        if kinds != {"materialized_view"}:
            problems.append(_illegal(repository, graph, resolver, nodes))
            continue
        allowed = repository.settings.allow_circular
        if allowed == "false":
            problems.append(_not_allowed(repository, graph, resolver, nodes))
            continue
        if repository.settings.materialized_views == "native":
            problems.append(_native(repository, names))
            continue
        refused = _known_refusals(repository, resolver, names, unsafe=allowed == "unsafe")
        problems += refused
        if not any(item.severity == "error" for item in refused):
            legal.append(Component(len(legal) + 1, names, monotone=not refused))
    return tuple(legal), tuple(problems)


def _known_refusals(
    repository: Repository, resolver: Resolver, names: tuple[ObjectName, ...], *, unsafe: bool
) -> list[Diagnostic]:
    """The refusals of a component, found before if the repository is the same: a warm plan
    does not parse, so it must not import the parser either."""
    memo = repository.memo
    key = hashlib.sha256(repr(("cycle", repository.fingerprint, names)).encode()).digest()
    known = memo.get(key) if memo else None
    if known is not None:
        return [Diagnostic(*values) for values in known]
    found = _refusals(repository, resolver, names, unsafe=unsafe)
    if memo:
        memo.learn({key: tuple(astuple(item) for item in found)})
    return found


def _refusals(
    repository: Repository, resolver: Resolver, names: tuple[ObjectName, ...], *, unsafe: bool
) -> list[Diagnostic]:
    """Why the component is not monotone, reference by reference."""
    from .polarity import refusals

    members = frozenset(names)
    problems: list[Diagnostic] = []
    for name in names:
        item = repository.objects[name]
        statement = item.body.statements[0]

        def member(parts: tuple[str, ...], schema: str = name.schema) -> str | None:
            found = resolver.table(parts, schema)
            return str(found) if found in members else None

        if item.definition is None or not all(column.type for column in item.definition.columns):
            problems.append(
                Diagnostic(
                    item.path,
                    statement.line,
                    "SD313",
                    f"{name} is in a cycle, and does not declare its columns with their types",
                    "Members are created empty before they are computed: name (column type, ...).",
                    object=str(name),
                )
            )
        for refusal in refusals(statement.sql, member):
            if refusal.operator == "columns":
                continue
            line = statement.line + line_of(statement.sql, refusal.position) - 1
            required = refusal.operator.endswith(" column")  # MAP and VARIANT cannot be compared at all
            about = f" over {refusal.member}" if refusal.member else ""
            problems.append(
                Diagnostic(
                    item.path,
                    line,
                    "SD313" if required else "SD312",
                    f"{name} is in a cycle, and {refusal.operator}{about} is not allowed there: {refusal.reason}",
                    refusal.advice,
                    severity="error" if required or not unsafe else "warning",
                    object=str(name),
                )
            )
    return problems


def _illegal(repository: Repository, graph: Graph, resolver: Resolver, nodes: tuple[Node, ...]) -> Diagnostic:
    """A component in which not all are materialized views: a cycle through one of the others."""
    others = {node for node in nodes if repository.objects[node.name].kind != "materialized_view"}
    path = _shortest_cycle(graph, nodes, others)
    culprit = repository.objects[next(node for node in path if node in others).name]
    if culprit.scripted:
        advice = "Let a change depend on an earlier change of the other object: dependencies=object.change."
    else:
        advice = "Only materialized views may form a cycle. Cut one of these references."
    return _cycle(
        repository, resolver, path, f"a cycle through the {culprit.kind} {culprit.name}", "SD310", advice
    )


def _not_allowed(
    repository: Repository, graph: Graph, resolver: Resolver, nodes: tuple[Node, ...]
) -> Diagnostic:
    return _cycle(
        repository,
        resolver,
        _shortest_cycle(graph, nodes, set(nodes)),
        "a cycle among materialized views",
        "SD311",
        "Set allow_circular: true in sparkdeploy.yaml if it is meant.",
    )


def _native(repository: Repository, names: tuple[ObjectName, ...]) -> Diagnostic:
    first = repository.objects[names[0]]
    return Diagnostic(
        first.path,
        first.body.statements[0].line,
        "SD314",
        f"a cycle among materialized views that the catalog computes itself: {', '.join(map(str, names))}",
        "A catalog computes one view after the other, never a cycle. Set materialized_views: managed for "
        f"environment {repository.settings.environment}, or cut one of the references.",
        object=str(first.name),
    )


def _cycle(
    repository: Repository, resolver: Resolver, path: list[Node], message: str, code: str, advice: str
) -> Diagnostic:
    """The path, with the file and line of each reference."""
    steps = []
    for source, target in zip(path, [*path[1:], path[0]], strict=True):
        item = repository.objects[source.name]
        line = reference_line(item, source, target, resolver)
        steps.append(f"{source} -> {target}  ({item.path}:{line})")
    first = repository.objects[path[0].name]
    line = reference_line(first, path[0], path[1 % len(path)], resolver)
    text = "\n".join(f"      {step}" for step in steps)
    return Diagnostic(first.path, line, code, f"{message}:\n{text}", advice, object=str(first.name))


def _shortest_cycle(graph: Graph, nodes: tuple[Node, ...], through: set[Node]) -> list[Node]:
    """The shortest cycle of a component that passes one of some nodes; among equals the first by
    name, starting there."""
    import networkx as nx

    inside: nx.DiGraph[Node] = nx.DiGraph()
    members = set(nodes)
    inside.add_edges_from(
        (node, target) for node in nodes for target in graph.requires[node] if target in members
    )
    best: list[Node] | None = None
    for node in sorted(through)[:500]:  # bounds the work on huge components
        for target in sorted(inside.successors(node)):
            if target == node:
                return [node]
            path: list[Node] = nx.shortest_path(inside, target, node)
            if best is None or len(path) < len(best):
                best = [node, *path[:-1]]
    assert best is not None, "a component without a cycle"
    first = best.index(min(best))
    return best[first:] + best[:first]


def reference_line(item: ObjectDef, source: Node, target: Node, resolver: Resolver) -> int:
    """The line on which a change refers to another object, as well as it can be found."""
    change = next((change for change in item.changes if change.name == source.change), None)
    if change is None:
        return item.line
    for statement in change.statements:
        found = lex(statement.sql)
        position = 0
        seen_target = False
        while position < len(found.texts):
            parts, end = name_at(found.texts, position)
            folded = tuple(part.casefold() for part in parts)
            if parts and resolver.table(folded, item.name.schema) == target.name:
                if target.name != item.name or seen_target:
                    return statement.line + line_of(statement.sql, found.starts[position]) - 1
                seen_target = True  # the first mention of its own name is what it creates
            position = max(end, position + 1)
    declared = (line for path, line in change.dependencies.places if path == item.path)
    return next(declared, change.line)

"""Graphs as Mermaid and DOT: of a repository's objects, or of a plan's operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..core.operations import Plan

Edge = tuple[str, str]


def to_mermaid(plan: Plan) -> str:
    return mermaid(*_drawing(plan))


def to_dot(plan: Plan) -> str:
    return dot(*_drawing(plan))


def _drawing(plan: Plan) -> tuple[dict[str, str], list[Edge], dict[str, str]]:
    """Labels, edges and groups of a plan: an operation per node, a group per phase."""
    labels = {operation.id: f"{operation.action} {operation.object}" for operation in plan.operations}
    edges = [(source, operation.id) for operation in plan.operations for source in operation.depends_on]
    groups: dict[str, str] = {operation.id: operation.phase for operation in plan.operations}
    return labels, edges, groups


def mermaid(labels: Mapping[str, str], edges: Iterable[Edge], groups: Mapping[str, str]) -> str:
    """A flow chart; what others depend on is on the left."""
    number = {name: f"n{position}" for position, name in enumerate(labels)}
    lines = ["graph LR"]
    for group in dict.fromkeys(groups.values()):
        lines.append(f"  subgraph {_mermaid_id(group)}[{_mermaid_text(group)}]")
        lines += [
            f"    {number[name]}[{_mermaid_text(labels[name])}]" for name in labels if groups[name] == group
        ]
        lines.append("  end")
    lines += [f"  {number[source]} --> {number[target]}" for source, target in edges if source in number]
    return "\n".join(lines)


def _mermaid_id(text: str) -> str:
    return "g_" + "".join(char if char.isalnum() else f"_{ord(char):x}_" for char in text)


def _mermaid_text(text: str) -> str:
    escaped = text.replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;")
    return f'"{escaped}"'


def dot(labels: Mapping[str, str], edges: Iterable[Edge], groups: Mapping[str, str]) -> str:
    """A directed graph for Graphviz."""
    lines = ["digraph sparkdeploy {", "  rankdir=LR;", '  node [shape=box, fontname="sans-serif"];']
    for position, group in enumerate(dict.fromkeys(groups.values())):
        lines.append(f"  subgraph cluster_{position} {{")
        lines.append(f"    label={_dot_text(group)};")
        lines += [
            f"    {_dot_text(name)} [label={_dot_text(labels[name])}];"
            for name in labels
            if groups[name] == group
        ]
        lines.append("  }")
    lines += [
        f"  {_dot_text(source)} -> {_dot_text(target)};" for source, target in edges if source in labels
    ]
    return "\n".join([*lines, "}"])


def _dot_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

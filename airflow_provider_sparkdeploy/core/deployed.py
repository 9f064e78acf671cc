"""The graph of what is deployed, as teardown walks it: by the dependencies that the log kept.

A node is an object. Only where the changes of a script were deployed in between those of others
is each change a node of its own, so that they can be undone the other way round.
"""

from __future__ import annotations

from dataclasses import dataclass

from .names import Node, ObjectName
from .state import DeployedObject, State


@dataclass(frozen=True, slots=True)
class DeployedNode:
    """An object, or one ``change`` of it; the first one, which has ``others`` behind it, also
    stands for everything that is about none of them."""

    name: ObjectName
    change: str | None = None
    others: frozenset[str] | None = frozenset()

    def holds(self, change: str | None) -> bool:
        """Whether what is done to a change of the object is done at this node."""
        return change == self.change or (self.others is not None and change not in self.others)


def deployed_graph(state: State) -> tuple[list[DeployedNode], list[list[int]]]:
    """The nodes by name, and from each the edges to those that must be gone before it."""
    nodes: list[DeployedNode] = []
    number: dict[Node, int] = {}  # a bare name means the last change
    for name, record in sorted(state.items()):
        if not _interleaved(record):
            number[Node(*name)] = len(nodes)
            nodes.append(DeployedNode(name))
            continue
        others: frozenset[str] | None = frozenset(change.name for change in record.changes[1:])
        for change in record.changes:
            number[Node(*name, change.name)] = number[Node(*name)] = len(nodes)
            nodes.append(DeployedNode(name, change.name, others))
            others = None
    edges: list[list[int]] = [[] for _ in nodes]
    for name, record in state.items():
        _connect(name, record, number, edges)
    for targets in edges:
        targets.sort()
    return nodes, edges


def _interleaved(record: DeployedObject) -> bool:
    return len(record.changes) > 1 and any(change.needs for change in record.changes)


def _connect(
    name: ObjectName, record: DeployedObject, number: dict[Node, int], edges: list[list[int]]
) -> None:
    """Edges to the nodes of an object from everything that they were deployed after."""
    if not _interleaved(record):
        exact = {node.name: node for change in record.changes for node in change.needs}
        for target in record.dependencies:
            _connect_one(exact.get(target, Node(*target)), number[Node(*name)], number, edges)
        return
    known = {node.name for change in record.changes for node in change.needs}
    rest = [Node(*target) for target in record.dependencies if target not in known]
    previous: int | None = None
    for change in record.changes:
        own = number[Node(*name, change.name)]
        for node in (*change.needs, *rest):
            _connect_one(node, own, number, edges)
        if previous is not None:
            edges[previous].append(own)
        previous = own


def _connect_one(node: Node, own: int, number: dict[Node, int], edges: list[list[int]]) -> None:
    target = number.get(node, number.get(Node(*node.name)))
    if target is not None and target != own:
        edges[target].append(own)

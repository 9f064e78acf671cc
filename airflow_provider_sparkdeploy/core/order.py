"""Order and components of a directed graph of numbers, in linear time.

Nodes are 0..n-1 in the order in which equals should come, edges lead from a node to what it
depends on. Plain lists, so that 100,000 nodes take well under a second.
"""

from __future__ import annotations

from collections.abc import Sequence

Edges = Sequence[Sequence[int]]


def components(edges: Edges) -> list[list[int]]:
    """Strongly connected components, dependencies first (Tarjan, without recursion)."""
    count = len(edges)
    index = [-1] * count
    low = [0] * count
    on_stack = bytearray(count)
    stack: list[int] = []
    found: list[list[int]] = []
    clock = 0
    for root in range(count):
        if index[root] >= 0:
            continue
        index[root] = low[root] = clock
        clock += 1
        stack.append(root)
        on_stack[root] = 1
        work = [(root, iter(edges[root]))]
        while work:
            node, targets = work[-1]
            for target in targets:
                if index[target] < 0:
                    index[target] = low[target] = clock
                    clock += 1
                    stack.append(target)
                    on_stack[target] = 1
                    work.append((target, iter(edges[target])))
                    break
                if on_stack[target] and index[target] < low[node]:
                    low[node] = index[target]
            else:
                work.pop()
                if work and low[node] < low[work[-1][0]]:
                    low[work[-1][0]] = low[node]
                if low[node] == index[node]:
                    member = stack.pop()
                    on_stack[member] = 0
                    group = [member]
                    while member != node:
                        member = stack.pop()
                        on_stack[member] = 0
                        group.append(member)
                    found.append(sorted(group))
    return found


def levels(edges: Edges, groups: list[list[int]]) -> list[int]:
    """The length of the longest way down from each node; members of a group share it.

    Sorting by (level, number) is an order in which everything comes after what it depends
    on, and in which a new object moves as little as possible.
    """
    level = [0] * len(edges)
    for group in groups:  # dependencies come first
        if len(group) == 1:
            node = group[0]
            below = [level[target] for target in edges[node] if target != node]
            level[node] = max(below) + 1 if below else 0
        else:
            members = set(group)
            below = [level[target] for node in group for target in edges[node] if target not in members]
            shared = max(below) + 1 if below else 0
            for node in group:
                level[node] = shared
    return level


def dominance(successors: Edges, root: int) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """What leads to every node that can be reached from ``root``, and the interval that it
    spans in the dominator tree; nodes that cannot be reached have the interval (-1, -1).

    ``a`` dominates ``b``, that is, every way from the root to ``b`` passes ``a``, exactly
    when a's interval holds b's. (The iterative scheme of Cooper, Harvey and Kennedy.)
    """
    count = len(successors)
    # Breadth first: a dominator is nearer to the root, so it is found before what it dominates.
    rank = [-1] * count
    rank[root] = 0
    order = [root]
    predecessors: list[list[int]] = [[] for _ in range(count)]
    for node in order:
        for target in successors[node]:
            predecessors[target].append(node)
            if rank[target] < 0:
                rank[target] = len(order)
                order.append(target)
    above = [-1] * count
    above[root] = root
    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            best = -1
            for other in predecessors[node]:
                if above[other] < 0:
                    continue
                if best < 0:
                    best = other
                elif best != other:
                    while best != other:
                        if rank[other] > rank[best]:
                            other = above[other]
                        else:
                            best = above[best]
                    if best == root:
                        break
            if above[node] != best:
                above[node] = best
                changed = True
    return predecessors, _intervals(above, order, root)


def _intervals(above: list[int], order: list[int], root: int) -> list[tuple[int, int]]:
    """The first and one past the last number of each node's subtree, numbered depth first."""
    below: list[list[int]] = [[] for _ in above]
    size = [1] * len(above)
    for node in order[1:]:
        below[above[node]].append(node)
    spans = [(-1, -1)] * len(above)
    entered: list[int] = []
    stack = [root]
    while stack:
        node = stack.pop()
        entered.append(node)
        stack += below[node]
    for node in reversed(entered[1:]):
        size[above[node]] += size[node]
    for position, node in enumerate(entered):
        spans[node] = (position, position + size[node])
    return spans

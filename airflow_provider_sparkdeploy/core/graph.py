"""Dependencies between changes: discovered, declared, ordered.

The nodes are changes, so that ``object.change`` can interleave two tables. A kind without
named changes has one node.
"""

from __future__ import annotations

import hashlib
import marshal
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from .cache import MEMO, Memo, version_salt
from .diagnostics import Diagnostic, near_name
from .names import Node, ObjectName, display
from .objects import Change, ObjectDef
from .order import components, levels
from .repository import Repository
from .resolve import Resolver, last_node, make_resolver

Numbers = tuple[int, ...]


class Requires(Mapping[Node, tuple[Node, ...]]):
    """What every node directly needs. Kept as numbers, the nodes of an object one after the other:
    few nodes are ever looked at, and in a plan that finds nothing to do, none."""

    def __init__(self, changes: Mapping[ObjectName, tuple[str, ...]], edges: list[Numbers]) -> None:
        self.edges = edges
        self._changes = changes
        self._names = list(changes)
        self._firsts = list(accumulate(map(len, changes.values()), initial=0))
        self._first = dict(zip(self._names, self._firsts, strict=False))

    def node(self, number: int) -> Node:
        """The node that a number stands for."""
        place = bisect_right(self._firsts, number) - 1
        name = self._names[place]
        return Node(*name, self._changes[name][number - self._firsts[place]])

    def number(self, node: Node) -> int:
        """The number of a node; KeyError where there is none."""
        schema, item, change = node
        name = ObjectName(schema, item)
        own = self._changes[name]
        if change not in own:
            raise KeyError(node)
        return self._first[name] + own.index(change)

    def __getitem__(self, node: Node) -> tuple[Node, ...]:
        return tuple([self.node(target) for target in self.edges[self.number(node)]])

    def __iter__(self) -> Iterator[Node]:
        return (Node(*name, change) for name, own in self._changes.items() for change in own)

    def __len__(self) -> int:
        return len(self.edges)


@dataclass(frozen=True, slots=True)
class Graph:
    """``requires`` maps every node to what it directly needs, ``depends_on`` every object to
    other objects. ``places`` has the numbers of all nodes, everything after what it needs;
    ``cyclic`` are the strongly connected components of more than one node or with a node that
    reads itself."""

    requires: Requires
    depends_on: Mapping[ObjectName, tuple[ObjectName, ...]]
    external: Mapping[ObjectName, tuple[str, ...]]
    places: Sequence[int]
    cyclic: tuple[tuple[Node, ...], ...]
    problems: tuple[Diagnostic, ...] = ()

    @property
    def order(self) -> tuple[Node, ...]:
        """All nodes, everything after what it needs."""
        return tuple([self.requires.node(place) for place in self.places])

    def downstream(self, start: Iterable[Node]) -> list[int]:
        """The numbers of these nodes and of everything that depends on them, in order."""
        edges = self.requires.edges
        reached = {self.requires.number(node) for node in start}
        found: list[int] = []
        for place in self.places:
            if place in reached or not reached.isdisjoint(edges[place]):
                reached.add(place)
                found.append(place)
        return found


# What every change of an object needs, the objects that the object depends on, both as numbers,
# and the external names: plain values, which can be cached.
Resolved = tuple[tuple[Numbers, ...], Numbers, tuple[str, ...]]


def build_graph(repository: Repository) -> Graph:
    """Resolve every reference, and order the whole."""
    objects, memo = repository.objects, repository.memo
    changes = {name: item.change_names or ("",) for name, item in objects.items()}
    names = list(objects)
    requires = Requires(changes, [])
    problems: list[Diagnostic] = []
    depends_on: dict[ObjectName, tuple[ObjectName, ...]] = {}
    external: dict[ObjectName, tuple[str, ...]] = {}
    learned: dict[bytes, Resolved] = {}
    resolve = _Resolving(repository, requires, names, problems)
    world, look_up = resolve.world, memo.get if memo else None
    for name, item in objects.items():
        key = world + item.needs
        known: Resolved | None = look_up(key) if look_up and item.needs else None
        if known is None:
            before = len(problems)
            known = resolve.object(item)
            if len(problems) == before:
                learned[key] = known
        needed, others, unknown = known
        requires.edges += needed
        depends_on[name] = tuple([names[other] for other in others]) if others else ()
        if unknown:
            external[name] = unknown
    if memo and learned:
        memo.learn(learned)
    places, cyclic = _order(requires.edges, memo)
    groups = [tuple(sorted([requires.node(place) for place in group])) for group in cyclic]
    return Graph(requires, depends_on, external, places, tuple(sorted(groups)), tuple(problems))


class _Resolving:
    """Resolves objects to numbers. They mean something in one ``world`` only: the names of all
    objects and of their changes, and the schemas that they are in."""

    def __init__(
        self,
        repository: Repository,
        requires: Requires,
        names: list[ObjectName],
        problems: list[Diagnostic],
    ) -> None:
        self._repository, self._requires, self._names, self._problems = repository, requires, names, problems
        paths = [item.path for item in repository.objects.values()]
        changes = [item.change_names for item in repository.objects.values()]
        # The same bytes for equal values, which those of later versions of marshal are not.
        said = marshal.dumps((version_salt(), paths, changes, repr(repository.schemas)), 2)
        self.world = MEMO + b"graph" + hashlib.sha256(said).digest()[:16]

    @cached_property
    def _resolver(self) -> Resolver:
        return make_resolver(self._repository)

    @cached_property
    def _number(self) -> dict[ObjectName, int]:
        return {name: place for place, name in enumerate(self._names)}

    def object(self, item: ObjectDef) -> Resolved:
        """What one object refers to. Each change also needs the one before it."""
        unknown: set[str] = set()
        others: set[ObjectName] = set()
        edges: list[Numbers] = []
        first = self._requires.number(Node(*item.name, item.change_names[0] if item.change_names else ""))
        for place, change in enumerate(item.changes):
            needed = _needs(item, change, self._resolver, unknown, self._problems)
            others |= {node.name for node in needed}
            numbers = {self._requires.number(node) for node in needed}
            edges.append(tuple(sorted(numbers | {first + place - 1} if place else numbers)))
        numbers = {self._number[name] for name in others - {item.name}}
        return tuple(edges) or ((),), tuple(sorted(numbers)), tuple(sorted(unknown))


def _order(edges: list[Numbers], memo: Memo | None) -> tuple[list[int], list[list[int]]]:
    """The order and the cycles; both depend on nothing but the edges."""
    key = MEMO + b"order" + hashlib.sha256(marshal.dumps(edges, 2)).digest()
    known: tuple[list[int], list[list[int]]] | None = memo.get(key) if memo else None
    if known is None:
        groups = components(edges)
        level = levels(edges, groups)
        order = sorted(range(len(edges)), key=level.__getitem__)  # stable: equals stay by name
        known = order, [group for group in groups if len(group) > 1 or group[0] in edges[group[0]]]
        if memo:
            memo.learn({key: known})
    return known


def _needs(
    item: ObjectDef, change: Change, resolver: Resolver, unknown: set[str], problems: list[Diagnostic]
) -> set[Node]:
    """What one change depends on: what its text refers to, unless its header says otherwise."""
    rules = change.dependencies
    if rules.replace is not None:
        found = _declared(item, rules.replace, rules.line, resolver, problems, "dependencies")
    else:
        found = discover(item, change, resolver, unknown)
    if rules.include:
        found |= _declared(item, rules.include, rules.line, resolver, problems, "includeDependencies")
    if rules.exclude:
        excluded = _declared(item, rules.exclude, rules.line, resolver, problems, "excludeDependencies")
        names = {node.name for node in excluded}
        found = {node for node in found if node.name not in names}
    return found


def discover(item: ObjectDef, change: Change, resolver: Resolver, unknown: set[str]) -> set[Node]:
    """What the statements of a change refer to. A stateful object does not depend on itself."""
    schema = item.name.schema
    names: set[ObjectName] = set()
    for statement in change.statements:
        references = statement.references
        for parts in references.tables:
            name = resolver.table(parts, schema)
            if name is None:
                unknown.add(display(parts))
            else:
                names.add(name)
        names.update(name for parts in references.calls if (name := resolver.function(parts, schema)))
        scanned = {name for parts in references.words if (name := resolver.word(parts, schema))}
        names |= scanned - {item.name}
    if item.kind in ("table", "migration", "sink"):
        names.discard(item.name)
    return {last_node(resolver.objects[name]) for name in names}


def _declared(
    item: ObjectDef,
    names: tuple[str, ...],
    line: int,
    resolver: Resolver,
    problems: list[Diagnostic],
    attribute: str,
) -> set[Node]:
    found: set[Node] = set()
    for text in names:
        node = resolver.explicit(text, item.name.schema)
        if node is None and resolver.names_broken(text, item.name.schema):
            continue
        if node is None:
            known = [str(name) for name in resolver.objects if name != item.name]
            owner = text.rpartition(".")[0]
            if of := resolver.explicit(owner, item.name.schema):  # so it is its change that is misspelled
                known = [
                    f"{owner}.{change}" for change in resolver.objects[of.name].change_names if change
                ] or known
            problems.append(
                Diagnostic(
                    item.path,
                    line,
                    "SD301",
                    f"{attribute}: there is no {text} in this environment",
                    near_name(text.casefold(), known)
                    or "Name an object as schema.object, or a change as schema.object.change.",
                    object=str(item.name),
                )
            )
        elif node.name == item.name and attribute != "excludeDependencies":
            problems.append(
                Diagnostic(
                    item.path,
                    line,
                    "SD302",
                    f"{attribute}: {text} is the object itself",
                    "Remove it.",
                    object=str(item.name),
                )
            )
        elif (
            resolver.objects[node.name].kind == "sink"
            and item.kind != "sink"
            and attribute != "excludeDependencies"
        ):
            problems.append(
                Diagnostic(
                    item.path,
                    line,
                    "SD303",
                    f"{attribute}: {text} is a sink, and a {item.kind} cannot wait for it",
                    "Sinks run after everything else. Only another sink can depend on one.",
                    object=str(item.name),
                )
            )
        else:
            found.add(node)
    return found

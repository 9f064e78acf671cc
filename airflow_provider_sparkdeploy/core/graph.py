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
from itertools import accumulate, chain
from operator import itemgetter

from .cache import MEMO, Memo, version_salt
from .diagnostics import Diagnostic, near_name
from .names import Node, ObjectName, display, near_object
from .objects import Change, ObjectDef
from .order import components, levels
from .repository import Repository
from .resolve import Resolver, last_node, make_resolver

Numbers = tuple[int, ...]


class Requires(Mapping[Node, tuple[Node, ...]]):
    """What every node directly needs. Kept as numbers, the nodes of an object one after the other:
    few nodes are ever looked at, and in a plan that finds nothing to do, none."""

    def __init__(
        self,
        names: Sequence[ObjectName],
        changes: Sequence[tuple[str, ...]],
        edges: list[Numbers] | None = None,
    ) -> None:
        self.edges = edges or []
        self._names = names
        self._changes = [own or ("",) for own in changes]
        self._firsts = list(accumulate(map(len, self._changes), initial=0))
        self._places = dict(zip(names, range(len(names)), strict=True))

    def place(self, name: ObjectName) -> int:
        """Which object it is, counted from 0."""
        return self._places[name]

    def node(self, number: int) -> Node:
        """The node that a number stands for."""
        place = bisect_right(self._firsts, number) - 1
        return Node(*self._names[place], self._changes[place][number - self._firsts[place]])

    def number(self, node: Node) -> int:
        """The number of a node; KeyError where there is none."""
        schema, item, change = node
        place = self._places[ObjectName(schema, item)]
        own = self._changes[place]
        if change not in own:
            raise KeyError(node)
        return self._firsts[place] + own.index(change)

    def __getitem__(self, node: Node) -> tuple[Node, ...]:
        return tuple([self.node(target) for target in self.edges[self.number(node)]])

    def __iter__(self) -> Iterator[Node]:
        rows = zip(self._names, self._changes, strict=True)
        return (Node(*name, change) for name, own in rows for change in own)

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
Order = tuple[list[int], list[list[int]]]
_NEEDS = 16  # bytes


def build_graph(repository: Repository) -> Graph:
    """Resolve every reference, and order the whole."""
    outlines, memo = repository.objects.outlines, repository.memo
    names = outlines.names
    problems: list[Diagnostic] = []
    rows, order = _resolved(repository, memo, problems)
    requires = Requires(names, outlines.change_names, list(chain.from_iterable(map(itemgetter(0), rows))))
    both = list(zip(names, rows, strict=True))
    depends_on = {name: tuple([names[other] for other in row[1]]) for name, row in both}
    external = {name: row[2] for name, row in both if row[2]}
    places, cyclic = order or _order(requires.edges)
    groups = [tuple(sorted([requires.node(place) for place in group])) for group in cyclic]
    return Graph(requires, depends_on, external, places, tuple(sorted(groups)), tuple(problems))


def _resolved(
    repository: Repository, memo: Memo | None, problems: list[Diagnostic]
) -> tuple[list[Resolved], Order | None]:
    """A row for every object, and their order where that is known: where all of them need what they did when
    it was found out. Otherwise those of which it holds keep their rows."""
    outlines = repository.objects.outlines
    world, needs = _world(repository), b"".join(outlines.needs)
    before, known, order = (memo.get(world) if memo else None) or (b"", [], None)
    if before == needs and order is not None:
        return known, order
    rows = dict(zip(_cut(before), known, strict=True))
    resolving = _Resolving(repository, Requires(outlines.names, outlines.change_names), problems)
    found = [
        rows.get(needed) or resolving.object(repository.objects[name])
        for name, needed in zip(outlines.names, outlines.needs, strict=True)
    ]
    if not memo or problems or repository.broken:  # one that names a broken file is not told so
        return found, None
    order = _order(list(chain.from_iterable(map(itemgetter(0), found))))
    memo.learn({world: (needs, found, order)})
    return found, order


def _cut(needs: bytes) -> list[bytes]:
    return [needs[at : at + _NEEDS] for at in range(0, len(needs), _NEEDS)]


def _world(repository: Repository) -> bytes:
    """In which numbers and names mean the same: all objects, their kinds and changes, and the schemas that
    they are in."""
    outlines = repository.objects.outlines
    # The same bytes for equal values, which those of later versions of marshal are not.
    said = marshal.dumps(
        (
            version_salt(),
            list(map(tuple, outlines.names)),
            list(outlines.kinds),
            list(outlines.change_names),
            repr(repository.schemas),
        ),
        2,
    )
    return MEMO + b"graph" + hashlib.sha256(said).digest()[:16]


class _Resolving:
    """Resolves objects to numbers."""

    def __init__(self, repository: Repository, requires: Requires, problems: list[Diagnostic]) -> None:
        self._requires, self._problems = requires, problems
        self._resolver = make_resolver(repository)

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
        numbers = {self._requires.place(name) for name in others - {item.name}}
        return tuple(edges) or ((),), tuple(sorted(numbers)), tuple(sorted(unknown))


def _order(edges: list[Numbers]) -> Order:
    """The order and the cycles; both depend on nothing but the edges."""
    groups = components(edges)
    level = levels(edges, groups)
    order = sorted(range(len(edges)), key=level.__getitem__)  # stable: equals stay by name
    return order, [group for group in groups if len(group) > 1 or group[0] in edges[group[0]]]


def _needs(
    item: ObjectDef, change: Change, resolver: Resolver, unknown: set[str], problems: list[Diagnostic]
) -> set[Node]:
    """What one change depends on: what its text refers to, unless its header says otherwise."""
    rules = change.dependencies
    if rules.replace is not None:
        found = _declared(item, change, rules.replace, resolver, problems, "dependencies")
    else:
        found = discover(item, change, resolver, unknown)
    if rules.include:
        found |= _declared(item, change, rules.include, resolver, problems, "includeDependencies")
    if rules.exclude:
        excluded = _declared(item, change, rules.exclude, resolver, problems, "excludeDependencies")
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


def _owner(text: str, schema: str, resolver: Resolver) -> tuple[str, ObjectName] | None:
    """The shortest beginning of a name that means an object, and which: ``s.t`` of ``s.t.init.1``."""
    found = None
    while text := text.rpartition(".")[0]:
        node = resolver.explicit(text, schema)
        if found and (node is None or node.name != found[1]):
            break
        found = (text, node.name) if node else found
    return found


def _declared(
    item: ObjectDef,
    change: Change,
    names: tuple[str, ...],
    resolver: Resolver,
    problems: list[Diagnostic],
    attribute: str,
) -> set[Node]:
    """What the names in a header mean. One that is wrong is told where it is written, once for all that
    the header is for."""
    file, line = change.dependencies.place(attribute)
    about = str(item.name) if file == item.path else ""
    found: set[Node] = set()

    def report(code: str, message: str, advice: str) -> None:
        problems.append(Diagnostic(file, line, code, f"{attribute}: {message}", advice, object=about))

    for text in names:
        node = resolver.explicit(text, item.name.schema)
        if node is None and resolver.names_broken(text, item.name.schema):
            continue
        if node is None:
            advice = near_object(text, [name for name in resolver.objects if name != item.name])
            if owner := _owner(text, item.name.schema, resolver):  # so it is its change that is misspelled
                spelled, of = owner
                changes = resolver.objects[of].change_names
                known = [f"{spelled}.{display((one,))}" for one in changes if one]
                advice = near_name(text.casefold(), known) if known else advice
            report(
                "SD301",
                f"there is no {text} in this environment",
                advice or "Name an object as schema.object, or a change as schema.object.change.",
            )
        elif attribute == "excludeDependencies":
            found.add(node)
        elif node.name == item.name:
            report("SD302", f"{text} is the object itself", "Remove it.")
        elif resolver.objects[node.name].kind == "sink" and item.kind != "sink":
            report(
                "SD303",
                f"{text} is a sink, and a {item.kind} cannot wait for it",
                "Sinks run after everything else. Only another sink can depend on one.",
            )
        else:
            found.add(node)
    return found

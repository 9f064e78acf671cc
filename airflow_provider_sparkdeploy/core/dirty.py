"""Dirty propagation: from what changed to what must be redeployed, with every reason.

The rules are those of a small Datalog program. Each of them has exactly one dirty premise,
so its least fixed point is what can be reached from the seeds in a graph whose edges are the
rules; each rule is one function below that adds its edges, with the rule in its docstring.
The reasons of a fact are the edges that lead to it. All of it is linear in facts and edges.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from heapq import heappop, heappush
from typing import NamedTuple

from .names import ObjectName
from .order import dominance
from .settings import Propagation


class Fact(NamedTuple):
    """Something that is dirty. ``kind`` is object, schema, compute or index."""

    kind: str
    name: tuple[str, ...]

    @property
    def object(self) -> ObjectName:
        """The object that a fact about an object or an index is about."""
        return ObjectName(*self.name[:2])


class Reason(NamedTuple):
    """Why a fact holds: the rule, and the fact that it follows from (None for a seed)."""

    rule: str  # changed, drift, forced, dependency, schema, compute
    because: Fact | None = None


Chain = tuple[tuple[Fact, Reason], ...]
_RULES = ("changed", "drift", "forced", "dependency", "schema", "compute")


def object_fact(name: ObjectName) -> Fact:
    return Fact("object", name)


def schema_fact(schema: str) -> Fact:
    return Fact("schema", (schema,))


def compute_fact(compute: str) -> Fact:
    return Fact("compute", (compute,))


def index_fact(name: ObjectName, index: str) -> Fact:
    return Fact("index", (*name, index))


@dataclass(frozen=True, slots=True)
class Facts:
    """The input: what there is, and what changed.

    ``objects`` are all objects, removed ones with their last schema. ``dependents`` leads from
    an object to those that depend on it. ``changed`` holds the seeds with their rule, changed
    or drift. ``indexed_before`` are the computes of indexes that go with their object. ``boundary``
    are the computes that the repository uses; no other counts.
    """

    objects: tuple[ObjectName, ...]
    dependents: Mapping[ObjectName, tuple[ObjectName, ...]]
    changed: Mapping[ObjectName, str]
    forced: tuple[str, ...] = ()
    computes: Mapping[ObjectName, tuple[str, ...]] = field(default_factory=dict)
    index_computes: Mapping[tuple[ObjectName, str], str] = field(default_factory=dict)
    indexed_before: Mapping[ObjectName, tuple[str, ...]] = field(default_factory=dict)
    changed_indexes: tuple[tuple[ObjectName, str], ...] = ()
    sinks: frozenset[ObjectName] = frozenset()
    replacements: frozenset[ObjectName] = frozenset()
    boundary: frozenset[str] = frozenset()
    propagation: Propagation = Propagation()

    def reached_by(self, name: ObjectName) -> tuple[ObjectName, ...]:
        """The dependents that an object makes dirty.

        A replacement reaches those in its own schema where the schema rule, which would reach
        them otherwise, is switched off."""
        dependents = self.dependents.get(name, ())
        if name not in self.replacements:
            return dependents
        if self.propagation.through_schema(name.schema):
            return ()
        return tuple(other for other in dependents if other.schema == name.schema)


class Dirty:
    """The least fixed point, as the part of the graph of rules that the seeds reach."""

    def __init__(self, rules: _Rules) -> None:
        self._number = rules.number
        self._facts = rules.facts
        self._seeds = rules.seeds
        self._edges = rules.edges
        self._sources, self._spans = dominance(rules.edges, 0)
        self._dirty: dict[str, list[Fact]] = {}
        for fact, span in zip(self._facts, self._spans, strict=True):
            if span[0] >= 0:
                self._dirty.setdefault(fact.kind, []).append(fact)
        for found in self._dirty.values():
            found.sort()

    def __contains__(self, fact: Fact) -> bool:
        number = self._number.get(fact)
        return number is not None and self._spans[number][0] >= 0

    def facts(self, kind: str) -> Sequence[Fact]:
        """All dirty facts of a kind, sorted."""
        return self._dirty.get(kind, [])

    def reasons(self, fact: Fact) -> tuple[Reason, ...]:
        """Every reason of a fact that does not rest on the fact itself.

        A changed object makes its schema dirty, and a dirty schema its objects: that is a
        reason for the others, but not for the object that it began with. A reason is circular
        when every derivation of it passes the fact, that is, when the fact dominates it.
        """
        number = self._number.get(fact)
        begin, end = (-1, -1) if number is None else self._spans[number]
        if number is None or begin < 0:
            return ()
        found = [Reason(rule) for rule in self._seeds.get(number, ())]
        sources = {source for source in self._sources[number] if not begin <= self._spans[source][0] < end}
        found += [Reason(_rule(self._facts[at], fact), self._facts[at]) for at in sources if at]
        if len(found) > 1:
            found = sorted(
                set(found), key=lambda reason: (_RULES.index(reason.rule), reason.because or Fact("", ()))
            )
        return tuple(found)

    def begins(self, fact: Fact, rule: str) -> bool:
        """Whether a fact is a seed by this rule, without looking at its other reasons."""
        return rule in self._seeds.get(self._number.get(fact, 0), ())

    def chains(self, fact: Fact) -> Iterator[Chain]:
        """Every way from a fact down to a seed that passes no fact twice, shortest first.

        There can be very many: take as many as you need. Those that are shortest at best are
        followed first, so that what is not taken is hardly looked at.
        """
        sorted_reasons = cache(self._by_distance)
        # Of each way so far: how long it is at best, which reasons it took, and the next to take.
        heap: list[tuple[int, tuple[int, ...], _Way | None, Fact, int]] = []

        def push(way: _Way | None, places: tuple[int, ...], current: Fact, place: int) -> None:
            found = sorted_reasons(current)
            if place < len(found):
                distance, number, _ = found[place]
                heappush(heap, (len(places) + distance, (*places, number), way, current, place))

        push(None, (), fact, 0)
        while heap:
            _, places, way, current, place = heappop(heap)
            push(way, places[:-1], current, place + 1)
            found = sorted_reasons(current)
            distance, _, reason = found[place]
            here = found[0][0] + 1
            longer = _Way(current, reason, way, min(here, way.nearest) if way else here)
            if reason.because is None:
                yield longer.chain()
            elif distance < longer.nearest or not longer.passes(reason.because):
                push(longer, places, reason.because, 0)

    def _by_distance(self, fact: Fact) -> list[tuple[int, int, Reason]]:
        """The reasons of a fact: how far each is from a seed, and its place among all of them."""
        return sorted(
            (0 if reason.because is None else self._distance[self._number[reason.because]], place, reason)
            for place, reason in enumerate(self.reasons(fact))
        )

    @cached_property
    def _distance(self) -> list[int]:
        """How many steps every fact is from a seed."""
        found = [-1] * len(self._edges)
        found[0] = 0
        queue = deque([0])
        while queue:
            number = queue.popleft()
            for target in self._edges[number]:
                if found[target] < 0:
                    found[target] = found[number] + 1
                    queue.append(target)
        return found


class _Way(NamedTuple):
    """A way so far, from its last step back to its first. ``nearest`` is how near to a seed it has come:
    what is nearer than that it has not passed."""

    fact: Fact
    reason: Reason
    before: _Way | None
    nearest: int

    def steps(self) -> Iterator[_Way]:
        step: _Way | None = self
        while step is not None:
            yield step
            step = step.before

    def passes(self, fact: Fact) -> bool:
        return any(step.fact == fact for step in self.steps())

    def chain(self) -> Chain:
        return tuple((step.fact, step.reason) for step in self.steps())[::-1]


def propagate(facts: Facts) -> Dirty:
    """The least fixed point of the rules below."""
    if not facts.changed and not facts.forced and not facts.changed_indexes:
        facts = Facts((), {}, {})  # nothing follows from nothing
    return Dirty(_Rules(within_reach(facts)))


def within_reach(facts: Facts) -> Facts:
    """The facts without objects that no rule can lead to: of 10,000, few depend on what changed. Where
    schemas or computes count, any object may be led to."""
    schemas = {name.schema for name in facts.objects}
    computes = facts.computes or facts.index_computes or facts.indexed_before
    if computes or facts.forced or any(map(facts.propagation.through_schema, schemas)):
        return facts
    reached = {*facts.changed, *(name for name, _ in facts.changed_indexes)}
    waiting = list(reached)
    while waiting:
        found = set(facts.dependents.get(waiting.pop(), ())) - reached
        reached |= found
        waiting += found
    dependents = {name: others for name, others in facts.dependents.items() if name in reached}
    objects = tuple([name for name in facts.objects if name in reached])
    return replace(facts, objects=objects, dependents=dependents)


def _rule(source: Fact, fact: Fact) -> str:
    if fact.kind == "object":
        return {"object": "dependency", "schema": "schema"}.get(source.kind, "compute")
    return "schema" if fact.kind == "schema" else "compute"


class _Rules:
    """The rules as edges between numbered facts; 0 is the root, whose edges lead to the seeds."""

    def __init__(self, facts: Facts) -> None:
        self.input = facts
        schemas = sorted({name.schema for name in facts.objects} | set(facts.forced))
        indexes = sorted({*facts.index_computes, *facts.changed_indexes})
        self.facts = [
            Fact("", ()),
            *(Fact("object", name) for name in facts.objects),
            *(Fact("schema", (schema,)) for schema in schemas),
            *(Fact("compute", (compute,)) for compute in sorted(facts.boundary)),
            *(Fact("index", (*name, index)) for name, index in indexes),
        ]
        self.number = {fact: position for position, fact in enumerate(self.facts)}
        self.edges: list[list[int]] = [[] for _ in self.facts]
        self.seeds: dict[int, list[str]] = {}
        self._objects = {name: position for position, name in enumerate(facts.objects, 1)}
        self._schemas = {schema: len(facts.objects) + 1 + place for place, schema in enumerate(schemas)}
        self._dependents()
        self._schema_of()
        self._compute_users()
        self._changed()
        self._changed_indexes()
        self._forced()

    def _seed(self, number: int, rule: str) -> None:
        self.seeds.setdefault(number, []).append(rule)
        self.edges[0].append(number)

    def _forced(self) -> None:
        """DirtySchema(S) :- ForcedSchema(S)"""
        for schema in self.input.forced:
            self._seed(self._schemas[schema], "forced")

    def _changed(self) -> None:
        """Dirty(O) :- Changed(O)
        DirtyCompute(C) :- Changed(O), StmtUsesCompute(O, C), not IsSink(O)
        DirtyCompute(C) :- Changed(O), IndexUsesCompute(O, _, C), not IsSink(O)"""
        facts = self.input
        own_indexes: dict[ObjectName, tuple[str, ...]] = {}
        for (name, _), compute in facts.index_computes.items():
            own_indexes[name] = (*own_indexes.get(name, ()), compute)
        for name, rule in facts.changed.items():
            number = self._objects[name]
            self._seed(number, rule)
            if name not in facts.sinks and facts.propagation.through_compute(name.schema):
                used = (facts.computes, own_indexes, facts.indexed_before)
                for compute in dict.fromkeys(compute for uses in used for compute in uses.get(name, ())):
                    self._to_compute(number, compute)

    def _to_compute(self, number: int, compute: str) -> None:
        target = self.number.get(compute_fact(compute))
        if target is not None:
            self.edges[number].append(target)

    def _dependents(self) -> None:
        """Dirty(O) :- DependsOn(O, P), Dirty(P), not IsReplacement(P)"""
        for name in self.input.dependents:
            reached = self.input.reached_by(name)
            self.edges[self._objects[name]] += [self._objects[other] for other in reached]

    def _schema_of(self) -> None:
        """DirtySchema(S) :- ObjectInSchema(O, S), Dirty(O), not IsSink(O)
        Dirty(O) :- ObjectInSchema(O, S), DirtySchema(S)"""
        facts = self.input
        through = {schema: facts.propagation.through_schema(schema) for schema in self._schemas}
        for name, number in self._objects.items():
            schema = self._schemas[name.schema]
            self.edges[schema].append(number)
            if through[name.schema] and name not in facts.sinks:
                self.edges[number].append(schema)

    def _compute_users(self) -> None:
        """Dirty(O) :- StmtUsesCompute(O, C), DirtyCompute(C)
        DirtyIndex(O, I) :- IndexUsesCompute(O, I, C), DirtyCompute(C)"""
        facts = self.input
        users: list[tuple[ObjectName, str, int]] = [
            (name, compute, self._objects[name]) for name, used in facts.computes.items() for compute in used
        ]
        users += [
            (name, compute, self.number[index_fact(name, index)])
            for (name, index), compute in facts.index_computes.items()
        ]
        for name, compute, number in users:
            source = self.number.get(compute_fact(compute))
            if source is not None and facts.propagation.through_compute(name.schema):
                self.edges[source].append(number)

    def _changed_indexes(self) -> None:
        """DirtyIndex(O, I) :- ChangedIndex(O, I)
        DirtyCompute(C) :- ChangedIndex(O, I), IndexUsesCompute(O, I, C)"""
        facts = self.input
        for name, index in facts.changed_indexes:
            number = self.number[index_fact(name, index)]
            self._seed(number, "changed")
            compute = facts.index_computes.get((name, index))
            if compute and facts.propagation.through_compute(name.schema):
                self._to_compute(number, compute)

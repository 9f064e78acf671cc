"""Dirty propagation against the rules of the design, evaluated in the plainest way there is."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_provider_sparkdeploy.core.dirty import (
    Dirty,
    Fact,
    Facts,
    Reason,
    compute_fact,
    index_fact,
    object_fact,
    propagate,
    schema_fact,
)
from airflow_provider_sparkdeploy.core.names import ObjectName
from airflow_provider_sparkdeploy.core.settings import Propagation

KINDS = ("object", "schema", "compute", "index")
COMPUTES = ("etl", "big", "bi")


def _facts(seed: int, size: int) -> Facts:
    random = Random(seed)
    names = [ObjectName(random.choice("abc"), f"o{number}") for number in range(size)]

    def some(often: float) -> list[ObjectName]:
        return [name for name in names if random.random() < often]

    dependents = {
        name: tuple(sorted(set(random.choices(names, k=random.choice((1, 1, 2)))))) for name in some(0.4)
    }
    index_computes = {
        (name, f"i{number}"): random.choice(COMPUTES) for number in range(2) for name in some(0.2)
    }
    off = random.random() < 0.4
    return Facts(
        objects=tuple(sorted(names)),
        dependents=dependents,
        changed={name: random.choice(("changed", "drift")) for name in some(0.15)},
        forced=tuple(sorted({name.schema for name in some(0.05)})),
        computes={name: tuple(random.sample(COMPUTES, random.choice((1, 2)))) for name in some(0.3)},
        index_computes=index_computes,
        changed_indexes=tuple(key for key in index_computes if random.random() < 0.2)
        + tuple((name, "plain") for name in some(0.05)),
        sinks=frozenset(some(0.2)),
        replacements=frozenset(some(0.2)),
        boundary=frozenset(random.sample(COMPUTES, random.choice((2, 3)))),
        propagation=Propagation(random.random() < 0.5, random.random() < 0.5, {"a": random.random() < 0.5})
        if off
        else Propagation(),
    )


def _by_dependencies(facts: Facts) -> Facts:
    """The same where nothing but dependencies leads from one object to another."""
    return replace(
        facts, forced=(), computes={}, index_computes={}, boundary=frozenset(),
        propagation=Propagation(schema=False),
    )  # fmt: skip


ANY_FACTS = st.builds(_facts, st.integers(0, 2**20), st.integers(1, 9))
FACTS = st.one_of(ANY_FACTS, ANY_FACTS.map(_by_dependencies))


def instances(facts: Facts) -> list[tuple[Fact, str, Fact | None]]:
    """All instances of all rules: what follows, by which rule, from what (None: from a seed).

    "Changed" is a premise that the object (or index) itself stands for, as in the reasons.
    """
    f, through = facts, facts.propagation
    found: list[tuple[Fact, str, Fact | None]] = []
    for one, rule in f.changed.items():
        found.append((object_fact(one), rule, None))
        used = [*f.computes.get(one, ()), *(c for (owner, _), c in f.index_computes.items() if owner == one)]
        for compute in used:
            if one not in f.sinks and compute in f.boundary and through.through_compute(one.schema):
                found.append((compute_fact(compute), "compute", object_fact(one)))
    for one, others in f.dependents.items():
        for other in others:
            inside = other.schema == one.schema and not through.through_schema(one.schema)
            if one not in f.replacements or inside:
                found.append((object_fact(other), "dependency", object_fact(one)))
    for one in f.objects:
        found.append((object_fact(one), "schema", schema_fact(one.schema)))
        if one not in f.sinks and through.through_schema(one.schema):
            found.append((schema_fact(one.schema), "schema", object_fact(one)))
        for compute in f.computes.get(one, ()):
            if compute in f.boundary and through.through_compute(one.schema):
                found.append((object_fact(one), "compute", compute_fact(compute)))
    for schema in f.forced:
        found.append((schema_fact(schema), "forced", None))
    for one, index in f.changed_indexes:
        found.append((index_fact(one, index), "changed", None))
        compute = f.index_computes.get((one, index))
        if compute in f.boundary and through.through_compute(one.schema):
            found.append((compute_fact(compute), "compute", index_fact(one, index)))
    for (one, index), compute in f.index_computes.items():
        if compute in f.boundary and through.through_compute(one.schema):
            found.append((index_fact(one, index), "compute", compute_fact(compute)))
    return found


def naive(rules: list[tuple[Fact, str, Fact | None]], without: Fact | None = None) -> set[Fact]:
    """Apply every rule until nothing new follows; ``without`` must not be used."""
    dirty: set[Fact] = set()
    while True:
        new = {
            fact for fact, _, premise in rules if fact != without and (premise is None or premise in dirty)
        } - dirty
        if not new:
            return dirty
        dirty |= new


def all_of(dirty: Dirty) -> set[Fact]:
    return {fact for kind in KINDS for fact in dirty.facts(kind)}


@settings(max_examples=200)
@given(FACTS)
def test_the_dirty_facts_are_the_least_fixed_point(facts: Facts) -> None:
    dirty = propagate(facts)
    found = all_of(dirty)
    assert found == naive(instances(facts))
    assert all(fact in dirty for fact in found)


@settings(max_examples=200)
@given(FACTS)
def test_the_reasons_are_all_that_do_not_rest_on_the_fact_itself(facts: Facts) -> None:
    """A reason is kept exactly if its premise can be derived without the fact."""
    dirty = propagate(facts)
    rules = instances(facts)
    for fact in naive(rules):
        others = naive(rules, without=fact)
        expected = {
            Reason(rule, premise)
            for what, rule, premise in rules
            if what == fact and (premise is None or premise in others)
        }
        assert set(dirty.reasons(fact)) == expected
        assert len(dirty.reasons(fact)) == len(expected), "none is there twice"


@settings(max_examples=200)
@given(FACTS)
def test_chains_are_made_of_reasons_end_in_seeds_and_grow(facts: Facts) -> None:
    dirty = propagate(facts)
    for fact in naive(instances(facts)):
        chains = list(islice(dirty.chains(fact), 20))
        assert chains, "every dirty fact has a chain"
        assert [len(chain) for chain in chains] == sorted(len(chain) for chain in chains)
        assert len(set(chains)) == len(chains)
        for chain in chains:
            assert chain[0][0] == fact
            assert chain[-1][1].because is None
            assert len({step[0] for step in chain}) == len(chain), "no fact twice"
            for (one, reason), following in zip(chain, [*chain[1:], None], strict=True):
                assert reason in dirty.reasons(one)
                assert reason.because == (following[0] if following else None)


@settings(max_examples=300)
@given(st.integers(0, 2**20), st.integers(2, 9), st.integers(0, 2**20))
def test_dirty_only_grows_when_facts_are_added(seed: int, size: int, other: int) -> None:
    """Positive facts, that is: a sink or a replacement holds back what it is."""
    more = _facts(seed, size)
    random = Random(other)

    def fewer(values: dict[Any, Any]) -> dict[Any, Any]:
        return {key: value for key, value in values.items() if random.random() < 0.7}

    less = replace(
        more,
        dependents=fewer({**more.dependents}),
        changed=fewer({**more.changed}),
        forced=tuple(fewer(dict.fromkeys(more.forced))),
        computes=fewer({**more.computes}),
        index_computes=fewer({**more.index_computes}),
        changed_indexes=tuple(fewer(dict.fromkeys(more.changed_indexes))),
    )
    assert all_of(propagate(less)) <= all_of(propagate(more))

"""Dirty propagation: every rule alone and negated, and every reason."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest
from sketch import name

from airflow_provider_sparkdeploy.core.dirty import (
    Dirty,
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

A, B, C, D = name("s.a"), name("s.b"), name("s.c"), name("s.d")
X, Y, Z = name("x.x"), name("y.y"), name("z.z")
NO_SCHEMA = Propagation(schema=False)
NO_COMPUTE = Propagation(compute=False)


def facts(
    *objects: ObjectName, depends_on: dict[ObjectName, tuple[ObjectName, ...]] | None = None, **rest: object
) -> Facts:
    """Facts with dependencies the way they are written: from an object to what it needs."""
    dependents: dict[ObjectName, tuple[ObjectName, ...]] = {}
    for one, others in sorted((depends_on or {}).items()):
        for other in others:
            dependents[other] = (*dependents.get(other, ()), one)
    computes: dict[ObjectName, tuple[str, ...]] = rest.get("computes", {})  # type: ignore[assignment]
    index_computes: dict[tuple[ObjectName, str], str] = rest.get("index_computes", {})  # type: ignore[assignment]
    rest.setdefault(
        "boundary", frozenset({c for used in computes.values() for c in used} | set(index_computes.values()))
    )
    rest["changed"] = dict.fromkeys(rest.get("changed", ()), "changed")  # type: ignore[union-attr, attr-defined]
    rest["sinks"] = frozenset(rest.get("sinks", ()))  # type: ignore[arg-type]
    rest["replacements"] = frozenset(rest.get("replacements", ()))  # type: ignore[arg-type]
    return Facts(tuple(sorted(objects)), dependents, **rest)  # type: ignore[arg-type]


def objects(dirty: Dirty) -> list[ObjectName]:
    return [fact.object for fact in dirty.facts("object")]


def names(dirty: Dirty, kind: str) -> list[str]:
    return [".".join(fact.name) for fact in dirty.facts(kind)]


# --- Dirty(O) :- Changed(O) --------------------------------------------------------------


def test_nothing_changed_nothing_dirty() -> None:
    dirty = propagate(facts(A, X, depends_on={A: (X,)}, computes={A: ("c",)}))
    for kind in ("object", "schema", "compute", "index"):
        assert dirty.facts(kind) == []


def test_what_changed_is_dirty() -> None:
    dirty = propagate(facts(A, X, changed=[X]))
    assert objects(dirty) == [X]
    assert dirty.reasons(object_fact(X)) == (Reason("changed"),)


def test_drift_is_a_seed_of_its_own() -> None:
    given_facts = replace(facts(X), changed={X: "drift"})
    assert propagate(given_facts).reasons(object_fact(X)) == (Reason("drift"),)


# --- Dirty(O) :- DependsOn(O, P), Dirty(P), not IsReplacement(P) -------------------------


def test_a_dependent_is_dirty() -> None:
    dirty = propagate(facts(X, Y, Z, depends_on={X: (Y,), Y: (Z,)}, changed=[Z]))
    assert objects(dirty) == [X, Y, Z]
    assert dirty.reasons(object_fact(X)) == (Reason("dependency", object_fact(Y)),)
    assert dirty.reasons(object_fact(Y)) == (Reason("dependency", object_fact(Z)),)


def test_a_dependency_is_not_dirty() -> None:
    assert objects(propagate(facts(X, Y, depends_on={X: (Y,)}, changed=[X]))) == [X]


def test_a_replacement_stops_at_its_dependents_but_is_dirty_itself() -> None:
    dirty = propagate(facts(X, Y, Z, depends_on={X: (Y,), Y: (Z,)}, changed=[Z], replacements=[Y]))
    assert objects(dirty) == [Y, Z]


def test_a_replacement_does_not_stop_other_ways() -> None:
    dirty = propagate(facts(X, Y, Z, depends_on={X: (Y, Z), Y: (Z,)}, changed=[Z], replacements=[Y]))
    assert dirty.reasons(object_fact(X)) == (Reason("dependency", object_fact(Z)),)


# --- schemas -----------------------------------------------------------------------------


def test_an_object_makes_its_schema_dirty_and_the_schema_its_objects() -> None:
    dirty = propagate(facts(A, B, X, changed=[A]))
    assert objects(dirty) == [A, B]
    assert names(dirty, "schema") == ["s"]
    assert dirty.reasons(schema_fact("s")) == (Reason("schema", object_fact(A)),)
    assert dirty.reasons(object_fact(B)) == (Reason("schema", schema_fact("s")),)


def test_a_schema_is_also_dirty_by_what_became_dirty() -> None:
    dirty = propagate(facts(A, B, X, depends_on={A: (X,)}, changed=[X]))
    assert objects(dirty) == [A, B, X]
    assert names(dirty, "schema") == ["s", "x"]


def test_a_sink_does_not_make_its_schema_dirty() -> None:
    dirty = propagate(facts(A, B, changed=[A], sinks=[A]))
    assert objects(dirty) == [A]
    assert names(dirty, "schema") == []


def test_a_sink_is_dirty_with_its_schema_and_by_its_dependencies() -> None:
    assert objects(propagate(facts(A, B, changed=[A], sinks=[B]))) == [A, B]
    assert objects(propagate(facts(B, X, depends_on={B: (X,)}, changed=[X], sinks=[B]))) == [B, X]


def test_what_depends_on_a_sink_is_dirty() -> None:
    """Only schema and compute stop at a sink; a dependency is a dependency."""
    assert objects(propagate(facts(A, X, depends_on={X: (A,)}, changed=[A], sinks=[A]))) == [A, X]


def test_a_replacement_still_makes_its_schema_dirty() -> None:
    assert objects(propagate(facts(A, B, changed=[A], replacements=[A]))) == [A, B]


def test_a_forced_schema_makes_everything_in_it_dirty() -> None:
    dirty = propagate(facts(A, B, X, depends_on={X: (A,)}, forced=("s",)))
    assert objects(dirty) == [A, B, X]
    assert dirty.reasons(schema_fact("s")) == (Reason("forced"),)
    assert dirty.reasons(object_fact(A)) == (Reason("schema", schema_fact("s")),)


def test_a_forced_schema_reaches_sinks() -> None:
    assert objects(propagate(facts(A, forced=("s",), sinks=[A]))) == [A]


def test_a_removed_object_reaches_the_survivors_of_its_schema_and_its_dependents() -> None:
    """It is an object like the others here: it keeps its last schema."""
    gone = name("s.gone")
    dirty = propagate(facts(A, X, gone, depends_on={X: (gone,)}, changed=[gone]))
    assert objects(dirty) == [A, gone, X]


# --- compute -----------------------------------------------------------------------------


def test_a_changed_object_makes_its_compute_dirty_and_the_compute_its_users() -> None:
    dirty = propagate(facts(X, Y, Z, computes={X: ("etl",), Y: ("etl",), Z: ("bi",)}, changed=[X]))
    assert objects(dirty) == [X, Y]
    assert names(dirty, "compute") == ["etl"]
    assert dirty.reasons(compute_fact("etl")) == (Reason("compute", object_fact(X)),)
    assert dirty.reasons(object_fact(Y)) == (Reason("compute", compute_fact("etl")),)


def test_an_object_that_only_became_dirty_does_not_make_its_compute_dirty() -> None:
    """DirtyCompute needs Changed(O), not Dirty(O)."""
    dirty = propagate(facts(X, Y, Z, depends_on={Y: (X,)}, computes={Y: ("etl",), Z: ("etl",)}, changed=[X]))
    assert objects(dirty) == [X, Y]
    assert names(dirty, "compute") == []


def test_a_changed_sink_does_not_make_its_compute_dirty() -> None:
    dirty = propagate(facts(X, Y, computes={X: ("etl",), Y: ("etl",)}, changed=[X], sinks=[X]))
    assert objects(dirty) == [X]
    assert names(dirty, "compute") == []


def test_the_compute_of_an_index_of_a_changed_object_is_dirty() -> None:
    dirty = propagate(facts(X, Y, index_computes={(X, "i"): "etl"}, computes={Y: ("etl",)}, changed=[X]))
    assert objects(dirty) == [X, Y]
    assert names(dirty, "index") == ["x.x.i"]


def test_the_compute_of_an_index_of_a_changed_sink_is_not() -> None:
    dirty = propagate(
        facts(X, Y, index_computes={(X, "i"): "etl"}, computes={Y: ("etl",)}, changed=[X], sinks=[X])
    )
    assert objects(dirty) == [X]


def test_an_object_with_two_computes_dirties_both() -> None:
    dirty = propagate(facts(X, Y, Z, computes={X: ("a", "b"), Y: ("a",), Z: ("b",)}, changed=[X]))
    assert objects(dirty) == [X, Y, Z]


def test_a_compute_outside_the_boundary_does_not_count() -> None:
    dirty = propagate(facts(X, Y, computes={X: ("old",), Y: ("old",)}, changed=[X], boundary=frozenset()))
    assert objects(dirty) == [X]
    assert names(dirty, "compute") == []


# --- indexes -----------------------------------------------------------------------------


def test_a_changed_index_is_dirty_alone() -> None:
    dirty = propagate(facts(A, B, X, depends_on={X: (A,)}, changed_indexes=((A, "i"),)))
    assert names(dirty, "index") == ["s.a.i"]
    assert dirty.reasons(index_fact(A, "i")) == (Reason("changed"),)
    assert objects(dirty) == []
    assert names(dirty, "schema") == []


def test_a_changed_index_makes_its_compute_dirty() -> None:
    dirty = propagate(
        facts(
            X,
            Y,
            Z,
            changed_indexes=((X, "i"),),
            index_computes={(X, "i"): "etl", (Z, "j"): "etl"},
            computes={Y: ("etl",)},
        )
    )
    assert names(dirty, "compute") == ["etl"]
    assert dirty.reasons(compute_fact("etl")) == (Reason("compute", index_fact(X, "i")),)
    assert objects(dirty) == [Y]
    assert names(dirty, "index") == ["x.x.i", "z.z.j"]
    assert dirty.reasons(index_fact(Z, "j")) == (Reason("compute", compute_fact("etl")),)


def test_a_dirty_index_dirties_neither_its_object_nor_its_schema_nor_its_dependents() -> None:
    dirty = propagate(
        facts(
            A,
            B,
            X,
            Y,
            depends_on={Y: (A,)},
            index_computes={(A, "i"): "etl"},
            computes={X: ("etl",)},
            changed=[X],
        )
    )
    assert names(dirty, "index") == ["s.a.i"]
    assert objects(dirty) == [X]


def test_an_index_of_a_sink_may_dirty_its_compute() -> None:
    """The rule for changed indexes has no "not IsSink"."""
    dirty = propagate(
        facts(
            X, Y, changed_indexes=((X, "i"),), index_computes={(X, "i"): "c"}, computes={Y: ("c",)}, sinks=[X]
        )
    )
    assert objects(dirty) == [Y]


def test_an_index_without_a_compute_reaches_nothing() -> None:
    dirty = propagate(facts(X, Y, changed_indexes=((X, "i"),), computes={Y: ("etl",)}))
    assert objects(dirty) == []


# --- switched off ------------------------------------------------------------------------


def test_schemas_can_be_switched_off() -> None:
    dirty = propagate(facts(A, B, X, depends_on={X: (A,)}, changed=[A], propagation=NO_SCHEMA))
    assert objects(dirty) == [A, X]
    assert names(dirty, "schema") == []


def test_schemas_can_be_switched_off_one_by_one() -> None:
    one = Propagation(schema_by_folder={"s": False})
    other = name("x.other")
    dirty = propagate(facts(A, B, X, other, changed=[A, X], propagation=one))
    assert objects(dirty) == [A, other, X]
    only = Propagation(schema=False, schema_by_folder={"s": True})
    assert objects(propagate(facts(A, B, X, other, changed=[A, X], propagation=only))) == [A, B, X]


def test_a_forced_schema_is_forced_also_where_schemas_are_switched_off() -> None:
    dirty = propagate(facts(A, B, X, forced=("s",), propagation=NO_SCHEMA))
    assert objects(dirty) == [A, B]
    assert names(dirty, "schema") == ["s"]


def test_a_replacement_reaches_the_dependents_in_its_schema_where_the_schema_does_not() -> None:
    dirty = propagate(
        facts(A, B, C, X, depends_on={B: (A,), X: (A,)}, changed=[A], replacements=[A], propagation=NO_SCHEMA)
    )
    assert objects(dirty) == [A, B]
    assert dirty.reasons(object_fact(B)) == (Reason("dependency", object_fact(A)),)


def test_compute_can_be_switched_off() -> None:
    given_facts = facts(
        X,
        Y,
        computes={X: ("etl",), Y: ("etl",)},
        index_computes={(Z, "i"): "etl"},
        changed=[X],
        propagation=NO_COMPUTE,
    )
    given_facts = replace(given_facts, objects=(X, Y, Z))
    dirty = propagate(given_facts)
    assert objects(dirty) == [X]
    assert names(dirty, "compute") == []
    assert names(dirty, "index") == []


def test_compute_can_be_switched_off_one_schema_at_a_time() -> None:
    used = {X: ("etl",), Y: ("etl",), Z: ("etl",)}
    off = Propagation(compute_by_folder={"y": False})
    assert objects(propagate(facts(X, Y, Z, computes=used, changed=[X], propagation=off))) == [X, Z]
    assert objects(propagate(facts(X, Y, Z, computes=used, changed=[Y], propagation=off))) == [Y]


# --- reasons and chains ------------------------------------------------------------------


def test_every_reason_is_kept() -> None:
    dirty = propagate(
        facts(A, B, X, Y, depends_on={B: (X, Y)}, computes={B: ("etl",), X: ("etl",)}, changed=[A, B, X, Y])
    )
    assert dirty.reasons(object_fact(B)) == (
        Reason("changed"),
        Reason("dependency", object_fact(X)),
        Reason("dependency", object_fact(Y)),
        Reason("schema", schema_fact("s")),
        Reason("compute", compute_fact("etl")),
    )


def test_an_object_is_not_dirty_because_of_the_schema_that_it_made_dirty() -> None:
    dirty = propagate(facts(A, B, changed=[A]))
    assert dirty.reasons(object_fact(A)) == (Reason("changed"),)
    assert dirty.reasons(object_fact(B)) == (Reason("schema", schema_fact("s")),)
    assert dirty.reasons(schema_fact("s")) == (Reason("schema", object_fact(A)),), "not because of B"


def test_but_it_is_when_another_object_made_the_schema_dirty_too() -> None:
    dirty = propagate(facts(A, B, changed=[A, B]))
    for one in (A, B):
        assert dirty.reasons(object_fact(one)) == (Reason("changed"), Reason("schema", schema_fact("s")))


def test_a_reason_that_leads_back_through_other_objects_is_circular_too() -> None:
    """A -> X (depends on A) -> schema x -> Y2 -> ... -> A again says nothing about A."""
    other = name("x.other")
    dirty = propagate(facts(A, X, other, depends_on={X: (A,), A: (other,)}, changed=[A]))
    assert objects(dirty) == [A, other, X]
    assert dirty.reasons(object_fact(A)) == (Reason("changed"),)


def test_a_clean_fact_has_no_reasons_and_no_chains() -> None:
    dirty = propagate(facts(A, X, changed=[A]))
    for fact in (
        object_fact(X),
        object_fact(name("no.where")),
        schema_fact("x"),
        compute_fact("c"),
        index_fact(A, "i"),
    ):
        assert fact not in dirty
        assert dirty.reasons(fact) == ()
        assert list(dirty.chains(fact)) == []


def test_chains_lead_down_to_seeds_and_the_shortest_come_first() -> None:
    dirty = propagate(
        facts(A, B, C, X, Y, depends_on={X: (A, Y), Y: (B,)}, changed=[A, B], propagation=NO_SCHEMA)
    )
    chains = list(dirty.chains(object_fact(X)))
    assert [[fact.object for fact, _ in chain] for chain in chains] == [[X, A], [X, Y, B]]
    assert all(chain[-1][1].because is None for chain in chains)


def test_chains_say_why_step_by_step() -> None:
    dirty = propagate(facts(A, B, X, depends_on={A: (X,)}, changed=[X]))
    (chain,) = dirty.chains(object_fact(B))
    assert chain == (
        (object_fact(B), Reason("schema", schema_fact("s"))),
        (schema_fact("s"), Reason("schema", object_fact(A))),
        (object_fact(A), Reason("dependency", object_fact(X))),
        (object_fact(X), Reason("changed")),
    )


def test_many_chains_can_be_taken_one_by_one() -> None:
    """Ten layers of two: a thousand chains; the first ones must not wait for the last."""
    layers = [[ObjectName(f"l{depth}", f"o{side}") for side in range(2)] for depth in range(30)]
    depends_on = {
        one: tuple(below) for above, below in zip(layers[1:], layers, strict=False) for one in above
    }
    given_facts = facts(
        *(one for layer in layers for one in layer),
        depends_on=depends_on,
        changed=layers[0],
        propagation=NO_SCHEMA,
    )
    dirty = propagate(given_facts)
    assert len(next(dirty.chains(object_fact(layers[-1][0])))) == 30
    assert len(list(islice(dirty.chains(object_fact(layers[10][0])), 5))) == 5


def test_a_long_chain_is_linear() -> None:
    chain = [ObjectName(f"s{number}", "o") for number in range(4000)]
    depends_on = {one: (other,) for one, other in zip(chain[1:], chain, strict=False)}
    dirty = propagate(facts(*chain, depends_on=depends_on, changed=[chain[0]]))
    assert len(dirty.facts("object")) == 4000
    assert len(next(dirty.chains(object_fact(chain[-1])))) == 4000


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_the_facts_does_not_matter(order: int) -> None:
    dirty = propagate(facts(*[A, B, X, Y][::order], depends_on={X: (A, Y)}, changed=[A, Y][::order]))
    assert objects(dirty) == [A, B, X, Y]
    assert dirty.reasons(object_fact(X)) == (
        Reason("dependency", object_fact(A)),
        Reason("dependency", object_fact(Y)),
    )

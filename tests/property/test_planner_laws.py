"""The laws of STYLE.md, over generated repositories and what became of them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pretend import Pretended
from sketch import ancestors, everything, known, observed, plan, repository, run, write
from worlds import World, histories

from airflow_provider_sparkdeploy.core import deploylog
from airflow_provider_sparkdeploy.core.catalog import Catalog
from airflow_provider_sparkdeploy.core.codec import plan_from_json, plan_to_json
from airflow_provider_sparkdeploy.core.deploylog import Entry, FileLog
from airflow_provider_sparkdeploy.core.fingerprint import repository_fingerprint
from airflow_provider_sparkdeploy.core.names import Node, ObjectName
from airflow_provider_sparkdeploy.core.operations import PHASES, Operation, Plan
from airflow_provider_sparkdeploy.core.planner import Planned, due_objects
from airflow_provider_sparkdeploy.core.records import deployable
from airflow_provider_sparkdeploy.core.repository import Repository, open_repository
from airflow_provider_sparkdeploy.core.state import PutObject, State, fold

SEEDS = st.integers(0, 2**20)
many = settings(max_examples=120)


def built(world: World) -> Repository:
    found = repository(world.files(), world.yaml)
    assert not [item for item in found.problems if item.severity == "error"], found.problems
    return found


def legal(planned: Planned) -> Plan:
    """Its plan; an example that the planner refuses says nothing about the law."""
    assume(not planned.plan.errors)
    return planned.plan


def deployed(world: World) -> tuple[Repository, State]:
    found = built(world)
    legal(plan(found))
    state = everything(found)
    return found, {name: record for name, record in state.items() if deployable(found.objects[name])}


def ran(planned: Planned, state: State, operations: Iterable[Operation]) -> State:
    """The state after a run that got as far as these operations: first it records what nobody
    else would remember."""
    plan = planned.plan
    effects = [
        *plan.notes,
        *due_objects(planned),
        *(effect for item in operations for effect in item.effects),
    ]
    return fold(((effect, "", "") for effect in effects), state)


def some_of(found: Plan, seed: int) -> list[Operation]:
    """What a run got done that was stopped somewhere, in any order that the edges allow, and in
    which some operations failed."""
    random = Random(seed)
    left = list(found.operations)
    random.shuffle(left)
    budget = random.randint(0, len(left))
    failing = random.choice((0, 0, 0.2))
    teardown = sum(operation.phase == "teardown" for operation in left)
    done: dict[str, Operation] = {}
    while len(done) < budget:
        ready = [
            operation
            for operation in left
            if all(need in done for need in operation.depends_on)
            and (operation.phase == "teardown" or teardown == 0)
        ]
        if not ready:
            break
        operation = ready[0]
        left.remove(operation)
        if random.random() >= failing:
            done[operation.id] = operation
            teardown -= operation.phase == "teardown"
    return list(done.values())


@many
@given(histories(1))
def test_planning_from_the_target_is_empty(worlds: list[World]) -> None:
    found, state = deployed(worlds[0])
    after = plan(found, state).plan
    assert (after.operations, after.blocked) == ((), ())
    first = legal(plan(found))
    again = plan(found, run(first)).plan
    assert again.operations == ()


@many
@given(histories(1))
def test_an_agreeing_catalog_changes_nothing(worlds: list[World]) -> None:
    found, state = deployed(worlds[0])
    catalog = observed(state)
    assert plan(found, state, catalog=catalog).plan.operations == ()
    asked = Catalog(catalog.objects, frozenset(catalog.objects))
    assert plan(found, state, catalog=asked).plan.operations == ()


@settings(max_examples=200)
@given(histories(2), SEEDS)
def test_any_part_of_a_plan_and_planning_again_reach_the_target(worlds: list[World], seed: int) -> None:
    _, state = deployed(worlds[0])
    after = built(worlds[1])
    planned = plan(after, state)
    whole = legal(planned)
    target = ran(planned, state, whole.operations)
    state = ran(planned, state, some_of(whole, seed))
    for attempt in range(3):  # stopped again and again
        planned = plan(after, state)
        assert not planned.plan.errors, planned.plan.errors
        state = ran(planned, state, some_of(planned.plan, seed + attempt))
    planned = plan(after, state)
    assert not planned.plan.errors, planned.plan.errors
    state = ran(planned, state, planned.plan.operations)
    assert known(state) == known(target)
    assert plan(after, state).plan.operations == ()


@settings(max_examples=200)
@given(histories(3, plain=True), SEEDS)
def test_a_plan_runs_in_any_order_that_its_edges_allow(worlds: list[World], seed: int) -> None:
    """Also when it is half done and planned again, or the repository changes meanwhile. What is
    there in the end, and what it holds, does not depend on the way there."""
    if seed % 2:
        worlds[2] = worlds[1]
    worlds = [without_replacements(world) for world in worlds]  # they leave others as they were
    catalog, state = Pretended(), {}
    last = len(worlds) - 1
    for number, world in enumerate(worlds):
        found = built(world)
        planned = plan(found, state)
        whole = legal(planned)
        catalog.nameless = nameless(planned)
        catalog.managed = found.settings.materialized_views == "managed"
        chosen = some_of(whole, seed + number) if number < last else whole.operations
        for operation in chosen:
            catalog.run(operation, planned.graph)
        state = ran(planned, state, chosen)
    fresh = Pretended()
    planned = plan(found)
    fresh.nameless = nameless(planned)
    fresh.managed = found.settings.materialized_views == "managed"
    for operation in planned.plan.operations:
        fresh.run(operation, planned.graph)
    assert catalog.shown() == fresh.shown()


def without_replacements(world: World) -> World:
    return replace(world, things=tuple(replace(thing, toggles=()) for thing in world.things))


def nameless(planned: Planned) -> set[ObjectName]:
    found = {name for name, item in planned.repository.objects.items() if item.kind in ("migration", "sink")}
    return found | {name for item in planned.components for name in item.members}


@many
@given(histories(2), SEEDS)
def test_the_plan_does_not_depend_on_the_order_of_files(worlds: list[World], seed: int) -> None:
    _, state = deployed(worlds[0])
    files = list(worlds[1].files().items())
    one = plan(repository(dict(files), worlds[1].yaml), state).plan
    Random(seed).shuffle(files)
    shuffled = dict(sorted(state.items(), key=lambda item: hash((item[0].object, seed))))
    other = plan(repository(dict(files), worlds[1].yaml), shuffled).plan
    assert plan_to_json(one, effects=True) == plan_to_json(other, effects=True)


@many
@given(histories(2))
def test_everything_comes_after_what_it_depends_on(worlds: list[World]) -> None:
    _before, state = deployed(worlds[0])
    planned = plan(built(worlds[1]), state)
    found = legal(planned)
    phases = [PHASES.index(operation.phase) for operation in found.operations]
    assert phases == sorted(phases)
    seen: set[str] = {item.operation.id for item in found.blocked}
    for operation in found.operations:
        assert set(operation.depends_on) <= seen, operation.id
        seen.add(operation.id)
    inside = {name: item.members for item in found.components for name in item.members}
    by_node: dict[Node, list[str]] = {}
    for operation in found.operations:
        if operation.phase == "setup" and operation.index is None:
            by_node.setdefault(node_of(operation, planned), []).append(operation.id)
    for operation in found.operations:
        if operation.phase == "teardown":
            continue
        needed = reached(planned, node_of(operation, planned), inside.get(operation.object, ()))
        wanted = {id for node in needed for id in by_node.get(node, ())}
        assert wanted <= ancestors(found, operation.id), operation.id


def node_of(operation: Operation, planned: Planned) -> Node:
    item = planned.repository.objects[operation.object]
    return Node(
        *operation.object, operation.change if operation.change is not None else item.changes[-1].name
    )


def reached(planned: Planned, start: Node, component: tuple[ObjectName, ...]) -> set[Node]:
    """Everything outside its component that a change needs, directly or not."""
    found: set[Node] = set()
    pending = [start]
    while pending:
        for node in planned.graph.requires[pending.pop()]:
            if node not in found and node != start:
                found.add(node)
                pending.append(node)
    return {node for node in found if node.name not in component}


@many
@given(histories(1, plain=True))
def test_teardown_is_the_reverse_of_how_things_were_built(worlds: list[World]) -> None:
    found = built(worlds[0])
    up = legal(plan(found))
    down = plan(repository({}, worlds[0].yaml), run(up), rollback=True).plan
    assert not down.errors
    assert not run(down, run(up))
    made, gone = places(up), places(down)
    inside = {name: item.members for item in up.components for name in item.members}
    for one, before in made.items():
        for other in before & gone.keys():
            if one in gone and other[0] not in inside.get(one[0], ()):
                assert one in gone[other], f"{other} is gone before {one}"


def places(found: Plan) -> dict[tuple[ObjectName, str | None], set[tuple[ObjectName, str | None]]]:
    """Of everything that is made or undone what must have been before; indexes and sinks apart."""
    at = {item.id: (item.object, item.change) for item in found.operations}
    result: dict[tuple[ObjectName, str | None], set[tuple[ObjectName, str | None]]] = {}
    for item in found.operations:
        if item.index is None and item.phase != "export":
            before = {at[id] for id in ancestors(found, item.id)} - {at[item.id]}
            result.setdefault(at[item.id], set()).update(before)
    return result


@many
@given(histories(2))
def test_replace_and_recreate_end_in_the_same_state(worlds: list[World]) -> None:
    _, state = deployed(worlds[0])
    ends = []
    for strategy in ("replace", "recreate"):
        found = repository(worlds[1].files(), worlds[1].yaml, overrides=[f"redeploy={strategy}"])
        ends.append(known(run(legal(plan(found, state)), state)))
    assert ends[0] == ends[1]


@many
@given(histories(2))
def test_what_is_blocked_stays_blocked_and_changes_nothing_else(worlds: list[World]) -> None:
    """Others are not redeployed for what did not happen."""
    _, state = deployed(worlds[0])
    after = built(worlds[1])
    planned = plan(after, state)
    found = legal(planned)
    state = ran(planned, state, found.operations)
    again = plan(after, state).plan
    assert not again.operations
    assert {item.operation.id for item in again.blocked} <= {item.operation.id for item in found.blocked}


@many
@given(histories(2))
def test_json_round_trips(worlds: list[World]) -> None:
    _, state = deployed(worlds[0])
    found = plan(built(worlds[1]), state).plan
    text = plan_to_json(found, effects=True)
    assert plan_from_json(text) == found
    assert plan_to_json(plan_from_json(text), effects=True) == text


@settings(max_examples=40)
@given(histories(2), SEEDS)
def test_the_log_folds_to_the_same_state_in_one_or_many_appends(worlds: list[World], seed: int) -> None:
    random = Random(seed)
    first = legal(plan(built(worlds[0])))
    state = run(first)
    second = legal(plan(built(worlds[1]), state))
    entries = [
        entry
        for found in (first, second)
        for entry in (
            Entry("noted", "r", effects=found.notes),
            *(Entry("done", "r", operation=item.id, effects=item.effects) for item in found.operations),
        )
    ]
    with tempfile.TemporaryDirectory() as folder:
        one, other = FileLog(Path(folder, "one.jsonl")), FileLog(Path(folder, "many.jsonl"))
        with one:
            one.append(entries)
        while entries:
            cut = random.randint(1, len(entries))
            with other:
                other.append(entries[:cut])
            entries = entries[cut:]
        assert known(one.read().state) == known(other.read().state) == known(run(second, state))


@settings(max_examples=20)
@given(histories(5), SEEDS)
def test_a_warm_plan_is_the_cold_plan(worlds: list[World], seed: int) -> None:
    """Whatever was edited, added, removed or mapped elsewhere since the cache was filled, and also
    where the log was folded before."""
    random = Random(seed)
    _, state = deployed(worlds[0])
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARKDEPLOY_CACHE", f"{folder}/cache")
        patch.setattr(deploylog, "_WORTH_A_SNAPSHOT", 0)
        log, root = FileLog(Path(folder, "log.jsonl")), Path(folder, "repository")
        with log:
            log.append([Entry("noted", "r", effects=tuple(map(PutObject, state.values())))])
        log.read()
        for world in [*worlds, random.choice(worlds)]:
            shutil.rmtree(root, ignore_errors=True)
            write(root, {**world.files(), "sparkdeploy.yaml": world.yaml})
            overrides = random.choice(((), ("unused=1",), ("redeploy=recreate",)))
            warm = open_repository(root, overrides=overrides)
            cold = open_repository(root, overrides=overrides, use_cache=False)
            assert (warm.objects, warm.problems, warm.fingerprint) == (
                cold.objects,
                cold.problems,
                cold.fingerprint,
            )
            assert repository_fingerprint(root, overrides=overrides) == warm.fingerprint
            one, other = plan(warm, log.read().state), plan(cold, state)
            assert plan_to_json(one.plan, effects=True) == plan_to_json(other.plan, effects=True)
            assert (one.graph.order, one.graph.cyclic) == (other.graph.order, other.graph.cyclic)
            assert dict(one.graph.requires) == dict(other.graph.requires)

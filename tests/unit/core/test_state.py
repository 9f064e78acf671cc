"""Effects and the state that they fold to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_sparkdeploy.core.names import ObjectName
from airflow_provider_sparkdeploy.core.objects import Column, TableDef
from airflow_provider_sparkdeploy.core.state import (
    DeployedChange,
    DeployedIndex,
    DeployedObject,
    DropChange,
    DropIndex,
    DropObject,
    Effect,
    PutChange,
    PutIndex,
    PutObject,
    decode_effect,
    decode_object,
    encode_effect,
    encode_object,
    fold,
    subject,
)

T = ObjectName("s", "t")
TABLE = DeployedObject(T, "table", ("s", "t"))
INIT = DeployedChange("init", ("h1",), 1)
MORE = DeployedChange("more", ("h2",), 2)
INDEX = DeployedIndex("i", "h", "CREATE INDEX i ON s.t (a)")


def after(
    *effects: Effect, start: dict[ObjectName, DeployedObject] | None = None
) -> dict[ObjectName, DeployedObject]:
    return fold([(effect, "", "") for effect in effects], start)


def names(state: dict[ObjectName, DeployedObject]) -> list[str]:
    return [change.name for change in state[T].changes]


def test_nothing_gives_nothing() -> None:
    assert after() == {}


def test_the_start_is_not_changed() -> None:
    start = {T: TABLE}
    assert after(DropObject(T), start=start) == {}
    assert start == {T: TABLE}


def test_an_object_keeps_its_changes_and_indexes_when_its_head_is_put_again() -> None:
    state = after(
        PutObject(TABLE), PutChange(T, INIT), PutIndex(T, INDEX), PutObject(replace(TABLE, hash="x"))
    )
    assert state[T] == replace(TABLE, hash="x", changes=(INIT,), indexes=(INDEX,))


def test_an_object_that_brings_changes_and_indexes_replaces_those_that_were_there() -> None:
    other = replace(TABLE, changes=(MORE,), indexes=(replace(INDEX, name="j"),))
    state = after(PutObject(TABLE), PutChange(T, INIT), PutIndex(T, INDEX), PutObject(other))
    assert state[T] == other


@pytest.mark.parametrize("kind", ["view", "data", "migration"])
def test_an_object_of_another_kind_keeps_nothing(kind: str) -> None:
    other = DeployedObject(T, kind, ("s", "t"))  # type: ignore[arg-type]
    state = after(PutObject(TABLE), PutChange(T, INIT), PutIndex(T, INDEX), PutObject(other))
    assert state[T] == other


def test_a_change_is_added_behind_the_others_and_replaced_in_place() -> None:
    state = after(PutObject(TABLE), PutChange(T, INIT), PutChange(T, MORE))
    assert names(state) == ["init", "more"]
    done = replace(INIT, statements=("h1", "h9"), total=2)
    assert after(PutChange(T, done), start=state)[T].changes == (done, MORE)


def test_a_baseline_takes_the_place_of_what_it_stands_for() -> None:
    """Changes are rolled back last first, so their order must stay the order of the file."""
    state = after(
        PutObject(TABLE),
        PutChange(T, DeployedChange("a", ("1",), 1)),
        PutChange(T, DeployedChange("b", ("2",), 1)),
        PutChange(T, DeployedChange("c", ("3",), 1)),
        PutChange(T, DeployedChange("ab", ("12",), 1), replaces=("a", "b")),
    )
    assert names(state) == ["ab", "c"]


def test_the_last_change_takes_its_object_with_it() -> None:
    state = after(PutObject(TABLE), PutChange(T, INIT), PutChange(T, MORE), DropChange(T, "more"))
    assert names(state) == ["init"]
    assert after(DropChange(T, "init"), start=state) == {}


def test_indexes_are_put_replaced_and_dropped_by_name() -> None:
    other = replace(INDEX, name="a")
    state = after(
        PutObject(TABLE), PutIndex(T, INDEX), PutIndex(T, other), PutIndex(T, replace(INDEX, hash="2"))
    )
    assert state[T].indexes == (other, replace(INDEX, hash="2"))
    assert after(DropIndex(T, "i"), start=state)[T].indexes == (other,)


@pytest.mark.parametrize(
    "effect",
    [PutChange(T, INIT), DropChange(T, "init"), PutIndex(T, INDEX), DropIndex(T, "i"), DropObject(T)],
)
def test_effects_on_an_object_that_is_gone_change_nothing(effect: Effect) -> None:
    assert after(effect) == {}


@pytest.mark.parametrize("effect", [DropChange(T, "other"), DropIndex(T, "other")])
def test_dropping_what_is_not_there_changes_nothing(effect: Effect) -> None:
    start = after(PutObject(TABLE), PutChange(T, INIT), PutIndex(T, INDEX))
    assert after(effect, start=start) == start


def test_every_effect_is_idempotent() -> None:
    start = after(PutObject(TABLE), PutChange(T, INIT), PutChange(T, MORE), PutIndex(T, INDEX))
    for effect in (PutObject(TABLE), PutChange(T, MORE), PutChange(T, MORE, ("init",)), DropChange(T, "init"),
                   PutIndex(T, INDEX), DropIndex(T, "i"), DropObject(T)):  # fmt: skip
        once = after(effect, start=start)
        assert after(effect, start=once) == once, effect


def test_when_and_by_which_run_come_from_the_last_effect() -> None:
    state = fold([(PutObject(TABLE), "t1", "r1"), (PutIndex(T, INDEX), "t2", "r2")])
    assert (state[T].at, state[T].run) == ("t2", "r2")


def test_subject() -> None:
    assert {
        subject(effect) for effect in (PutObject(TABLE), PutChange(T, INIT), DropObject(T), DropIndex(T, "i"))
    } == {T}


def test_a_partial_change_is_not_complete() -> None:
    assert not DeployedChange("c", ("a",), 2).complete
    assert DeployedChange("c", ("a", "b"), 2).complete
    assert DeployedChange("c", (), 0).complete


def test_scripted_means_changes() -> None:
    assert not TABLE.scripted
    assert replace(TABLE, changes=(INIT,)).scripted
    assert DeployedObject(T, "migration", ("s", "t")).scripted
    assert not DeployedObject(T, "view", ("s", "t")).scripted


@pytest.mark.parametrize(
    "record",
    [
        TABLE,
        replace(TABLE, comment=""),
        replace(TABLE, comment="x"),
        replace(TABLE, definition=TableDef()),
        replace(
            TABLE,
            definition=TableDef((Column("a", "int", False, "c"),), "parquet", ("a",), (("k", "v"),), "x"),
        ),
        replace(TABLE, lifecycle="external", replacement=True, computes=("a",)),
        replace(TABLE, changes=(INIT, MORE), indexes=(INDEX,), dependencies=(ObjectName("a", "b"),)),
    ],
)
def test_records_come_back(record: DeployedObject) -> None:
    assert decode_object(encode_object(record)) == record


def test_a_name_with_dots_stays_two_parts() -> None:
    odd = ObjectName("a.b", "c.d")
    assert decode_effect(encode_effect(DropObject(odd))) == DropObject(odd)


def test_an_effect_that_is_none_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        decode_effect({"unknown": {"object": ["s", "t"]}})


def test_a_baseline_of_what_was_never_there_is_added_at_the_end() -> None:
    state = after(PutObject(TABLE), PutChange(T, INIT), PutChange(T, MORE, replaces=("older",)))
    assert names(state) == ["init", "more"]


def test_rolling_back_a_change_of_an_object_without_changes_keeps_the_object() -> None:
    assert after(PutObject(TABLE), DropChange(T, "init")) == {T: TABLE}

"""Whether what has to be done fits into what the graph shows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import sketch

from airflow_provider_sparkdeploy.airflow.shown import (
    Shown,
    about_operation,
    as_many_as_fit,
    decode_cycle,
    decode_shown,
    edges,
    encode_cycle,
    encode_shown,
    misfits,
    shown,
    shown_cycles,
    sql_block,
    together,
)
from airflow_provider_sparkdeploy.core.names import ObjectName
from airflow_provider_sparkdeploy.core.operations import Operation, settled_objects
from airflow_provider_sparkdeploy.core.repository import open_repository


def rendered(
    name: str, *needs: str, digest: str = "h", action: str = "create", destructive: bool = False
) -> Shown:
    phase = name.partition(".")[0]
    return Shown(name, phase, action, "a.b", "view", "a", digest, needs, (("changed",),), destructive)  # type: ignore[arg-type]


def actual(
    name: str, *needs: str, digest: str = "h", action: str = "create", destructive: bool = False
) -> Operation:
    phase = name.partition(".")[0]
    return Operation(
        name, phase, action, ObjectName("a", "b"), "view", "SELECT 1", digest,  # type: ignore[arg-type]
        depends_on=needs, destructive=destructive,
    )  # fmt: skip


def test_a_part_of_what_is_shown_fits() -> None:
    shown = [rendered("setup.a"), rendered("setup.b", "setup.a")]
    assert misfits([actual("setup.b")], shown, {"setup.a", "setup.b"}) == ()


def test_what_is_not_shown_does_not_fit() -> None:
    [told] = misfits([actual("setup.b")], [rendered("setup.a")], {"setup.a", "setup.b"})
    assert "setup.b" in told


def test_what_the_run_has_no_task_for_does_not_fit() -> None:
    [told] = misfits([actual("setup.a")], [rendered("setup.a")], set())
    assert "does not have it" in told


def test_another_text_or_action_does_not_fit() -> None:
    shown = [rendered("setup.a")]
    assert "changed since" in misfits([actual("setup.a", digest="other")], shown, {"setup.a"})[0]
    assert "replace" in misfits([actual("setup.a", action="replace")], shown, {"setup.a"})[0]
    assert misfits([actual("setup.a", action="replace")], shown, {"setup.a"}, loose=True) == ()


def test_what_loses_data_must_be_shown_to() -> None:
    assert (
        "lose data" in misfits([actual("setup.a", destructive=True)], [rendered("setup.a")], {"setup.a"})[0]
    )


def test_the_edges_must_imply_the_order() -> None:
    shown = [rendered("setup.a"), rendered("setup.b", "setup.a"), rendered("setup.c", "setup.b")]
    tasks = {"setup.a", "setup.b", "setup.c"}
    assert misfits([actual("setup.a"), actual("setup.c", "setup.a")], shown, tasks) == ()  # through b
    [told] = misfits([actual("setup.c"), actual("setup.a", "setup.c")], shown, tasks)
    assert told == "setup.a must come after setup.c, and the graph of this run does not say so"


def test_a_phase_begins_when_the_one_before_has_ended() -> None:
    shown = [
        rendered("teardown.x"), rendered("teardown.y", "teardown.x"), rendered("setup.a"), rendered("setup.b", "setup.a"),
        rendered("export.e"),
    ]  # fmt: skip
    assert edges(shown) == {
        "teardown.x": (),
        "teardown.y": ("teardown.x",),
        "setup.a": ("teardown.y",),
        "setup.b": ("setup.a",),
        "export.e": ("setup.b",),
    }


def test_very_many_edges_between_phases_go_through_one_task() -> None:
    shown = [rendered(f"{phase}.x{number}") for phase in ("teardown", "setup") for number in range(50)]
    found = edges(shown)
    assert found["setup.x7"] == ("begin-setup",)
    assert len(found["begin-setup"]) == 50
    assert misfits([actual("setup.x7")], shown, {"setup.x7"}) == ()


def test_two_plans_in_one_graph_make_no_circle() -> None:
    first = [rendered("setup.a", "setup.b"), rendered("setup.b")]
    more = [rendered("setup.b", "setup.a"), rendered("setup.a"), rendered("setup.c", "setup.a")]
    found = {item.id: item.depends_on for item in together(first, more)}
    assert found == {"setup.a": ("setup.b",), "setup.b": (), "setup.c": ("setup.a",)}


def test_what_is_kept_reads_back_as_it_was() -> None:
    item = rendered("setup.a", "setup.b", destructive=True)
    assert decode_shown(encode_shown(item)) == item


def test_a_component_is_shown_with_all_its_members_and_why_it_is_not_monotone() -> None:
    files = {
        "s/materialized_view/a.sql": "CREATE MATERIALIZED VIEW s.a (n BIGINT) AS SELECT max(n) AS n FROM s.b;",
        "s/materialized_view/b.sql": "CREATE MATERIALIZED VIEW s.b (n BIGINT) AS SELECT DISTINCT n FROM s.a;",
    }
    made = sketch.plan(sketch.healthy(files, "allow_circular: unsafe\n")).plan
    [fixpoint] = [item for item in made.operations if item.action == "fixpoint"]
    assert shown(fixpoint).settles == ("s.a", "s.b")
    [cycle] = shown_cycles(made)
    assert (cycle.members, cycle.monotone) == (("s.a", "s.b"), False)
    assert any("s.a is in a cycle" in line for line in cycle.why)
    assert decode_cycle(json.loads(json.dumps(encode_cycle(cycle)))) == cycle


def test_whatever_has_operations_is_settled_by_exactly_one_of_them() -> None:
    shop = Path(__file__).parents[3] / "dags_examples" / "repository_shop"
    repository = open_repository(shop, use_cache=False)
    made = sketch.plan(repository).plan
    settled = [name for item in made.operations for name in settled_objects(item)]
    assert sorted(settled) == sorted({item.object for item in made.operations})


def test_what_a_task_shows_is_never_too_long_for_airflow() -> None:
    item = replace(rendered("setup.x"), reads=tuple(f"schema.table_{number}" for number in range(1000)))
    told = about_operation(item)
    assert 50 < len(told["reads"]) < 1000
    assert len(str(told)) < 4_096
    assert as_many_as_fit(["a", "b"]) == ["a", "b"]


def test_back_quotes_in_sql_do_not_end_its_block() -> None:
    assert sql_block("SELECT `a`") == "```sql\nSELECT `a`\n```"
    assert sql_block("SELECT '\n```\n'") == "````sql\nSELECT '\n```\n'\n````"

"""What the page shows, from values: no Airflow, no browser."""

from __future__ import annotations

import base64
import json
import time
import zlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_provider_sparkdeploy.airflow import keeping
from airflow_provider_sparkdeploy.airflow.keeping import View
from airflow_provider_sparkdeploy.airflow.page import kept as reader
from airflow_provider_sparkdeploy.airflow.page.components import components_json
from airflow_provider_sparkdeploy.airflow.page.history import deployment_json, history_json
from airflow_provider_sparkdeploy.airflow.page.objects import object_json, objects_json
from airflow_provider_sparkdeploy.airflow.page.picture import cycles, picture
from airflow_provider_sparkdeploy.airflow.page.plan import operation_json, plan_json
from airflow_provider_sparkdeploy.airflow.page.values import Kept, Log, Run, Step, Task
from airflow_provider_sparkdeploy.airflow.page.why import Causes, difference, texts_around
from airflow_provider_sparkdeploy.airflow.shown import Cycle, about_operation, encode_shown, shown
from airflow_provider_sparkdeploy.core.codec import encode_operation
from airflow_provider_sparkdeploy.core.names import ObjectName, object_name, parse_name
from airflow_provider_sparkdeploy.core.operations import Operation
from airflow_provider_sparkdeploy.core.state import (
    DeployedChange,
    DeployedIndex,
    DeployedObject,
    PutObject,
    Settle,
)

START = datetime(2026, 11, 18, 8, 0, tzinfo=UTC)


def deployed(name: str, kind: str = "view", *reads: str, text: str = "", **more: Any) -> DeployedObject:
    schema, thing = name.split(".")
    return DeployedObject(
        ObjectName(schema, thing), kind, (schema, thing), hash=f"1:{thing}", text=text,  # type: ignore[arg-type]
        dependencies=tuple(object_name(*read.split(".")) for read in reads), at="2026-11-18T07:00:00+00:00",
        run="deploy/earlier", **more,
    )  # fmt: skip


def state(*records: DeployedObject) -> dict[ObjectName, DeployedObject]:
    return {record.name: record for record in records}


def step(name: str, action: str, *reasons: tuple[str, ...], phase: str = "setup", **more: Any) -> Step:
    return Step(f"{phase}.{name}", phase, action, name, more.pop("kind", "view"), reasons=reasons, **more)


CHAIN = (
    step("a.x", "replace", ("changed",)),
    step("a.y", "replace", ("dependency", "a.x")),
    step("b.z", "replace", ("dependency", "a.y"), ("schema", "b")),
)


class TestWhy:
    def test_a_chain_leads_down_to_what_changed(self) -> None:
        [chain] = Causes(CHAIN).chains(CHAIN[2])
        assert [part["name"] for part in chain] == ["a.y", "a.x", "changed"]
        assert Causes(CHAIN).short(CHAIN[2]) == "depends on a.y ← depends on a.x ← changed, and 1 more"
        assert Causes(CHAIN).short(CHAIN[1]) == "depends on a.x ← changed"

    def test_a_schema_leads_to_what_changed_in_it(self) -> None:
        steps = (step("s.a", "replace", ("changed",)), step("s.b", "replace", ("schema", "s")))
        [chain] = Causes(steps).chains(steps[1])
        assert [part["name"] for part in chain] == ["s", "s.a", "changed"]

    def test_a_schema_that_is_dirty_from_outside_leads_there(self) -> None:
        steps = (*CHAIN, step("b.other", "replace", ("schema", "b")))
        [chain] = Causes(steps).chains(steps[3])
        assert [part["name"] for part in chain] == ["b", "b.z", "a.y", "a.x", "changed"]

    def test_a_compute_leads_to_what_changed_on_it(self) -> None:
        steps = (
            step("s.a", "refresh", ("changed",), compute="etl"),
            step("t.b", "refresh", ("compute", "etl"), compute="etl"),
        )
        [chain] = Causes(steps).chains(steps[1])
        assert [part["name"] for part in chain] == ["etl", "s.a", "changed"]

    def test_reasons_that_go_in_circles_end(self) -> None:
        steps = (
            step("s.a", "refresh", ("dependency", "s.b")),
            step("s.b", "refresh", ("dependency", "s.a"), ("drift", "is gone")),
        )
        [chain] = Causes(steps).chains(steps[0])
        assert [part["name"] for part in chain] == ["s.b", "drift: is gone"]

    def test_what_has_nothing_to_run_ends_a_chain(self) -> None:
        [chain] = Causes([CHAIN[1]]).chains(CHAIN[1])
        assert [part["name"] for part in chain] == ["a.x"]

    def test_a_chain_to_what_changed_is_told_before_one_that_ends_nowhere(self) -> None:
        steps = (CHAIN[0], step("c.w", "refresh", ("dependency", "c.unknown"), ("dependency", "a.x")))
        assert Causes(steps).short(steps[1]) == "depends on a.x ← changed, and 1 more"
        assert [chain[0]["name"] for chain in Causes(steps).chains(steps[1])] == ["a.x", "c.unknown"]

    @pytest.mark.parametrize(
        ("operations", "told"),
        [
            ((("setup", "create"),), "new"),
            ((("setup", "create"), ("setup", "load")), "new"),
            ((("teardown", "drop"),), "removed"),
            ((("teardown", "drop"), ("setup", "create")), "changed"),
            ((("setup", "replace"),), "changed"),
            ((("setup", "alter"),), "changed"),
        ],
    )
    def test_what_became_of_a_file(self, operations: tuple[tuple[str, str], ...], told: str) -> None:
        steps = [step("a.x", action, ("changed",), phase=phase) for phase, action in operations]
        steps.append(step("a.y", "replace", ("dependency", "a.x")))
        assert {Causes(steps).short(item) for item in steps[:-1]} == {told}
        assert [link["name"] for link in Causes(steps).chains(steps[-1])[0]] == ["a.x", told]

    def test_a_dropped_column_is_no_removed_table(self) -> None:
        dropped = Step(
            "teardown.a.x.drop_column_c", "teardown", "drop", "a.x", "table", reasons=(("changed",),)
        )
        assert Causes([dropped]).short(dropped) == "changed"

    def test_thousands_of_reasons_are_not_all_told(self) -> None:
        changed = [step(f"s.o{n}", "replace", ("changed",)) for n in range(500)]
        last = step("t.all", "replace", *[("dependency", item.object) for item in changed])
        assert len(Causes([*changed, last]).chains(last)) == 12

    def test_a_long_chain_and_a_dense_plan_are_quick(self) -> None:
        chain = [step("s.o0", "replace", ("changed",))]
        chain += [step(f"s.o{n}", "replace", ("dependency", f"s.o{n - 1}")) for n in range(1, 3000)]
        began = time.monotonic()
        told = plan_json(Kept(), chain)
        assert time.monotonic() - began < 20
        assert told["operations"][1]["why"] == "depends on s.o0 ← changed"
        assert told["operations"][-1]["why"] == "depends on s.o2998 ← … ← s.o0 ← changed"


class TestTexts:
    def test_against_what_is_deployed(self) -> None:
        known = state(deployed("a.x", text="SELECT 1"))
        before, after = texts_around(step("a.x", "replace", sql="ALTER VIEW", after="SELECT 2"), known)
        assert before is not None
        assert difference(before, after) == [("-", "SELECT 1"), ("+", "SELECT 2")]

    def test_a_swapped_query_is_compared_with_the_deployed_one(self) -> None:
        known = state(deployed("a.x", text="CREATE VIEW a.x COMMENT 'AS' AS\nSELECT 1"))
        swapped = step("a.x", "replace", sql="ALTER VIEW `a`.`x` AS\nSELECT 2")
        assert texts_around(swapped, known)[1] == "CREATE VIEW a.x COMMENT 'AS' AS\nSELECT 2"
        replaced = step("a.x", "replace", sql="CREATE OR REPLACE VIEW a.x AS\nSELECT 2")
        assert texts_around(replaced, known)[1] == "CREATE VIEW a.x AS\nSELECT 2"

    def test_a_statement_about_an_object_is_not_its_text(self) -> None:
        known = state(deployed("a.t", "table", text="CREATE TABLE"))
        before, after = texts_around(step("a.t", "alter", sql="ALTER TABLE a.t ADD COLUMNS (x INT)"), known)
        assert before == after == "CREATE TABLE"

    def test_what_a_run_has_put_there_itself_was_not_there_before(self) -> None:
        known = state(deployed("a.x", text="SELECT 2"))
        own = Log(run="deploy/earlier", at="2026-11-18T06:00:00+00:00")
        assert texts_around(step("a.x", "replace", sql="SELECT 2"), known, own)[0] is None
        told = step("a.x", "replace", sql="SELECT 2", before="SELECT 1")
        assert texts_around(told, known, own) == ("SELECT 1", "SELECT 2")
        older = Log(run="deploy/other", at="2026-11-18T06:00:00+00:00")
        assert texts_around(step("a.x", "replace"), known, older)[0] is None
        newer = Log(run="deploy/other", at="2026-11-18T09:00:00+00:00")
        assert texts_around(step("a.x", "replace"), known, newer)[0] == "SELECT 2"

    def test_a_change_and_an_index_are_compared_with_themselves(self) -> None:
        record = deployed(
            "a.t", "table",
            changes=(DeployedChange("init", ("h",), 1, "CREATE"),), indexes=(DeployedIndex("i", "h", "CREATE INDEX"),),
        )  # fmt: skip
        assert texts_around(step("a.t", "run", change="init"), state(record))[0] == "CREATE"
        assert texts_around(step("a.t", "run", change="new"), state(record))[0] == ""
        assert texts_around(step("a.t", "index", index="i"), state(record))[0] == "CREATE INDEX"
        assert texts_around(step("a.t", "drop"), state(record)) == ("CREATE", "")

    def test_equal_texts_have_no_difference_and_far_lines_are_left_out(self) -> None:
        assert difference("a\nb", "a\nb") == []
        old = [str(n) for n in range(40)]
        new = ["first", *old[1:-1], "last"]
        tags = "".join(tag for tag, _ in difference("\n".join(old), "\n".join(new)))
        assert tags == "-+   @   -+"

    def test_huge_texts_are_not_compared(self) -> None:
        assert difference("x" * 150_000, "y" * 150_000) == [("+", "y" * 150_000)]


class TestPicture:
    def test_new_edges_win_and_dropped_objects_stay_to_be_seen(self) -> None:
        known = Kept(state(deployed("a.t", "table"), deployed("a.old", "view", "a.t")))
        steps = (
            step("a.old", "drop", ("changed",), phase="teardown", destructive=True),
            step("a.new", "create", ("changed",), reads=("a.t",)),
        )
        drawn = picture(known, steps, {})
        nodes = {node["id"]: node for node in drawn["nodes"]}
        assert nodes["a.old"]["action"] == "drop"
        assert nodes["a.old"]["destructive"]
        assert nodes["a.new"]["action"] == "create"
        assert nodes["a.t"]["action"] == ""
        assert drawn["edges"] == [["a.t", "a.new"], ["a.t", "a.old"]]

    def test_the_worst_state_of_an_objects_operations_is_shown(self) -> None:
        steps = (step("a.t", "create"), Step("setup.a.t.2", "setup", "alter", "a.t", "table"))
        drawn = picture(Kept(), steps, {"setup.a.t": "done", "setup.a.t.2": "failed"})
        assert drawn["nodes"][0]["state"] == "failed"

    def test_drop_and_create_are_a_recreation(self) -> None:
        steps = (step("a.t", "drop", phase="teardown"), step("a.t", "create"))
        assert picture(Kept(), steps, {})["nodes"][0]["action"] == "recreate"

    def test_cycles_are_found_without_recursion(self) -> None:
        ring = {f"s.o{n}": (f"s.o{(n + 1) % 5000}",) for n in range(5000)}
        [found] = cycles({**ring, "s.alone": ("s.o1", "s.unknown")})
        assert len(found) == 5000

    def test_tables_whose_changes_wait_for_each_other_are_no_component(self) -> None:
        known = Kept(state(deployed("a.t", "table", "a.u"), deployed("a.u", "table", "a.t")))
        assert [node["component"] for node in picture(known, (), {})["nodes"]] == [0, 0]

    def test_names_that_need_quotes_have_their_schema(self) -> None:
        name = "`a b`.`c.d`"
        assert parse_name(name) == ("a b", "c.d")
        assert picture(Kept(), (step(name, "create"),), {})["nodes"][0]["schema"] == "a b"


class TestPlan:
    def test_operations_by_phase_and_schema_with_why(self) -> None:
        steps = (*CHAIN, step("b.gone", "drop", ("changed",), phase="teardown", destructive=True))
        told = plan_json(Kept(known=True), steps)
        assert [item["id"] for item in told["operations"]] == [
            "teardown.b.gone",
            *(item.id for item in CHAIN),
        ]
        assert told["counts"] == {"drop": 1, "replace": 3}
        assert told["destructive"] == 1
        assert told["run"] is None

    def test_the_log_knows_better_than_the_colours_of_tasks(self) -> None:
        log = Log(
            ids=tuple(item.id for item in CHAIN),
            steps=CHAIN,
            entries={"setup.a.x": [{"type": "intent"}, {"type": "done"}], "setup.a.y": [{"type": "intent"}]},
        )
        tasks = {"setup.a.x": Task("", "failed", 2), "setup.a.y": Task("", "running", 1)}
        told = plan_json(Kept(), CHAIN, run=Run("r", "running"), log=log, tasks=tasks)
        assert [item["state"] for item in told["operations"]] == ["done", "running", "waiting"]

    def test_one_operation_in_full(self) -> None:
        log = Log(
            run="deploy/now",
            steps=CHAIN,
            entries={"setup.a.x": [{"type": "failed", "detail": {"error": "<b>no</b>"}}]},
        )
        told = operation_json(CHAIN[0], CHAIN, state(), log=log, task=Task("", "failed", 3))
        assert told["entries"][0]["error"] == "<b>no</b>"
        assert told["tries"] == 3
        assert told["diff"] == []


class TestObjects:
    KEPT = Kept(
        state(
            deployed("a.t", "table", changes=(DeployedChange("init", ("h",), 2, "CREATE"),)),
            deployed("a.v", "view", "a.t", text="CREATE VIEW"),
            deployed("b.w", "view", "a.v", due=True),
        ),
        serial=3,
        known=True,
        drift={"a.v": "was edited"},
    )

    def test_everything_that_is_deployed(self) -> None:
        told = objects_json(self.KEPT, (step("b.w", "replace", ("left",)),))
        rows = {row["name"]: row for row in told["objects"]}
        assert rows["a.v"]["drift"] == "was edited"
        assert rows["a.v"]["run_id"] == "earlier"
        assert (rows["a.v"]["up"], rows["a.v"]["down"]) == (1, 1)
        assert (rows["b.w"]["due"], rows["b.w"]["planned"]) == (True, "replace")

    def test_a_reason_of_the_plan_tells_of_drift_where_nothing_else_does(self) -> None:
        known = Kept(self.KEPT.state)
        told = objects_json(known, (step("a.t", "create", ("drift", "is", "gone")),))
        assert {row["name"]: row["drift"] for row in told["objects"]}["a.t"] == "is gone"

    def test_one_object_with_its_lineage(self) -> None:
        told = object_json(self.KEPT, (), "a.t")
        assert told is not None
        assert [(item["name"], item["far"]) for item in told["down"]] == [("a.v", 1), ("b.w", 2)]
        assert told["up"] == []
        assert told["changes"][0]["total"] == 2

    def test_what_is_not_deployed_is_not_there(self) -> None:
        assert object_json(self.KEPT, (), "a.nothing") is None
        assert object_json(self.KEPT, (), "not a name") is None


def log(run_id: str, *outcomes: tuple[Step, str], **more: Any) -> Log:
    at = START.isoformat()
    later = (START + timedelta(seconds=4)).isoformat()
    entries = {
        item.id: [{"type": "intent", "at": at}, {"type": what, "at": later, "detail": {}}]
        for item, what in outcomes
        if what
    }
    steps = tuple(item for item, _ in outcomes)
    return Log(
        f"deploy/{run_id}", at, ids=tuple(item.id for item in steps), steps=steps, entries=entries, **more
    )


class TestHistory:
    def test_a_failed_run_and_the_one_that_went_on(self) -> None:
        first = log("one", (CHAIN[0], "done"), (CHAIN[1], "failed"), (CHAIN[2], ""))
        second = log("two", (CHAIN[1], "done"), (CHAIN[2], "done"))
        runs = (Run("two", "success", start=START, end=START + timedelta(seconds=30)), Run("one", "failed"))
        told = history_json(runs, {"one": first, "two": second}, {}, more=False)
        assert [(run["planned"], run["done"], run["failed"]) for run in told["runs"]] == [
            (2, 2, 0),
            (3, 1, 1),
        ]
        assert told["runs"][0]["seconds"] == 30
        assert told["runs"][1]["went_on"] == "two"

    def test_how_it_was_resumed(self) -> None:
        found = log("one", (CHAIN[0], "done"))
        found.entries[CHAIN[0].id][-1]["detail"]["saw"] = "the view is there"  # type: ignore[index]
        tasks = {"one": {CHAIN[0].id: Task(CHAIN[0].id, "success", 2)}}
        run = Run("one", "success", cleared=2, replans=1)
        [told] = history_json((run,), {"one": found}, tasks, more=False)["runs"]
        assert told["resumed"] == [
            "Started by itself, because the graph of the run before was stale.",
            "Cleared twice, and gone on with the frozen plan.",
            "Tried more than once: setup.a.x.",
            "setup.a.x: an attempt had been killed; the next one looked: the view is there.",
        ]

    def test_one_deployment_in_full(self) -> None:
        told = deployment_json(
            Run("one", "success"), log("one", (CHAIN[0], "done")), {CHAIN[0].id: Task("", "success", 1, 9.5)}
        )
        [operation] = told["operations"]
        assert (operation["statement_seconds"], operation["seconds"]) == (4.0, 9.5)

    def test_a_run_without_a_plan(self) -> None:
        [told] = history_json((Run("one", "queued"),), {"one": None}, {}, more=True)["runs"]
        assert told["planned"] is None
        assert deployment_json(Run("one", "queued"), None, {})["operations"] == []

    def test_data_counts_as_lost_once_it_is(self) -> None:
        gone = step("a.t", "drop", phase="teardown", destructive=True)
        [told] = history_json((Run("one", "failed"),), {"one": log("one", (gone, ""))}, {}, more=False)[
            "runs"
        ]
        assert (told["destructive"], told["lost"]) == (1, 0)


class TestComponents:
    RING = state(
        deployed("a.x", "materialized_view", "a.y", "a.t"), deployed("a.y", "materialized_view", "a.x"), deployed("a.t", "table"),
    )  # fmt: skip
    FIXPOINT = Step(
        "setup.a.x.fixpoint", "setup", "fixpoint", "a.x", "materialized_view", members=("a.x", "a.y")
    )

    def test_members_and_how_they_were_computed(self) -> None:
        found = log("one", (self.FIXPOINT, "done"))
        detail = found.entries[self.FIXPOINT.id][-1]["detail"]
        detail |= {"iterations": 2, "rows": [{"a.x": 5, "a.y": 2}, {"a.x": 0, "a.y": 0}], "converged": True}
        [told] = components_json(Kept(self.RING, known=True), [found])["components"]
        assert [member["name"] for member in told["members"]] == ["a.x", "a.y"]
        assert told["members"][0]["outside"] == ["a.t"]
        assert told["monotone"] is None
        assert told["computed"][0]["passes"] == [7, 0]

    def test_what_the_plan_knew_is_told(self) -> None:
        known = Kept(self.RING, cycles=(Cycle(("a.x", "a.y"), False, ("max over a.x",)),))
        [told] = components_json(known, [])["components"]
        assert (told["monotone"], told["why"], told["computed"]) == (False, ["max over a.x"], [])

    def test_a_resumed_computation_has_no_passes(self) -> None:
        found = log("one", (self.FIXPOINT, "done"))
        found.entries[self.FIXPOINT.id][-1]["detail"]["saw"] = "all rows were there"  # type: ignore[index]
        [told] = components_json(Kept(self.RING), [found])["components"]
        assert told["computed"][0]["passes"] == []
        assert told["computed"][0]["saw"] == "all rows were there"


def operation(name: str, action: str = "create", **more: Any) -> Operation:
    owner = object_name("a", name)
    record = DeployedObject(
        owner, "view", ("a", name), text=f"CREATE {name}", dependencies=(object_name("a", "t"),)
    )
    return Operation(
        f"setup.a.{name}", "setup", action, owner, "view", f"RUN {name}", "h", reasons=(("changed",),),  # type: ignore[arg-type]
        effects=(PutObject(record), Settle(owner, "d")), **more,
    )  # fmt: skip


class TestKept:
    def test_what_airflow_keeps_is_read_back(self) -> None:
        view = {"v": 1, "operations": [encode_shown(shown(operation("v")))], "active": "r", "problems": []}
        record = replace(deployed("a.t", "table"), run="d/r")
        data = keeping.Recorded(4, {record.name: record})
        looked = replace(data, drift={record.name: "was edited"}, looked="2026-11-18T08:00:00+00:00")
        [found] = reader.shown_steps(view, {"texts": {"setup.a.v": "SELECT"}})
        assert (found.object, found.sql, found.reads) == ("a.v", "SELECT", ("a.t",))
        known = reader.kept(view, data)
        assert (known.serial, known.active, known.drift, known.cycles) == (4, "r", None, None)
        assert known.state[ObjectName("a", "t")].run == "d/r"
        known = reader.kept({**view, "cycles": [[["a.x", "a.y"], 0, ["max over a.x"]]]}, looked)
        assert known.drift == {"a.t": "was edited"}
        assert known.cycles == (Cycle(("a.x", "a.y"), False, ("max over a.x",)),)

    def test_which_of_the_kept_graphs_airflow_shows(self) -> None:
        one, two = (
            {"operations": [encode_shown(shown(operation(name)))], "guess": True} for name in ("v", "w")
        )
        view = {**one, "active": "r", "next": two}
        drawn = (step("a.w", "create"),)
        found, [only] = reader.fitting_view(view, {}, {}, drawn)
        assert (only.object, only.reads, found is two) == ("a.w", ("a.t",), True)
        found, [only] = reader.fitting_view(view, {}, {}, (step("a.x", "create"),))
        assert (only.object, dict(found)) == ("a.x", {"active": "r"})
        assert reader.fitting_view({}, {}, {}, drawn) == ({}, drawn)

    def test_a_repository_that_was_broken_since_is_not_mistaken_for_one_with_nothing_to_do(self) -> None:
        kept = {"fingerprint": "good", "operations": [], "active": ""}
        broken = View("", problems=("a/view/x.sql:1: SD101 wrong",)).about()
        assert reader.fitting_view(kept, {}, {"fingerprint": "good"}, ())[0] is kept
        found = reader.kept(reader.fitting_view(kept, {}, broken, ())[0], None)
        assert found.problems == ("a/view/x.sql:1: SD101 wrong",)

    def test_what_is_said_of_a_graph_is_as_short_as_airflow_wants_it(self) -> None:
        ring = Cycle(tuple(f"s.view_{n}" for n in range(500)))
        said = View("f", problems=tuple(f"problem {n} of many" for n in range(500)), cycles=(ring,)).about()
        assert len(str(said)) < 4_000
        assert said["problems"][0] == "problem 0 of many"
        assert said["cycles"] is None
        assert View("f", cycles=(Cycle(("a.x", "a.y")),)).about()["cycles"] == [[["a.x", "a.y"], 1, []]]

    @pytest.mark.parametrize(
        "text", [None, "", "nonsense", base64.b64encode(zlib.compress(b'{"v":99}')).decode()]
    )
    def test_what_nobody_can_read_is_nothing(self, text: str | None) -> None:
        assert keeping.unpack(text) == ({}, [])
        assert keeping.recorded_of(text) is None
        assert reader.kept({}, None) == Kept()

    def test_a_packed_variable(self) -> None:
        packed = base64.b64encode(zlib.compress(json.dumps({"v": 1, "serial": 2}).encode())).decode()
        assert keeping.unpack(packed)[0]["serial"] == 2

    def test_a_frozen_plan(self) -> None:
        one = operation("v")
        values = {
            "frozen": {"run": "d/r", "ids": [one.id], "at": "now", "environment": "dev"},
            "frozen.7": {one.id: encode_operation(one)},
            "before": {one.id: "CREATE old"},
            f"log.{one.id}": [{"type": "done"}],
            "decision": {"approved": True},
            "return_value": {},
        }
        found = reader.log_of(values)
        assert found is not None
        [only] = found.steps
        assert (only.after, only.before, only.reads) == ("CREATE v", "CREATE old", ("a.t",))
        assert found.entries[one.id] == [{"type": "done"}]
        assert found.decision == {"approved": True}
        assert reader.log_of({}) is None

    def test_what_the_graph_of_airflow_shows(self) -> None:
        about = [about_operation(shown(operation(name, destructive=name == "w"))) for name in ("v", "w")]
        tasks = [
            {"__var": {"task_id": "g.plan", "task_type": "SparkDeployPlanOperator", "about": {"blocked": 2}}},
            {
                "task_id": "g.setup.a.v", "task_type": "SparkDeployOperator", "about": about[0],
                "downstream_task_ids": ["g.setup.a.w", "g.record"], "reasons": [["changed"]], "sql": "SELECT 1",
            },
            {"task_id": "g.setup.a.w", "task_type": "SparkDeployOperator", "about": about[1]},
            {"task_id": "g.setup.a.x", "task_type": "SparkDeployOperator", "about": "Truncated."},
            {"task_id": "mine", "task_type": "BashOperator"},
        ]  # fmt: skip
        found = reader.serialized_tasks({"dag": {"tasks": tasks}})
        assert reader.groups(found) == ("g",)
        first, second, third = reader.drawn_steps(found, "g")
        assert (third.object, third.action) == ("setup.a.x", "run")  # of another version, or very long
        assert reader.drawn_plan(found, "g") == {"blocked": 2}
        assert reader.drawn_plan(found, "") == {}
        assert (first.hash, first.reads) == ("h", ("a.t",))
        assert (first.id, first.action, first.object, first.kind) == ("setup.a.v", "create", "a.v", "view")
        assert (first.destructive, second.destructive) == (False, True)
        assert second.depends_on == ("setup.a.v",)
        assert reader.drawn_steps(found, "") == ()
        assert reader.serialized_tasks(None) == []

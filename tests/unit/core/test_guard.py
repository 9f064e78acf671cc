"""Operations that must not run, and everything that needs them."""

from __future__ import annotations

import pytest
from sketch import everything, healthy, ids, operation, plan, run, step

from airflow_provider_sparkdeploy.core.planner import Planned, due_objects

ICEBERG = "schemas: {s: ice.s}\ncatalogs: {ice: iceberg}\n"
PROTECTED = "//// METADATA lifecycle=protected\n"
EXTERNAL = "//// METADATA lifecycle=external\n"
INIT = "//// CHANGE name=init\nCREATE TABLE s.t (a INT);\n"


def blocked(planned: Planned) -> dict[str, str]:
    return {item.operation.id: item.reason for item in planned.plan.blocked}


# --- protected ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("s/view/x.sql", "CREATE VIEW s.x AS SELECT 1 AS a"),
        ("s/table/x.sql", "CREATE TABLE s.x (a INT)"),
        ("s/materialized_view/x.sql", "CREATE MATERIALIZED VIEW s.x AS SELECT 1 AS a"),
        ("s/function/x.sql", "CREATE FUNCTION s.x() RETURNS INT RETURN 1"),
    ],
)
def test_a_protected_object_is_not_dropped_when_its_file_is_gone(path: str, text: str) -> None:
    planned = step({path: PROTECTED + text}, {})
    assert ids(planned) == []
    assert list(blocked(planned)) == ["teardown.s.x"]
    assert "protected" in blocked(planned)["teardown.s.x"]


def test_a_protected_table_is_not_dropped_by_its_header() -> None:
    planned = step(
        {"s/table/t.sql": PROTECTED + INIT},
        {"s/table/t.sql": "//// METADATA lifecycle=protected DROP_TABLE\n" + INIT},
    )
    assert ids(planned) == []
    assert list(blocked(planned)) == ["teardown.s.t"]


def test_a_protected_table_is_not_narrowed_and_what_needs_that_waits() -> None:
    before = {"s/table/t.sql": PROTECTED + "CREATE TABLE ice.s.t (a INT, b INT)"}
    planned = step(before, {"s/table/t.sql": PROTECTED + "CREATE TABLE ice.s.t (a INT)"}, ICEBERG)
    assert ids(planned) == []
    assert list(blocked(planned)) == ["teardown.s.t.drop_column.b"]


def test_a_protected_table_may_grow() -> None:
    before = {"s/table/t.sql": PROTECTED + "CREATE TABLE s.t (a INT)"}
    planned = step(before, {"s/table/t.sql": PROTECTED + "CREATE TABLE s.t (a INT, b INT)"})
    assert ids(planned) == ["setup.s.t.add_column.b"]
    assert blocked(planned) == {}


def test_a_protected_script_may_run_what_loses_nothing() -> None:
    before = {"s/table/t.sql": PROTECTED + INIT}
    harmless = "//// CHANGE name=b\nALTER TABLE s.t ADD COLUMNS (b INT);\n"
    assert ids(step(before, {"s/table/t.sql": PROTECTED + INIT + harmless})) == ["setup.s.t.b.1"]


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE s.t",
        "ALTER TABLE s.t DROP COLUMN a",
        "TRUNCATE TABLE s.t",
        "CREATE OR REPLACE TABLE s.t (z INT)",
    ],
)
def test_a_protected_script_may_not_run_what_loses_data(statement: str) -> None:
    after = {
        "s/table/t.sql": PROTECTED
        + INIT
        + f"//// CHANGE name=b\n{statement};\n//// CHANGE name=c\nALTER TABLE s.t ADD COLUMNS (c INT);\n"
    }
    planned = step({"s/table/t.sql": PROTECTED + INIT}, after)
    assert ids(planned) == []
    assert set(blocked(planned)) == {"setup.s.t.b.1", "setup.s.t.c.1"}


def test_a_blocked_drop_blocks_its_create_and_everything_that_needs_it() -> None:
    before = {
        "s/table/x.sql": PROTECTED + "CREATE TABLE s.x (a INT)",
        "t/view/v.sql": "CREATE VIEW t.v AS SELECT a FROM s.x",
        "u/view/w.sql": "CREATE VIEW u.w AS SELECT a FROM t.v",
    }
    after = before | {"s/table/x.sql": PROTECTED + "CREATE TABLE s.x (a STRING)"}
    planned = step(before, after)
    assert ids(planned) == []
    assert list(blocked(planned)) == ["teardown.s.x", "setup.s.x", "setup.t.v", "setup.u.w"]
    assert "teardown.s.x" in blocked(planned)["setup.s.x"]
    assert "setup.t.v" in blocked(planned)["setup.u.w"]


def test_what_does_not_need_a_blocked_operation_runs() -> None:
    before = {"s/view/x.sql": PROTECTED + "CREATE VIEW s.x AS SELECT 1 AS a"}
    planned = step(before, {"t/view/y.sql": "CREATE VIEW t.y AS SELECT 1 AS a"})
    assert ids(planned) == ["setup.t.y"]
    assert list(blocked(planned)) == ["teardown.s.x"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("s/sink/x.sql", "INSERT OVERWRITE DIRECTORY '/x' SELECT 1"),
        ("s/table/x.sql", "CREATE TABLE s.x (a INT)"),
        ("s/migration/x.sql", "//// CHANGE name=one\nSET x = 1;\n"),
    ],
)
def test_a_blocked_change_of_kind_does_not_run_the_new_kind(path: str, text: str) -> None:
    """It would be recorded as the new kind, and the protected view would be forgotten."""
    before = {"s/view/x.sql": PROTECTED + "CREATE VIEW s.x AS SELECT 1 AS a"}
    planned = step(before, {path: PROTECTED + text})
    assert ids(planned) == []
    assert "teardown.s.x" in blocked(planned)
    state = run(planned.plan, everything(healthy(before)))
    assert [record.kind for record in state.values()] == ["view"]


def test_a_protected_object_is_replaced_in_place_also_under_recreate() -> None:
    before = {"s/view/x.sql": PROTECTED + "CREATE VIEW s.x AS SELECT 1 AS a"}
    planned = step(
        before, {"s/view/x.sql": PROTECTED + "CREATE VIEW s.x AS SELECT 2 AS a"}, "redeploy: recreate"
    )
    assert [item.action for item in planned.plan.operations] == ["replace"]
    assert blocked(planned) == {}


def test_the_header_of_now_counts_and_for_what_is_gone_the_recorded_one() -> None:
    before = {"s/table/t.sql": PROTECTED + "CREATE TABLE s.t (a INT)"}
    planned = step(before, {"s/table/t.sql": "//// METADATA DROP_TABLE\nCREATE TABLE s.t (a INT)"})
    assert ids(planned) == ["teardown.s.t"], "the author took the protection away"
    noted = plan(
        healthy({"s/table/t.sql": PROTECTED + "CREATE TABLE s.t (a INT)"}),
        everything(healthy({"s/table/t.sql": "CREATE TABLE s.t (a INT)"})),
    )
    state = run(noted.plan, everything(healthy({"s/table/t.sql": "CREATE TABLE s.t (a INT)"})))
    assert list(blocked(plan(healthy({}), state))) == ["teardown.s.t"]


def test_indexes_of_a_protected_table_may_be_rebuilt() -> None:
    text = PROTECTED + "CREATE TABLE s.t (a INT)\n//// INDEX name=i\nCREATE INDEX i ON s.t ({})\n"
    planned = step({"s/table/t.sql": text.format("a")}, {"s/table/t.sql": text.format("a DESC")})
    assert ids(planned) == ["teardown.s.t.i.index", "setup.s.t.i.index"]


def test_a_rollback_does_not_narrow_a_protected_table() -> None:
    change = "//// CHANGE name=b\nALTER TABLE s.t ADD COLUMNS (b INT);\n// ROLLBACK\nALTER TABLE s.t DROP COLUMN b;\n"
    planned = step(
        {"s/table/t.sql": PROTECTED + INIT + change}, {"s/table/t.sql": PROTECTED + INIT}, rollback=True
    )
    assert ids(planned) == []
    assert list(blocked(planned)) == ["teardown.s.t.b.rollback.1"]


# --- external ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "one", "two"),
    [
        ("s/table/x.sql", "CREATE TABLE s.x (a INT)", "CREATE TABLE s.x (b STRING)"),
        ("s/view/x.sql", "CREATE VIEW s.x AS SELECT 1 AS a", "CREATE VIEW s.x AS SELECT 2 AS a"),
        ("s/table/x.sql", "//// CHANGE name=i\nCREATE TABLE s.x (a INT);\n", "//// CHANGE name=i\nCREATE TABLE s.x (a INT);\n//// CHANGE name=j\nDROP TABLE s.x;\n"),
    ],
)  # fmt: skip
def test_an_external_object_is_never_touched(path: str, one: str, two: str) -> None:
    external, changed = {path: EXTERNAL + one}, {path: EXTERNAL + two}
    assert ids(plan(healthy(external))) == []
    assert ids(step(external, changed)) == []
    assert ids(step(external, {})) == []
    assert ids(step(external, external, force_schemas=("s",))) == []
    assert ids(step(external, external, "redeploy: recreate", force_schemas=("s",))) == []


def test_what_depends_on_an_external_object_is_deployed() -> None:
    files = {
        "e/table/x.sql": EXTERNAL + "CREATE TABLE e.x (a INT)",
        "s/view/v.sql": "CREATE VIEW s.v AS SELECT a FROM e.x",
    }
    assert ids(plan(healthy(files))) == ["setup.s.v"]


def test_an_object_that_becomes_external_is_let_go_and_its_removal_touches_nothing() -> None:
    managed = {"s/view/x.sql": "CREATE VIEW s.x AS SELECT 1 AS a"}
    external = {"s/view/x.sql": EXTERNAL + "CREATE VIEW s.x AS SELECT 1 AS a"}
    state = everything(healthy(managed))
    planned = plan(healthy(external), state)
    assert ids(planned) == []
    assert ids(plan(healthy({}), run(planned.plan, state))) == []


def test_an_object_that_becomes_external_and_changes_at_once_is_let_go_too() -> None:
    state = everything(healthy({"s/view/x.sql": "CREATE VIEW s.x AS SELECT 1 AS a"}))
    planned = plan(healthy({"s/view/x.sql": EXTERNAL + "CREATE VIEW s.x AS SELECT 2 AS a"}), state)
    assert ids(planned) == []
    assert ids(plan(healthy({}), run(planned.plan, state))) == [], "it is no longer ours to drop"


# --- on_destructive ----------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["approve", "allow"])
def test_destructive_operations_are_planned_and_marked(policy: str) -> None:
    planned = step({"s/table/t.sql": "CREATE TABLE s.t (a INT)"}, {}, f"on_destructive: {policy}")
    assert ids(planned) == ["teardown.s.t"]
    assert operation(planned, "teardown.s.t").destructive
    assert planned.plan.destructive == planned.plan.operations


def test_destructive_operations_can_be_blocked() -> None:
    before = {
        "s/table/t.sql": "CREATE TABLE s.t (a INT)",
        "u/view/v.sql": "CREATE VIEW u.v AS SELECT a FROM s.t",
    }
    after = before | {"s/table/t.sql": "CREATE TABLE s.t (a STRING)"}
    planned = step(before, after, "on_destructive: block")
    assert ids(planned) == []
    assert list(blocked(planned)) == ["teardown.s.t", "setup.s.t", "setup.u.v"]
    assert "on_destructive" in blocked(planned)["teardown.s.t"]


@pytest.mark.parametrize(
    "path", ["s/view/x.sql", "s/function/x.sql", "s/materialized_view/x.sql", "s/data/x.csv"]
)
def test_dropping_what_can_be_made_again_is_not_destructive(path: str) -> None:
    text = {
        "s/view/x.sql": "CREATE VIEW s.x AS SELECT 1 AS a",
        "s/function/x.sql": "CREATE FUNCTION s.x() RETURNS INT RETURN 1",
        "s/materialized_view/x.sql": "CREATE MATERIALIZED VIEW s.x AS SELECT 1 AS a",
        "s/data/x.csv": "-- //// METADATA keys=k\nk,v\n1,1\n",
    }
    planned = step({path: text[path]}, {}, "on_destructive: block")
    assert ids(planned) == ["teardown.s.x"]


@pytest.mark.parametrize(
    "statement", ["DROP TABLE s.old", "TRUNCATE TABLE s.old", "ALTER TABLE s.old DROP COLUMN a"]
)
def test_a_destructive_statement_of_a_script_is_marked_where_it_stands(statement: str) -> None:
    planned = plan(healthy({"s/migration/m.sql": f"//// CHANGE name=a\n{statement};\nSET x = 1;\n"}))
    assert [item.destructive for item in planned.plan.operations] == [True, False]
    assert {item.phase for item in planned.plan.operations} == {"setup"}, (
        "scripts never move to another phase"
    )


# --- selections --------------------------------------------------------------------------


def test_a_selection_does_not_plan_what_needs_something_that_is_not_deployed() -> None:
    files = {
        "s/view/a.sql": "CREATE VIEW s.a AS SELECT 1 AS x",
        "s/view/b.sql": "CREATE VIEW s.b AS SELECT x FROM s.a",
    }
    planned = plan(healthy(files), {}, select=("s.b",))
    assert ids(planned) == []
    assert "s.a" in blocked(planned)["setup.s.b"]
    assert "not selected" in blocked(planned)["setup.s.b"]


def test_a_selection_plans_what_needs_something_that_is_deployed() -> None:
    files = {"s/view/a.sql": "CREATE VIEW s.a AS SELECT 1 AS x"}
    after = files | {"s/view/b.sql": "CREATE VIEW s.b AS SELECT x FROM s.a"}
    assert ids(step(files, after, select=("s.b",))) == ["setup.s.b"]


def test_a_selection_does_not_plan_what_needs_a_change_that_is_not_deployed() -> None:
    """A bare name means the last change, and that one is not there yet."""
    after = {
        "s/table/t.sql": INIT + "//// CHANGE name=b\nALTER TABLE s.t ADD COLUMNS (b INT);\n",
        "s/view/v.sql": "CREATE VIEW s.v AS SELECT b FROM s.t",
    }
    planned = step({"s/table/t.sql": INIT}, after, select=("s.v",))
    assert ids(planned) == []
    assert "s.t" in blocked(planned)["setup.s.v"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            {"s/table/t.sql": "CREATE TABLE s.t (a INT)"},
            {"s/table/t.sql": "CREATE TABLE s.t (a INT, b INT)"},
        ),
        (
            {"s/data/t.csv": "-- //// METADATA keys=a\na\n1\n"},
            {"s/data/t.csv": "-- //// METADATA keys=a\na,b\n1,1\n"},
        ),
    ],
)
def test_a_selection_does_not_plan_what_names_a_column_that_is_not_deployed(
    before: dict[str, str], after: dict[str, str]
) -> None:
    view = "CREATE VIEW s.v AS SELECT {} FROM s.t"
    planned = step(before, after | {"s/view/v.sql": view.format("a, `B`")}, select=("s.v",))
    assert ids(planned) == []
    assert "column b of s.t" in blocked(planned)["setup.s.v"]
    assert ids(step(before, after | {"s/view/v.sql": view.format("a")}, select=("s.v",))) == ["setup.s.v"]


def test_a_selection_may_rely_on_an_earlier_change_that_is_deployed() -> None:
    after = {
        "s/table/t.sql": INIT + "//// CHANGE name=b\nALTER TABLE s.t ADD COLUMNS (b INT);\n",
        "s/view/v.sql": "//// METADATA dependencies=s.t.init\nCREATE VIEW s.v AS SELECT a FROM s.t",
    }
    assert ids(step({"s/table/t.sql": INIT}, after, select=("s.v",))) == ["setup.s.v"]


def test_a_selection_does_not_drop_what_something_unselected_still_needs() -> None:
    before = {
        "s/view/a.sql": "CREATE VIEW s.a AS SELECT 1 AS x",
        "t/view/b.sql": "CREATE VIEW t.b AS SELECT x FROM s.a",
    }
    planned = step(before, {"t/view/b.sql": "CREATE VIEW t.b AS SELECT 1 AS x"}, select=("s.a",))
    assert ids(planned) == []
    assert "t.b" in blocked(planned)["teardown.s.a"]


def test_a_selection_may_rely_on_external_objects() -> None:
    files = {
        "e/table/x.sql": EXTERNAL + "CREATE TABLE e.x (a INT)",
        "s/view/v.sql": "CREATE VIEW s.v AS SELECT a FROM e.x",
    }
    assert ids(plan(healthy(files), {}, select=("s.v",))) == ["setup.s.v"]


def test_what_a_selection_leaves_dirty_is_said() -> None:
    files = {
        "s/view/a.sql": "CREATE VIEW s.a AS SELECT 1 AS x",
        "t/view/b.sql": "CREATE VIEW t.b AS SELECT x FROM s.a",
    }
    planned = step(files, files | {"s/view/a.sql": "CREATE VIEW s.a AS SELECT 2 AS x"}, select=("s.a",))
    assert ids(planned) == ["setup.s.a"]
    (warning,) = planned.plan.warnings
    assert warning.code == "SD503"
    assert "t.b" in warning.message


def left_behind(planned: Planned) -> str:
    (warning,) = planned.plan.warnings
    assert warning.code == "SD503"
    return warning.message.rpartition(": ")[2]


def test_a_dirty_table_is_not_left_behind() -> None:
    """Nothing would be done to it, whether it is scripted or declared."""
    files = {
        "s/table/script.sql": "//// CHANGE name=init\nCREATE TABLE s.script (x INT)",
        "s/table/declared.sql": "CREATE TABLE s.declared (x INT)",
        "s/view/a.sql": "CREATE VIEW s.a AS SELECT 1 AS x",
    }
    planned = step(files, files | {"s/view/a.sql": "CREATE VIEW s.a AS SELECT 2 AS x"}, select=("s.a",))
    assert ids(planned) == ["setup.s.a"]
    assert planned.plan.dirty["objects"] == ("s.a", "s.declared", "s.script")
    assert not planned.plan.warnings


def test_what_a_selection_leaves_changed_is_said_though_no_rule_leads_to_it() -> None:
    script = "//// CHANGE name=init\nCREATE TABLE s.script (x INT);\n"
    data = "//// METADATA keys=x\nx\n1\n"
    index = "CREATE TABLE s.indexed (x INT);\n//// INDEX name=i\nCREATE INDEX i ON s.indexed (x)"
    before = {
        "s/view/a.sql": "CREATE VIEW s.a AS SELECT 1 AS x",
        "s/view/same.sql": "CREATE VIEW s.same AS SELECT 1 AS x",
        "s/view/gone.sql": "CREATE VIEW s.gone AS SELECT 1 AS x",
        "s/table/script.sql": script,
        "s/table/indexed.sql": index,
        "s/table/remark.sql": "CREATE TABLE s.remark (x INT)",
        "s/view/others.sql": "//// METADATA lifecycle=external\nCREATE VIEW s.others AS SELECT 1 AS x",
        "s/view/off.sql": "//// METADATA INACTIVE\nCREATE VIEW s.off AS SELECT 1 AS x",
        "s/data/d.csv": data,
    }
    after = {
        path: text.replace("1 AS x", "2 AS x") for path, text in before.items() if "gone" not in path
    } | {
        "s/view/same.sql": before["s/view/same.sql"],
        "s/view/new.sql": "CREATE VIEW s.new AS SELECT 1 AS x",
        "s/table/script.sql": script + "//// CHANGE name=more\nALTER TABLE s.script ADD COLUMNS (y INT);\n",
        "s/table/indexed.sql": index.replace("(x)", "(X, x)"),
        "s/table/remark.sql": "//// METADATA comment=why\nCREATE TABLE s.remark (x INT)",
        "s/data/d.csv": data + "2\n",
    }
    off = "propagation: {schema: false, compute: false}"
    planned = step(before, after, off, select=("same",))
    assert ids(planned) == []
    assert left_behind(planned) == "s.a, s.d, s.gone, s.indexed, s.new, s.remark, s.script"
    assert left_behind(step(before, after, off, exclude=("gone", "new"))) == "s.gone, s.new"
    assert step(before, before, off, select=("same",)).plan.warnings == ()


def test_a_changed_member_of_a_cycle_that_is_not_selected_is_said() -> None:
    files = {
        "s/materialized_view/a.sql": "CREATE MATERIALIZED VIEW s.a (x INT) AS SELECT x FROM s.b UNION SELECT 1 AS x",
        "s/materialized_view/b.sql": "CREATE MATERIALIZED VIEW s.b (x INT) AS SELECT x FROM s.a UNION SELECT 2 AS x",
    }
    changed = files | {
        "s/materialized_view/b.sql": files["s/materialized_view/b.sql"].replace("2 AS", "3 AS")
    }
    settings = "allow_circular: true\npropagation: {schema: false, compute: false}"
    planned = step(files, changed, settings, select=("s.a",))
    assert (ids(planned), left_behind(planned)) == ([], "s.b")
    assert step(files, changed, settings, select=("s.a", "s.b")).plan.warnings == ()
    assert step(files, changed, settings, select=("s.b",)).plan.warnings == (), "a is computed with it"


@pytest.mark.parametrize("select", ["s.a", "s.b"])
def test_one_member_of_a_component_that_is_not_deployed_cannot_be_computed_alone(select: str) -> None:
    files = {
        "s/materialized_view/a.sql": "CREATE MATERIALIZED VIEW s.a (x INT) AS SELECT x FROM s.b UNION SELECT 1 AS x",
        "s/materialized_view/b.sql": "CREATE MATERIALIZED VIEW s.b (x INT) AS SELECT x FROM s.a UNION SELECT 2 AS x",
    }
    planned = plan(healthy(files, "allow_circular: true"), {}, select=(select,))
    assert ids(planned) == []
    assert set(blocked(planned)) == {f"setup.{select}", "setup.s.a.fixpoint"}


def test_a_blocked_operation_is_in_the_plan_with_its_reason_and_not_among_the_operations() -> None:
    planned = step({"s/view/x.sql": PROTECTED + "CREATE VIEW s.x AS SELECT 1 AS a"}, {})
    (item,) = planned.plan.blocked
    assert item.operation.sql == "DROP VIEW IF EXISTS `s`.`x`"
    assert item.reason
    assert planned.plan.operations == ()


def test_a_component_of_three_needs_every_member() -> None:
    """Not only those that the first one reads."""
    circle = {"a": "b", "b": "c", "c": "a"}
    files = {
        f"s/materialized_view/{one}.sql": f"CREATE MATERIALIZED VIEW s.{one} (x INT) AS SELECT x FROM s.{other} UNION SELECT 1 AS x"
        for one, other in circle.items()
    }
    found = healthy(files, "allow_circular: true")
    state = {key: record for key, record in everything(found).items() if key.object == "b"}
    planned = plan(found, state, select=("s.a",))
    assert ids(planned) == []
    assert "s.c" in blocked(planned)["setup.s.a.fixpoint"]


# --- what is held back is no reason for others --------------------------------------------

NEIGHBOURS = {
    "s/view/near.sql": "CREATE VIEW ice.s.near AS SELECT 1 AS a",
    "s/view/reader.sql": "CREATE VIEW ice.s.reader AS SELECT a FROM ice.s.t",
    "r/view/far.sql": "//// METADATA compute=etl\nCREATE VIEW r.far AS SELECT 1 AS a",
}
WIDE = {"s/table/t.sql": "//// METADATA lifecycle=protected compute=etl\nCREATE TABLE ice.s.t (a INT, b INT)"}
NARROW = {"s/table/t.sql": WIDE["s/table/t.sql"].replace(", b INT", "")}


def test_others_are_not_redeployed_for_a_change_that_is_blocked() -> None:
    planned = step(NEIGHBOURS | WIDE, NEIGHBOURS | NARROW, ICEBERG)
    assert ids(planned) == []
    assert list(blocked(planned)) == ["teardown.s.t.drop_column.b"]
    assert planned.plan.dirty["objects"] == ("r.far", "s.near", "s.reader", "s.t")  # by the rules
    assert due_objects(planned) == ()


def test_what_needs_it_is_blocked_with_it() -> None:
    other = {"s/table/t.sql": NARROW["s/table/t.sql"].replace("a INT", "a INT, c INT")}
    planned = step(NEIGHBOURS | WIDE, NEIGHBOURS | other, ICEBERG)
    assert ids(planned) == []
    assert list(blocked(planned)) == [
        "teardown.s.t.drop_column.b",
        "setup.s.t.add_column.c",
        "setup.s.reader",
    ]


def test_what_may_run_of_a_change_is_a_reason_and_what_is_left_of_it_is_none() -> None:
    scripted = "//// METADATA lifecycle=protected\n//// CHANGE name=init\nCREATE TABLE ice.s.t (a INT);\n"
    more = "//// CHANGE name=fill\nINSERT INTO ice.s.t VALUES (1);\n//// CHANGE name=purge\nTRUNCATE TABLE ice.s.t;\n"
    before = everything(healthy(NEIGHBOURS | {"s/table/t.sql": scripted}, ICEBERG))
    after = healthy(NEIGHBOURS | {"s/table/t.sql": scripted + more}, ICEBERG)
    first = plan(after, before)
    assert ids(first) == ["setup.s.near", "setup.s.t.fill.1"]
    assert list(blocked(first)) == ["setup.s.t.purge.1", "setup.s.reader"]
    again = plan(after, run(first.plan, before))
    assert ids(again) == []
    assert list(blocked(again)) == ["setup.s.t.purge.1", "setup.s.reader"]


def test_another_change_is_still_a_reason() -> None:
    changed = {"s/view/near.sql": "CREATE VIEW ice.s.near AS SELECT 2 AS a"}
    planned = step(NEIGHBOURS | WIDE, NEIGHBOURS | NARROW | changed, ICEBERG)
    assert ids(planned) == ["setup.s.near", "setup.s.reader"]
    assert operation(planned, "setup.s.reader").reasons == (
        ("dependency", "s.t"),
        ("schema", "s"),
    )
    assert list(blocked(planned)) == ["teardown.s.t.drop_column.b"]

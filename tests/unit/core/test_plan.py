"""Operations and their order: phases, edges, strategies, components."""

from __future__ import annotations

import pytest
from sketch import (
    Files,
    ancestors,
    codes,
    deploy,
    everything,
    healthy,
    ids,
    name,
    operation,
    plan,
    repository,
    run,
    step,
)

from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError
from airflow_provider_sparkdeploy.core.drafts import Header
from airflow_provider_sparkdeploy.core.operations import operation_id
from airflow_provider_sparkdeploy.core.planner import Planned, due_objects
from airflow_provider_sparkdeploy.core.refresh import make_refresh
from airflow_provider_sparkdeploy.core.repository import Repository
from airflow_provider_sparkdeploy.core.state import State, apply_effect
from airflow_provider_sparkdeploy.core.viewheader import header_changes

QUIET = "propagation: {schema: false}\n"
ICEBERG = "schemas: {s: ice.s}\ncatalogs: {ice: iceberg}\n"


def view(schema: str, object: str, query: str) -> dict[str, str]:
    return {f"{schema}/view/{object}.sql": f"CREATE VIEW {schema}.{object} AS {query}"}


def comes_after(planned: Planned, later: str, earlier: str) -> bool:
    return earlier in ancestors(planned.plan, later) and ids(planned).index(earlier) < ids(planned).index(
        later
    )


# --- setup -------------------------------------------------------------------------------


def test_a_change_of_three_statements_is_three_operations_in_a_row() -> None:
    text = "//// CHANGE name=init\nCREATE TABLE s.t (a INT);\nINSERT INTO s.t VALUES (1);\nALTER TABLE s.t ADD COLUMNS (b INT);\n"
    planned = plan(healthy({"s/table/t.sql": text}))
    assert ids(planned) == ["setup.s.t.init.1", "setup.s.t.init.2", "setup.s.t.init.3"]
    assert [item.statement for item in planned.plan.operations] == [1, 2, 3]
    assert [item.action for item in planned.plan.operations] == ["create", "run", "alter"]
    assert [item.depends_on for item in planned.plan.operations] == [
        (),
        ("setup.s.t.init.1",),
        ("setup.s.t.init.2",),
    ]
    assert {item.change for item in planned.plan.operations} == {"init"}


def test_the_authors_text_is_what_is_executed() -> None:
    text = "CREATE VIEW s.v AS\n  SELECT nvl(a, 1) AS  x -- keep\n  FROM s.t /* me */ WHERE a <> ';'"
    files = {"s/view/v.sql": text + ";\n", "s/table/t.sql": "CREATE TABLE s.t (a INT)"}
    assert operation(plan(healthy(files)), "setup.s.v").sql == text


def test_setup_follows_the_dependencies() -> None:
    files = {
        **view("s", "a", "SELECT * FROM s.z"),
        **view("s", "z", "SELECT * FROM t.m"),
        **view("t", "m", "SELECT 1 AS x"),
    }
    planned = plan(healthy(files))
    assert ids(planned) == ["setup.t.m", "setup.s.z", "setup.s.a"]
    assert operation(planned, "setup.s.a").depends_on == ("setup.s.z",)


def test_equals_come_by_name() -> None:
    files = {
        **view("b", "x", "SELECT 1 AS a"),
        **view("a", "y", "SELECT 1 AS a"),
        **view("a", "x", "SELECT 1 AS a"),
    }
    assert ids(plan(healthy(files))) == ["setup.a.x", "setup.a.y", "setup.b.x"]


def test_the_order_through_an_unchanged_object_is_kept() -> None:
    """a <- keep <- c: keep is a replacement, so nothing happens to it, and c still waits."""
    keep = {"k/view/keep.sql": "CREATE VIEW k.keep AS SELECT * FROM a.a"}
    before = {**view("a", "a", "SELECT 1 AS x"), **keep, **view("c", "c", "SELECT x FROM k.keep")}
    after = {
        "a/view/a.sql": "//// METADATA replacement=true\nCREATE VIEW a.a AS SELECT 2 AS x",
        **keep,
        **view("c", "c", "SELECT x + 1 AS y FROM k.keep"),
    }
    planned = step(before, after)
    assert ids(planned) == ["setup.a.a", "setup.c.c"]
    assert operation(planned, "setup.c.c").depends_on == ("setup.a.a",)


def test_every_operation_of_an_object_waits_for_what_the_object_needs() -> None:
    files = {
        "s/table/a.sql": "//// CHANGE name=init\nCREATE TABLE s.a (x INT);\nINSERT INTO s.a VALUES (1);\n",
        "s/table/b.sql": "//// CHANGE name=init\nCREATE TABLE s.b (x INT);\nINSERT INTO s.b SELECT x FROM s.a;\nALTER TABLE s.b ADD COLUMNS (y INT);\n",
    }
    planned = plan(healthy(files))
    for number in (1, 2, 3):
        assert "setup.s.a.init.2" in operation(planned, f"setup.s.b.init.{number}").depends_on


def test_a_bare_name_means_the_last_change_and_object_change_interleaves() -> None:
    files = {
        "s/table/a.sql": "//// CHANGE name=one\nCREATE TABLE s.a (x INT);\n//// CHANGE name=two dependencies=s.b.one\nALTER TABLE s.a ADD COLUMNS (y INT);\n",
        "s/table/b.sql": "//// CHANGE name=one dependencies=s.a.one\nCREATE TABLE s.b (x INT);\n",
        **view("s", "v", "SELECT * FROM s.a"),
    }
    planned = plan(healthy(files))
    assert ids(planned) == ["setup.s.a.one.1", "setup.s.b.one.1", "setup.s.a.two.1", "setup.s.v"]
    assert operation(planned, "setup.s.v").depends_on == ("setup.s.a.two.1",)


def test_comments_and_indexes_come_behind_the_object_and_nobody_waits_for_an_index() -> None:
    files = {
        "s/table/t.sql": "//// METADATA comment=hi\nCREATE TABLE s.t (a INT)\n//// INDEX name=by_a compute=etl\nCREATE INDEX by_a ON s.t (a)\n",
        **view("s", "v", "SELECT a FROM s.t"),
    }
    planned = plan(healthy(files))
    assert set(ids(planned)) == {"setup.s.t", "setup.s.t.comment", "setup.s.t.by_a.index", "setup.s.v"}
    assert operation(planned, "setup.s.t.comment").depends_on == ("setup.s.t",)
    assert comes_after(planned, "setup.s.t.by_a.index", "setup.s.t")
    assert "setup.s.t.by_a.index" not in ancestors(planned.plan, "setup.s.v")
    index = operation(planned, "setup.s.t.by_a.index")
    assert (index.action, index.compute, index.kind) == ("index", "etl", "table")


def test_a_compute_is_the_statements_own_or_its_objects() -> None:
    files = {
        "s/table/t.sql": "//// METADATA compute=Big\n//// CHANGE name=a\nCREATE TABLE s.t (a INT);\n//// CHANGE name=b compute=small\nALTER TABLE s.t ADD COLUMNS (b INT);\n",
        "s/view/v.sql": "CREATE VIEW s.v AS SELECT 1 AS a",
    }
    planned = plan(healthy(files))
    found = {item.id: item.compute for item in planned.plan.operations}
    assert found == {"setup.s.t.a.1": "big", "setup.s.t.b.1": "small", "setup.s.v": None}


def test_data_is_created_then_loaded_then_commented() -> None:
    files = {"s/data/d.csv": "-- //// METADATA keys=k comment=hi\nk,v\n1,2\n"}
    planned = plan(healthy(files))
    assert ids(planned) == ["setup.s.d.create", "setup.s.d.load", "setup.s.d.comment"]
    assert [item.action for item in planned.plan.operations] == ["create", "load", "alter"]


# --- teardown ----------------------------------------------------------------------------


def test_drops_run_in_the_reverse_order_of_the_deployed_dependencies() -> None:
    before = {
        **view("s", "a", "SELECT 1 AS x"),
        **view("s", "b", "SELECT x FROM s.a"),
        **view("t", "c", "SELECT x FROM s.b"),
    }
    planned = step(before, {})
    assert ids(planned) == ["teardown.t.c", "teardown.s.b", "teardown.s.a"]
    assert operation(planned, "teardown.s.a").depends_on == ("teardown.s.b",)


def test_teardown_does_not_follow_the_new_dependencies() -> None:
    """b depended on a; in the new repository a depends on b, and both change their kind."""
    before = {**view("s", "a", "SELECT 1 AS x"), **view("s", "b", "SELECT x FROM s.a")}
    after = {
        "s/materialized_view/a.sql": "CREATE MATERIALIZED VIEW s.a AS SELECT x FROM s.b",
        "s/materialized_view/b.sql": "CREATE MATERIALIZED VIEW s.b AS SELECT 1 AS x",
    }
    planned = step(before, after)
    assert ids(planned) == ["teardown.s.b", "teardown.s.a", "setup.s.b", "setup.s.a"]
    assert operation(planned, "teardown.s.a").depends_on == ("teardown.s.b",)


def test_teardown_order_through_an_unchanged_object_is_kept() -> None:
    keep = {"k/view/keep.sql": "//// METADATA INACTIVE\nCREATE VIEW k.keep AS SELECT * FROM a.a"}
    before = {
        **view("a", "a", "SELECT 1 AS x"),
        **view("k", "keep", "SELECT * FROM a.a"),
        **view("c", "c", "SELECT x FROM k.keep"),
    }
    planned = step(before, keep)
    assert ids(planned) == ["teardown.c.c", "teardown.a.a"]
    assert operation(planned, "teardown.a.a").depends_on == ("teardown.c.c",)


def test_two_column_drops_both_wait_for_the_drop_of_the_view() -> None:
    before = {
        "s/table/t.sql": "CREATE TABLE ice.s.t (a INT, b INT, c INT)",
        "s/view/v.sql": "CREATE VIEW ice.s.v AS SELECT a, b, c FROM ice.s.t",
    }
    after = {"s/table/t.sql": "CREATE TABLE ice.s.t (a INT)"}
    planned = step(before, after, ICEBERG)
    assert ids(planned) == ["teardown.s.v", "teardown.s.t.drop_column.b", "teardown.s.t.drop_column.c"]
    for column in "bc":
        assert "teardown.s.v" in operation(planned, f"teardown.s.t.drop_column.{column}").depends_on


def test_a_deletion_alone_is_a_plan() -> None:
    both = {**view("s", "a", "SELECT 1 AS x"), **view("s", "b", "SELECT 2 AS x")}
    planned = step(both, view("s", "a", "SELECT 1 AS x"))
    assert "teardown.s.b" in ids(planned)
    assert planned.plan.dirty["objects"] == ("s.a", "s.b"), "the survivors of its schema are propagated to"


def test_a_removed_object_makes_its_dependents_dirty() -> None:
    before = {**view("s", "a", "SELECT 1 AS x"), **view("t", "b", "SELECT x FROM s.a")}
    after = view("t", "b", "SELECT 1 AS x")
    planned = step(before, after)
    assert ids(planned) == ["teardown.s.a", "setup.t.b"]
    assert ("dependency", "s.a") in operation(planned, "setup.t.b").reasons


def test_what_is_dropped_and_made_again_is_dropped_first() -> None:
    before = view("s", "x", "SELECT 1 AS a")
    planned = step(before, {"s/table/x.sql": "CREATE TABLE s.x (a INT)"})
    assert operation(planned, "setup.s.x").depends_on == ("teardown.s.x",)


def test_every_teardown_comes_before_every_setup_and_exports_last() -> None:
    sink = {"a/sink/out.sql": "INSERT OVERWRITE DIRECTORY '/x' SELECT * FROM z.new;\nSELECT 2;\n"}
    planned = step(view("z", "old", "SELECT 1 AS a"), {**sink, **view("z", "new", "SELECT 1 AS a")})
    assert [item.phase for item in planned.plan.operations] == ["teardown", "setup", "export", "export"]
    assert operation(planned, "export.a.out.1").depends_on == ("setup.z.new",)
    assert operation(planned, "export.a.out.2").depends_on == ("export.a.out.1", "setup.z.new")


def test_an_edited_sink_is_run() -> None:
    before = {"s/sink/out.sql": "INSERT OVERWRITE DIRECTORY '/x' SELECT 1"}
    after = {"s/sink/out.sql": "INSERT OVERWRITE DIRECTORY '/x' SELECT 2"}
    planned = step(before, after)
    assert ids(planned) == ["export.s.out.1"]
    assert ids(plan(healthy(after), run(planned.plan, everything(healthy(before))))) == []


def test_a_sink_runs_when_what_it_reads_is_redeployed() -> None:
    sink = {"s/sink/out.sql": "INSERT OVERWRITE DIRECTORY '/x' SELECT * FROM t.v"}
    planned = step({**sink, **view("t", "v", "SELECT 1 AS a")}, {**sink, **view("t", "v", "SELECT 2 AS a")})
    assert ids(planned) == ["setup.t.v", "export.s.out.1"]


# --- reasons -----------------------------------------------------------------------------


def test_every_operation_says_why() -> None:
    before = {
        **view("s", "a", "SELECT 1 AS x"),
        **view("s", "b", "SELECT 2 AS x"),
        **view("t", "c", "SELECT x FROM s.a"),
    }
    after = before | view("s", "a", "SELECT 3 AS x")
    planned = step(before, after)
    assert {item.id: item.reasons for item in planned.plan.operations} == {
        "setup.s.a": (("changed",),),
        "setup.s.b": (("schema", "s"),),
        "setup.t.c": (("dependency", "s.a"),),
    }


def test_a_forced_schema_is_a_reason() -> None:
    files = {**view("s", "a", "SELECT 1 AS x"), **view("t", "b", "SELECT x FROM s.a")}
    planned = step(files, files, force_schemas=("S",))
    assert operation(planned, "setup.s.a").reasons == (("forced",), ("schema", "s"))
    assert operation(planned, "setup.t.b").reasons == (("dependency", "s.a"),)


def test_a_compute_is_a_reason() -> None:
    files = {
        f"{schema}/view/v.sql": f"//// METADATA compute=etl\nCREATE VIEW {schema}.v AS SELECT 1 AS a"
        for schema in "st"
    }
    after = files | {"s/view/v.sql": "//// METADATA compute=etl\nCREATE VIEW s.v AS SELECT 2 AS a"}
    planned = step(files, after)
    assert operation(planned, "setup.t.v").reasons == (("compute", "etl"),)


def test_an_unknown_forced_schema_is_an_error_with_a_suggestion() -> None:
    from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError

    with pytest.raises(SparkDeployError) as caught:
        plan(healthy(view("sales", "a", "SELECT 1 AS x")), {}, force_schemas=("slaes", "z"))
    assert [item.code for item in caught.value.diagnostics] == ["SD502", "SD502"]
    assert all("sales" in item.advice for item in caught.value.diagnostics)


# --- dirty and stateful ------------------------------------------------------------------


def test_a_dirty_stateful_object_gets_nothing_but_its_pending_changes() -> None:
    script = "//// CHANGE name=init\nCREATE TABLE s.t (a INT);\n"
    before = {
        "s/table/t.sql": script,
        "s/table/d.sql": "CREATE TABLE s.d (a INT)",
        **view("s", "v", "SELECT 1 AS a"),
    }
    planned = step(before, before | view("s", "v", "SELECT 2 AS a"))
    assert planned.plan.dirty["objects"] == ("s.d", "s.t", "s.v")
    assert ids(planned) == ["setup.s.v"]


def test_a_changed_table_redeploys_the_views_over_it() -> None:
    before = {"s/table/t.sql": "CREATE TABLE s.t (a INT)", **view("u", "v", "SELECT a FROM s.t")}
    planned = step(before, before | {"s/table/t.sql": "CREATE TABLE s.t (a INT, b INT)"})
    assert ids(planned) == ["setup.s.t.add_column.b", "setup.u.v"]


# --- replace and recreate ----------------------------------------------------------------


def test_replace_swaps_the_query_where_only_the_query_changed() -> None:
    planned = step(view("s", "v", "SELECT 1 AS a"), view("s", "v", "SELECT\n  2 AS a -- two"))
    (item,) = planned.plan.operations
    assert (item.action, item.sql) == ("replace", "ALTER VIEW `s`.`v` AS\nSELECT\n  2 AS a")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("CREATE VIEW s.v AS SELECT 1 AS a", "CREATE VIEW s.v (b) AS SELECT 1 AS a"),
        ("CREATE VIEW s.v (b) AS SELECT 1 AS a", "CREATE VIEW s.v (b) AS SELECT 2 AS a"),
        ("CREATE VIEW s.v (b) AS SELECT 1 AS a", "CREATE VIEW s.v AS SELECT 1 AS a"),
        (
            "CREATE VIEW s.v WITH SCHEMA BINDING AS SELECT 1 AS a",
            "CREATE VIEW s.v AS SELECT 1 AS a",
        ),  # what the server takes then is its own affair
        ("CREATE VIEW s.v AS SELECT 1 AS a", "CREATE VIEW s.v DEFAULT COLLATION UNICODE AS SELECT 1 AS a"),
    ],
)
def test_replace_makes_the_whole_view_anew_where_no_alteration_leads_there(before: str, after: str) -> None:
    planned = step({"s/view/v.sql": before}, {"s/view/v.sql": after})
    (item,) = planned.plan.operations
    assert item.sql == after.replace("CREATE VIEW", "CREATE OR REPLACE VIEW")


@pytest.mark.parametrize(
    ("before", "after", "alterations"),
    [
        ("", "COMMENT 'it\\'s'", ["SET TBLPROPERTIES ('comment' = 'it\\'s')"]),
        ("COMMENT 'x'", "", ["UNSET TBLPROPERTIES IF EXISTS ('comment')"]),
        (
            "COMMENT 'x' TBLPROPERTIES ('a' = '1', b.c = 2, 'd' = '3')",
            "TBLPROPERTIES (b.c = 2, 'd' = '4') COMMENT 'y'",
            ["SET TBLPROPERTIES ('d' = '4', 'comment' = 'y')", "UNSET TBLPROPERTIES IF EXISTS ('a')"],
        ),
        ("WITH SCHEMA BINDING", "WITH SCHEMA TYPE EVOLUTION", ["WITH SCHEMA TYPE EVOLUTION"]),
        ("TBLPROPERTIES ('a' = '1')", "tblproperties (a = '1')", []),
    ],
)
@pytest.mark.parametrize("query", ["SELECT 1 AS a", "SELECT 2 AS a"])
def test_replace_alters_what_else_changed_of_a_view(
    before: str, after: str, alterations: list[str], query: str
) -> None:
    """Readers would miss a view between the drop and the create that CREATE OR REPLACE is."""
    old, new = (
        {"s/view/v.sql": f"CREATE VIEW s.v {header} AS {text}"}
        for header, text in ((before, "SELECT 1 AS a"), (after, query))
    )
    planned = step(old, new)
    first, *rest = planned.plan.operations
    assert (first.action, first.sql) == ("replace", f"ALTER VIEW `s`.`v` AS\n{query}")
    assert [item.sql for item in rest] == [f"ALTER VIEW `s`.`v` {sql}" for sql in alterations]
    state = everything(healthy(old))
    for count in range(len(planned.plan.operations)):  # whatever was done: the rest is planned again
        part = run(planned.plan, state, planned.plan.operations[:count])
        again = plan(healthy(new), part)
        assert [item.sql for item in again.plan.operations] == [
            item.sql for item in planned.plan.operations
        ], count
    assert ids(plan(healthy(new), run(planned.plan, state))) == []


def test_a_comment_in_the_header_of_the_file_stands_over_that_of_the_statement() -> None:
    text = "CREATE VIEW s.v COMMENT '{}' AS SELECT 1 AS a"
    before = {"s/view/v.sql": "//// METADATA comment=file\n" + text.format("one")}
    after = {"s/view/v.sql": "//// METADATA comment=file\n" + text.format("two")}
    assert [item.sql for item in step(before, after).plan.operations] == [
        "ALTER VIEW `s`.`v` AS\nSELECT 1 AS a"
    ]
    bare = step(before, {"s/view/v.sql": text.format("one")})
    assert [item.sql for item in bare.plan.operations] == [
        "ALTER VIEW `s`.`v` SET TBLPROPERTIES ('comment' = 'one')"
    ]


@pytest.mark.parametrize("create", ["CREATE VIEW IF NOT EXISTS", "create or replace view", "CREATE VIEW"])
def test_replace_reads_any_create(create: str) -> None:
    planned = step(
        {"s/view/v.sql": "CREATE VIEW s.v AS SELECT 1 AS a"},
        {"s/view/v.sql": f"{create} s.v (x) AS SELECT 1 AS a"},
    )
    assert planned.plan.operations[0].sql.lower() == "create or replace view s.v (x) as select 1 as a"


def test_a_catalog_that_is_not_built_in_replaces_atomically_itself() -> None:
    files = {"s/view/v.sql": "CREATE VIEW ice.s.v AS SELECT 1 AS a"}
    planned = step(files, {"s/view/v.sql": "CREATE VIEW ice.s.v AS SELECT 2 AS a"}, ICEBERG)
    assert planned.plan.operations[0].sql == "CREATE OR REPLACE VIEW ice.s.v AS SELECT 2 AS a"


def test_replace_of_a_function() -> None:
    before = {"s/function/f.sql": "CREATE FUNCTION s.f() RETURNS INT RETURN 1"}
    planned = step(before, {"s/function/f.sql": "CREATE FUNCTION s.f() RETURNS INT RETURN 2"})
    assert planned.plan.operations[0].sql == "CREATE OR REPLACE FUNCTION s.f() RETURNS INT RETURN 2"


def test_a_materialized_view_is_replaced_when_it_changed_and_refreshed_when_it_did_not() -> None:
    files = {
        "s/materialized_view/m.sql": "CREATE MATERIALIZED VIEW s.m AS SELECT a FROM t.v",
        **view("t", "v", "SELECT 1 AS a"),
    }
    planned = step(files, files | view("t", "v", "SELECT 2 AS a"))
    assert operation(planned, "setup.s.m").action == "refresh"
    planned = step(
        files,
        files | {"s/materialized_view/m.sql": "CREATE MATERIALIZED VIEW s.m AS SELECT a + 1 AS a FROM t.v"},
    )
    assert operation(planned, "setup.s.m").action == "replace"


RECREATE = "redeploy: recreate\n"


def test_recreate_drops_dependents_first_and_creates_in_order() -> None:
    before = {
        **view("s", "a", "SELECT 1 AS x"),
        **view("t", "b", "SELECT x FROM s.a"),
        **view("u", "c", "SELECT x FROM t.b"),
    }
    planned = step(before, before | view("s", "a", "SELECT 2 AS x"), RECREATE)
    assert ids(planned) == [
        "teardown.u.c",
        "teardown.t.b",
        "teardown.s.a",
        "setup.s.a",
        "setup.t.b",
        "setup.u.c",
    ]
    assert {item.action for item in planned.plan.operations} == {"drop", "create"}
    assert not planned.plan.destructive


def test_recreate_makes_indexes_and_comments_again() -> None:
    text = "//// METADATA comment=hi\nCREATE MATERIALIZED VIEW s.m AS SELECT {} AS a\n//// INDEX name=i\nCREATE INDEX i ON s.m (a)\n"
    planned = step(
        {"s/materialized_view/m.sql": text.format(1)}, {"s/materialized_view/m.sql": text.format(2)}, RECREATE
    )
    assert ids(planned) == ["teardown.s.m", "setup.s.m", "setup.s.m.comment", "setup.s.m.i.index"]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            "COMMENT 'x' AS SELECT 1 AS a",
            "AS SELECT 1 AS a",
            ["setup.s.m", "setup.s.m.comment", "setup.s.m.i.index"],
        ),
        ("(a INT) COMMENT 'x' AS SELECT 1", "(a INT) AS SELECT 1", None),
        ("AS SELECT 1 AS a", "AS SELECT 2 AS a", ["setup.s.m", "setup.s.m.i.index"]),
        ("COMMENT 'x' AS SELECT 1 AS a", "COMMENT 'x' AS SELECT 2 AS a", ["setup.s.m", "setup.s.m.i.index"]),
    ],
)
def test_what_a_swapped_materialized_view_leaves_to_do_is_not_forgotten(
    before: str, after: str, expected: list[str] | None
) -> None:
    text = "CREATE MATERIALIZED VIEW s.m {}\n//// INDEX name=i\nCREATE INDEX i ON s.m (a)\n"
    old, new = ({"s/materialized_view/m.sql": text.format(one)} for one in (before, after))
    planned = step(old, new)
    whole = ids(planned)
    assert whole == (expected or ["setup.s.m", "setup.s.m.comment", "setup.s.m.i.index"])
    state = everything(healthy(old))
    for count in range(len(whole) + 1):  # killed behind any of them, the rest is planned again
        part = run(planned.plan, state, planned.plan.operations[:count])
        assert ids(plan(healthy(new), part)) == whole[count:], count


def test_a_refresh_alone_builds_the_indexes_again_too() -> None:
    text = "CREATE MATERIALIZED VIEW s.m AS SELECT 1 AS a\n//// INDEX name=i\nCREATE INDEX i ON s.m (a)\n"
    found = healthy({"s/materialized_view/m.sql": text})
    planned = make_refresh(found, everything(found))
    assert ids(planned) == ["setup.s.m", "setup.s.m.i.index"]
    half = run(
        planned.plan, everything(found), planned.plan.operations[:1]
    )  # as where none but refreshes run
    assert ids(plan(found, half)) == ["setup.s.m.i.index"]


CHAIN = {
    "s/table/t.sql": "CREATE TABLE s.t (a INT)",
    "s/view/v.sql": "CREATE VIEW s.v AS SELECT a FROM s.t",
    "s/materialized_view/m.sql": "CREATE MATERIALIZED VIEW s.m AS SELECT a FROM s.v",
    "s/materialized_view/n.sql": "CREATE MATERIALIZED VIEW s.n AS SELECT a FROM s.m",
}


@pytest.mark.parametrize(
    ("wrong", "refreshed"),
    [
        ({"s/view/v.sql": "CREATE VIEW s.v AS SELECT ${none} FROM s.t"}, ["setup.s.m", "setup.s.n"]),
        ({"s/table/t.sql": "//// NOTHING\nCREATE TABLE s.t (a INT)"}, ["setup.s.m", "setup.s.n"]),
        ({"s/materialized_view/m.sql": "CREATE MATERIALIZED VIEW s.m AS SELECT ${none}"}, ["setup.s.n"]),
        ({"s/view/w.sql": "//// METADATA dependencies=s.nothing\nCREATE VIEW s.w AS SELECT 1"}, ["setup.s.m", "setup.s.n"]),
        ({"s/view/v.sql": "CREATE VIEW s.v AS SELECT a FROM s.n"}, None),  # a cycle that nobody may compute
    ],
)  # fmt: skip
def test_a_refresh_needs_nothing_of_files_that_have_errors(
    wrong: dict[str, str], refreshed: list[str] | None
) -> None:
    state = everything(healthy(CHAIN))
    found = repository({**CHAIN, **wrong})
    with pytest.raises(SparkDeployError):
        make_refresh(found, state)
    if refreshed is None:
        with pytest.raises(SparkDeployError):
            make_refresh(found, state, despite_errors=True)
        return
    planned = make_refresh(found, state, despite_errors=True)
    assert ids(planned) == refreshed
    assert run(planned.plan, state) == state  # also what it says of dependencies


def test_the_indexes_of_a_component_are_rebuilt_behind_its_fixpoint() -> None:
    before, changed = (
        {
            path: f"{text}\n//// INDEX name=i\nCREATE INDEX i ON s.m (x)\n"
            for path, text in cycle(first).items()
        }
        for first in (1, 3)
    )
    planned = step(before, changed, CIRCULAR)
    assert ids(planned) == ["setup.s.a.fixpoint", "setup.s.a.i.index", "setup.s.b.i.index"]
    assert operation(planned, "setup.s.b.i.index").depends_on == ("setup.s.a.fixpoint",)
    state = everything(healthy(before, CIRCULAR))
    half = run(planned.plan, state, planned.plan.operations[:1])
    assert ids(plan(healthy(changed, CIRCULAR), half)) == ids(planned)[1:]


def test_the_header_of_a_view_is_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow_provider_sparkdeploy.core import drafts

    asked: list[str] = []

    def compare(physical: tuple[str, ...], deployed: str, wanted: str, kept: frozenset[str]) -> Header:
        asked.append(wanted)
        return header_changes(physical, deployed, wanted, kept)

    monkeypatch.setattr(drafts, "header_changes", compare)
    text = "//// METADATA comment={0}\nCREATE VIEW s.v TBLPROPERTIES ('a' = '{0}') AS SELECT 1 AS x"
    planned = step({"s/view/v.sql": text.format(1)}, {"s/view/v.sql": text.format(2)})
    assert ids(planned) == ["setup.s.v", "setup.s.v.set_properties", "setup.s.v.comment"]
    assert len(asked) == 1


def test_recreate_leaves_tables_alone() -> None:
    before = {"s/table/t.sql": "CREATE TABLE s.t (a INT)", **view("s", "v", "SELECT a FROM s.t")}
    planned = step(before, before | {"s/table/t.sql": "CREATE TABLE s.t (a INT, b INT)"}, RECREATE)
    assert ids(planned) == ["teardown.s.v", "setup.s.t.add_column.b", "setup.s.v"]


def test_recreate_and_replace_record_the_same() -> None:
    from sketch import known

    before = {**view("s", "a", "SELECT 1 AS x"), **view("t", "b", "SELECT x FROM s.a")}
    after = before | view("s", "a", "SELECT 2 AS x")
    state = everything(healthy(before))
    ends = [known(run(plan(healthy(after, settings), state).plan, state)) for settings in (None, RECREATE)]
    assert ends[0] == ends[1]


# --- indexes -----------------------------------------------------------------------------


def test_a_changed_index_is_rebuilt_alone() -> None:
    text = "CREATE TABLE s.t (a INT)\n//// INDEX name=i\nCREATE INDEX i ON s.t ({})\n"
    before = {"s/table/t.sql": text.format("a"), **view("s", "v", "SELECT a FROM s.t")}
    planned = step(before, before | {"s/table/t.sql": text.format("a DESC")})
    assert ids(planned) == ["teardown.s.t.i.index", "setup.s.t.i.index"]
    assert planned.plan.operations[0].sql == "DROP INDEX `i` ON `s`.`t`"
    assert planned.plan.dirty == {"objects": (), "schemas": (), "compute": (), "indexes": ("s.t.i",)}
    assert not planned.plan.destructive


def test_an_index_whose_compute_is_dirty_is_rebuilt() -> None:
    before = {
        "s/table/t.sql": "CREATE TABLE s.t (a INT)\n//// INDEX name=i compute=etl\nCREATE INDEX i ON s.t (a)\n",
        "u/view/v.sql": "//// METADATA compute=etl\nCREATE VIEW u.v AS SELECT 1 AS a",
    }
    planned = step(
        before, before | {"u/view/v.sql": "//// METADATA compute=etl\nCREATE VIEW u.v AS SELECT 2 AS a"}
    )
    assert ids(planned) == ["teardown.s.t.i.index", "setup.s.t.i.index", "setup.u.v"]
    assert operation(planned, "setup.s.t.i.index").reasons == (("compute", "etl"),)
    assert planned.plan.dirty["objects"] == ("u.v",)


def test_a_removed_index_makes_its_compute_dirty_if_the_repository_still_uses_it() -> None:
    index = "//// INDEX name=i compute=etl\nCREATE INDEX i ON s.t (a)\n"
    user = {"u/view/v.sql": "//// METADATA compute=etl\nCREATE VIEW u.v AS SELECT 1 AS a"}
    before = {"s/table/t.sql": "CREATE TABLE s.t (a INT)\n" + index}
    after = {"s/table/t.sql": "CREATE TABLE s.t (a INT)\n"}
    assert ids(step(before, after)) == ["teardown.s.t.i.index"]
    assert ids(step(before | user, after | user)) == ["teardown.s.t.i.index", "setup.u.v"]


# --- ids ---------------------------------------------------------------------------------


def test_ids_are_readable_and_legal() -> None:
    assert operation_id("setup", name("sales.orders"), "add_region", "1") == "setup.sales.orders.add_region.1"
    odd = operation_id("setup", name("größe.a b"), "x.y")
    assert all(char.isascii() and (char.isalnum() or char in "-_.") for char in odd)
    assert odd.count(".") == 3


def test_long_names_still_have_ids_of_their_own() -> None:
    first = operation_id("setup", name("s." + "x" * 300 + "1"))
    second = operation_id("setup", name("s." + "x" * 300 + "2"))
    assert first != second
    assert len(first) <= 250


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # a column called index, and an index called add_column
        (
            {"s/table/t.sql": "CREATE TABLE s.t (a INT)"},
            {"s/table/t.sql": "CREATE TABLE s.t (a INT, `index` INT)\n//// INDEX name=add_column\nCREATE INDEX add_column ON s.t (a)\n"},
        ),
        # a change called like the comment
        (
            {"s/table/t.sql": "//// CHANGE name=init\nCREATE TABLE s.t (a INT);\n"},
            {"s/table/t.sql": "//// METADATA comment=hi\n//// CHANGE name=init\nCREATE TABLE s.t (a INT);\n//// CHANGE name=comment\nALTER TABLE s.t ADD COLUMNS (b INT);\n"},
        ),
        # names that join to the same text
        ({}, {**view("a_b", "c", "SELECT 1 AS x"), **view("a", "b_c", "SELECT 1 AS x")}),
        # an index and a change of one name
        (
            {},
            {"s/table/t.sql": "//// CHANGE name=i\nCREATE TABLE s.t (a INT);\n//// INDEX name=i\nCREATE INDEX i ON s.t (a)\n"},
        ),
    ],
)  # fmt: skip
def test_ids_are_unique(before: Files, after: Files) -> None:
    planned = step(before, after)
    assert codes(planned) == []
    assert len(ids(planned)) == len(set(ids(planned)))


# --- components --------------------------------------------------------------------------

CIRCULAR = "allow_circular: true\n"
REACH = "CREATE MATERIALIZED VIEW s.{} (x INT) AS SELECT x FROM s.{} UNION SELECT {} AS x"


def cycle(first: int = 1, second: int = 2) -> dict[str, str]:
    return {
        "s/materialized_view/a.sql": REACH.format("a", "b", first),
        "s/materialized_view/b.sql": REACH.format("b", "a", second),
    }


def test_a_component_is_created_empty_and_computed_once() -> None:
    files = {
        **cycle(),
        **view("t", "v", "SELECT x FROM s.a"),
        "u/table/base.sql": "CREATE TABLE u.base (x INT)",
    }
    planned = plan(healthy(files, CIRCULAR))
    assert ids(planned) == ["setup.u.base", "setup.s.a", "setup.s.b", "setup.s.a.fixpoint", "setup.t.v"] or ids(planned) == [
        "setup.s.a", "setup.s.b", "setup.s.a.fixpoint", "setup.u.base", "setup.t.v",
    ]  # fmt: skip
    assert operation(planned, "setup.s.a.fixpoint").depends_on == ("setup.s.a", "setup.s.b")
    assert "setup.s.a.fixpoint" in operation(planned, "setup.t.v").depends_on
    assert [
        (item.id, [str(one) for one in item.members], item.monotone) for item in planned.plan.components
    ] == [(1, ["s.a", "s.b"], True)]


def test_a_component_that_is_deployed_is_only_computed() -> None:
    planned = step(cycle(), cycle(3), CIRCULAR)
    assert ids(planned) == ["setup.s.a.fixpoint"]
    assert (
        ids(plan(healthy(cycle(3), CIRCULAR), run(planned.plan, everything(healthy(cycle(), CIRCULAR)))))
        == []
    )


def test_a_component_is_computed_when_what_it_reads_is_redeployed() -> None:
    files = cycle() | {
        "s/materialized_view/b.sql": "CREATE MATERIALIZED VIEW s.b (x INT) AS SELECT x FROM s.a UNION SELECT x FROM t.v"
    }
    before = {**files, **view("t", "v", "SELECT 1 AS x")}
    planned = step(before, before | view("t", "v", "SELECT 2 AS x"), CIRCULAR)
    assert ids(planned) == ["setup.t.v", "setup.s.a.fixpoint"]
    assert operation(planned, "setup.s.a.fixpoint").depends_on == ("setup.t.v",)


def test_only_the_absent_members_of_a_component_are_created() -> None:
    before = {"s/materialized_view/a.sql": "CREATE MATERIALIZED VIEW s.a (x INT) AS SELECT 1 AS x"}
    planned = step(before, cycle(), CIRCULAR)
    assert ids(planned) == ["setup.s.b", "setup.s.a.fixpoint"]


def test_a_component_whose_creation_was_interrupted_goes_on() -> None:
    found = healthy(cycle(), CIRCULAR)
    whole = plan(found)
    for count in range(4):
        part = run(whole.plan, {}, whole.plan.operations[:count])
        rest = plan(found, part)
        assert ids(rest) == ids(whole)[count:]
        assert ids(plan(found, run(rest.plan, part))) == []


def test_a_comment_of_a_member_is_set_although_it_changed_with_its_query() -> None:
    commented = cycle(3) | {
        "s/materialized_view/a.sql": "//// METADATA comment=hi\n" + REACH.format("a", "b", 3)
    }
    planned = step(cycle(), commented, CIRCULAR)
    assert set(ids(planned)) == {"setup.s.a.comment", "setup.s.a.fixpoint"}


def test_the_indexes_of_a_member_wait_for_the_fixpoint() -> None:
    files = cycle() | {
        "s/materialized_view/b.sql": REACH.format("b", "a", 2)
        + "\n//// INDEX name=i\nCREATE INDEX i ON s.b (x)\n"
    }
    planned = plan(healthy(files, CIRCULAR))
    assert comes_after(planned, "setup.s.b.i.index", "setup.s.a.fixpoint")
    state = run(planned.plan, {})
    assert ids(plan(healthy(files, CIRCULAR), state)) == []


def test_recreate_drops_all_members_before_any_is_made() -> None:
    planned = step(cycle(), cycle(3), CIRCULAR + RECREATE)
    assert sorted(ids(planned)[:2]) == ["teardown.s.a", "teardown.s.b"]
    assert ids(planned)[2:] == ["setup.s.a", "setup.s.b", "setup.s.a.fixpoint"]
    assert {"teardown.s.a", "teardown.s.b"} <= ancestors(planned.plan, "setup.s.a.fixpoint")


def test_a_removed_component_is_dropped_dependents_first() -> None:
    before = {**cycle(), **view("t", "v", "SELECT x FROM s.a")}
    planned = step(before, {}, CIRCULAR)
    assert ids(planned)[0] == "teardown.t.v"
    assert sorted(ids(planned)[1:]) == ["teardown.s.a", "teardown.s.b"]
    assert all("teardown.t.v" in ancestors(planned.plan, one) for one in ids(planned)[1:])


def test_a_view_that_reads_itself_is_a_component_of_one() -> None:
    files = {
        "s/materialized_view/a.sql": "CREATE MATERIALIZED VIEW s.a (x INT) AS SELECT x FROM s.a UNION SELECT 1 AS x"
    }
    planned = plan(healthy(files, CIRCULAR))
    assert ids(planned) == ["setup.s.a", "setup.s.a.fixpoint"]


# --- deployed dependencies are recorded --------------------------------------------------


def test_what_teardown_needs_later_is_recorded() -> None:
    files = {**view("s", "a", "SELECT 1 AS x"), **view("t", "b", "SELECT x FROM s.a")}
    state = deploy(healthy(files))
    assert state[name("t.b")].dependencies == (name("s.a"),)
    assert state[name("t.b")].kind == "view"
    assert state[name("t.b")].physical == ("t", "b")


def test_the_physical_name_is_what_is_dropped() -> None:
    files = {"s/view/My View.sql": "CREATE VIEW cat.real.`My View` AS SELECT 1 AS a"}
    settings = "schemas: {s: cat.real}\n"
    planned = step(files, {}, settings)
    assert planned.plan.operations[0].sql == "DROP VIEW IF EXISTS `cat`.`real`.`My View`"


def test_a_comment_does_not_record_a_member_as_computed() -> None:
    """The fixpoint may fail after it."""
    commented = cycle(3) | {
        "s/materialized_view/a.sql": "//// METADATA comment=hi\n" + REACH.format("a", "b", 3)
    }
    found, state = healthy(commented, CIRCULAR), everything(healthy(cycle(), CIRCULAR))
    planned = plan(found, state)
    assert ids(planned)[0] == "setup.s.a.comment"
    half = run(planned.plan, state, planned.plan.operations[:1])
    assert ids(plan(found, half)) == ["setup.s.a.fixpoint"]


def one_run(repository: Repository, state: State, *select: str) -> list[str]:
    """Plan a selection, record what is due, run it; the operations."""
    planned = plan(repository, state, select=select)
    for due in due_objects(planned):
        apply_effect(state, due)
    state.update(run(planned.plan, state))
    return ids(planned)


def test_what_was_computed_from_a_view_that_a_selection_left_is_computed_again_with_it() -> None:
    """It has the rows of before; nobody else remembers that."""
    files = {
        "s/view/v.sql": "CREATE VIEW s.v AS SELECT 1 AS a",
        "s/materialized_view/n.sql": "CREATE MATERIALIZED VIEW s.n AS SELECT a FROM s.v",
        "s/materialized_view/m.sql": "CREATE MATERIALIZED VIEW s.m AS SELECT a FROM s.n",
        "s/sink/k.sql": "INSERT INTO x.y SELECT a FROM s.n",
    }
    quiet = "propagation: false"
    after = healthy(files | {"s/view/v.sql": "CREATE VIEW s.v AS SELECT 2 AS a"}, quiet)
    state = everything(healthy(files, quiet))

    assert one_run(after, state, "v", "m", "k") == ["setup.s.v", "setup.s.m", "export.s.k.1"]
    assert one_run(after, state, "m") == []
    assert one_run(after, state, "n") == ["setup.s.n"]
    assert one_run(after, state) == ["setup.s.m", "export.s.k.1"]
    assert one_run(after, state) == []


def test_what_a_selection_left_does_not_reach_other_schemas_through_a_replacement() -> None:
    files = {
        "s/view/v.sql": "CREATE VIEW s.v AS SELECT 1 AS a",
        "s/materialized_view/n.sql": "CREATE MATERIALIZED VIEW s.n AS SELECT a FROM s.v",
        "s/view/r.sql": "-- //// METADATA replacement=true\nCREATE VIEW s.r AS SELECT a FROM s.n",
        "s/materialized_view/near.sql": "CREATE MATERIALIZED VIEW s.near AS SELECT a FROM s.r",
        "t/materialized_view/far.sql": "CREATE MATERIALIZED VIEW t.far AS SELECT a FROM s.r",
    }
    quiet = "propagation: false"
    after = healthy(files | {"s/view/v.sql": "CREATE VIEW s.v AS SELECT 2 AS a"}, quiet)
    state = everything(healthy(files, quiet))

    assert one_run(after, state, "v", "near", "r") == ["setup.s.v", "setup.s.r", "setup.s.near"]
    assert one_run(after, state) == ["setup.s.n", "setup.s.near"]
    assert one_run(after, state) == []

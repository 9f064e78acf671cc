"""What changed: both tables of the design row by row, and every way around them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sketch import (
    Files,
    codes,
    deploy,
    everything,
    healthy,
    ids,
    known,
    name,
    operation,
    plan,
    repository,
    run,
    step,
)

from airflow_provider_sparkdeploy.core.names import ObjectName
from airflow_provider_sparkdeploy.core.planner import Planned
from airflow_provider_sparkdeploy.core.state import DeployedObject, DropObject, Due, apply_effect

QUIET = "propagation: {schema: false}\n"
INIT = "//// CHANGE name=init\nCREATE TABLE s.t (a INT);\n"
ADD_B = "//// CHANGE name=add_b\nALTER TABLE s.t ADD COLUMNS (b INT);\n"
ADD_C = "//// CHANGE name=add_c\nALTER TABLE s.t ADD COLUMNS (c INT);\n"


def table(*sections: str) -> dict[str, str]:
    return {"s/table/t.sql": "".join(sections)}


def migration(*sections: str) -> dict[str, str]:
    return {"s/migration/m.sql": "".join(sections)}


def status(planned: Planned, text: str) -> str:
    assert planned.diff
    return planned.diff.objects[name(text)].status


def clean_after(
    files: Files, state: dict[ObjectName, DeployedObject], planned: Planned, settings: str | None = None
) -> None:
    """Nothing is left to do once the plan was run, and nothing looks changed."""
    again = plan(healthy(files, settings), run(planned.plan, state))
    assert ids(again) == []
    assert again.plan.diagnostics == ()
    assert not any(again.plan.dirty.values()), again.plan.dirty


def first_statements(files: Files, count: int) -> dict[ObjectName, DeployedObject]:
    """The state after the first ``count`` operations of a first deployment."""
    planned = plan(healthy(files))
    return run(planned.plan, {}, planned.plan.operations[:count])


# --- stateful: new, equal, changed, removed ----------------------------------------------


@pytest.mark.parametrize("kind", ["table", "migration"])
def test_stateful_new_is_deployed(kind: str) -> None:
    files = {f"s/{kind}/t.sql": INIT + ADD_B}
    planned = plan(healthy(files))
    assert ids(planned) == ["setup.s.t.init.1", "setup.s.t.add_b.1"]
    assert status(planned, "s.t") == "added"
    clean_after(files, {}, planned)


@pytest.mark.parametrize("kind", ["table", "migration"])
def test_stateful_equal_is_left_alone(kind: str) -> None:
    files = {f"s/{kind}/t.sql": INIT + ADD_B}
    planned = step(files, files)
    assert ids(planned) == []
    assert status(planned, "s.t") == "equal"


@pytest.mark.parametrize("kind", ["table", "migration"])
def test_stateful_new_change_is_deployed_alone(kind: str) -> None:
    planned = step({f"s/{kind}/t.sql": INIT}, {f"s/{kind}/t.sql": INIT + ADD_B})
    assert ids(planned) == ["setup.s.t.add_b.1"]


def test_a_new_change_may_come_before_deployed_ones() -> None:
    assert ids(step(table(INIT, ADD_C), table(INIT, ADD_B, ADD_C))) == ["setup.s.t.add_b.1"]


@pytest.mark.parametrize("kind", ["table", "migration"])
def test_stateful_changed_is_fatal_and_says_where(kind: str) -> None:
    planned = step(
        {f"s/{kind}/t.sql": INIT + ADD_B}, {f"s/{kind}/t.sql": INIT + ADD_B.replace("b INT", "b STRING")}
    )
    (error,) = planned.plan.errors
    assert (error.code, error.where) == ("SD402", f"s/{kind}/t.sql:3")
    assert "add_b" in error.message
    assert error.advice
    assert ids(planned) == []


def test_a_statement_more_or_less_is_a_change() -> None:
    two = INIT + "ALTER TABLE s.t ADD COLUMNS (x INT);\n"
    assert codes(step(table(INIT), table(two))) == ["SD402"]
    assert codes(step(table(two), table(INIT))) == ["SD402"]


@pytest.mark.parametrize(
    "text",
    [
        "//// CHANGE name=init\ncreate table S.T (A int)\n",
        "-- //// CHANGE name=INIT\n-- why\nCREATE   TABLE s.t /* x */ (a INT)\n",
        "//// METADATA tags=x\n//// CHANGE name=init tags_free=1\nCREATE TABLE s.t (a INT);\n".replace(
            " tags_free=1", ""
        ),
    ],
)
def test_comments_blanks_case_and_headers_are_no_change(text: str) -> None:
    assert ids(step(table(INIT), table(text))) == []
    assert codes(step(table(INIT), table(text))) == []


def test_stateful_removed_change_is_fatal() -> None:
    planned = step(table(INIT, ADD_B), table(INIT))
    (error,) = planned.plan.errors
    assert error.code == "SD401"
    assert error.file == "s/table/t.sql"
    assert "add_b" in error.message


def test_stateful_removed_file_is_fatal() -> None:
    planned = step(table(INIT, ADD_B), {})
    assert codes(planned) == ["SD401"]
    assert "s.t" in planned.plan.errors[0].message
    assert planned.plan.errors[0].where == "s/table/t.sql"
    assert "DROP_TABLE" in planned.plan.errors[0].advice


def test_a_renamed_change_is_both_new_and_removed() -> None:
    assert codes(step(table(INIT, ADD_B), table(INIT, ADD_B.replace("add_b", "add_bb")))) == ["SD401"]


def test_all_fatal_problems_are_reported_at_once_and_nothing_is_applied() -> None:
    before = table(INIT, ADD_B) | {
        "s/table/u.sql": "//// CHANGE name=init\nCREATE TABLE s.u (a INT);\n",
        "x/table/w.sql": "//// CHANGE name=init\nCREATE TABLE x.w (a INT);\n",
    }
    after = table(INIT.replace("a INT", "z INT")) | {
        "s/table/u.sql": "//// CHANGE name=init\nCREATE TABLE s.u (b INT);\n",
        "s/view/v.sql": "CREATE VIEW s.v AS SELECT 1 AS a",
    }
    planned = step(before, after)
    assert codes(planned) == ["SD401", "SD401", "SD402", "SD402"]
    assert ids(planned) == []
    assert planned.plan.notes == ()


# --- stateless: new, equal, changed, removed ---------------------------------------------

STATELESS = {
    "view": ("CREATE VIEW s.x AS SELECT 1 AS a", "CREATE VIEW s.x AS SELECT 2 AS a"),
    "function": ("CREATE FUNCTION s.x() RETURNS INT RETURN 1", "CREATE FUNCTION s.x() RETURNS INT RETURN 2"),
    "materialized_view": ("CREATE MATERIALIZED VIEW s.x AS SELECT 1 AS a", "CREATE MATERIALIZED VIEW s.x AS SELECT 2 AS a"),
    "sink": ("INSERT OVERWRITE DIRECTORY '/x' SELECT 1", "INSERT OVERWRITE DIRECTORY '/x' SELECT 2"),
    "data": ("-- //// METADATA keys=k\nk,v\n1,1\n", "-- //// METADATA keys=k\nk,v\n1,2\n"),
}  # fmt: skip
CREATED = {"sink": ["export.s.x.1"], "data": ["setup.s.x.create", "setup.s.x.load"]}
REDEPLOYED = {"sink": ["export.s.x.1"], "data": ["setup.s.x.load"]}


def stateless(kind: str, number: int = 0) -> dict[str, str]:
    return {f"s/{kind}/x.{'csv' if kind == 'data' else 'sql'}": STATELESS[kind][number]}


@pytest.mark.parametrize("kind", STATELESS)
def test_stateless_new_is_created(kind: str) -> None:
    planned = plan(healthy(stateless(kind)))
    assert ids(planned) == CREATED.get(kind, ["setup.s.x"])
    assert planned.plan.operations[0].action == {"sink": "run"}.get(kind, "create")
    clean_after(stateless(kind), {}, planned)


@pytest.mark.parametrize("kind", STATELESS)
def test_stateless_equal_is_left_alone(kind: str) -> None:
    planned = step(stateless(kind), stateless(kind))
    assert ids(planned) == []
    assert status(planned, "s.x") == "equal"


@pytest.mark.parametrize("kind", STATELESS)
def test_stateless_changed_is_redeployed(kind: str) -> None:
    before = everything(healthy(stateless(kind)))
    planned = plan(healthy(stateless(kind, 1)), before)
    assert ids(planned) == REDEPLOYED.get(kind, ["setup.s.x"])
    assert planned.plan.operations[-1].action == {"sink": "run", "data": "load"}.get(kind, "replace")
    assert not planned.plan.destructive
    clean_after(stateless(kind, 1), before, planned)


@pytest.mark.parametrize("kind", ["view", "function", "materialized_view", "data"])
def test_stateless_removed_is_dropped(kind: str) -> None:
    before = everything(healthy(stateless(kind)))
    planned = plan(healthy({}), before)
    assert ids(planned) == ["teardown.s.x"]
    noun = {"function": "FUNCTION", "data": "TABLE"}.get(kind, "VIEW")
    assert planned.plan.operations[0].sql == f"DROP {noun} IF EXISTS `s`.`x`"
    assert run(planned.plan, before) == {}


def test_a_removed_sink_is_forgotten_without_an_operation() -> None:
    before = everything(healthy(stateless("sink")))
    planned = plan(healthy({}), before)
    assert ids(planned) == []
    assert planned.plan.notes == (DropObject(name("s.x")),)
    assert run(planned.plan, before) == {}


def test_a_changed_token_value_is_a_change() -> None:
    files = {"s/view/v.sql": "CREATE VIEW s.v AS SELECT ${n} AS a"}
    before = everything(healthy(files, "tokens: {n: 1}"))
    assert ids(plan(healthy(files, "tokens: {n: 1}"), before)) == []
    assert ids(plan(healthy(files, "tokens: {n: 2}"), before)) == ["setup.s.v"]


def test_changed_keys_of_data_are_a_change_and_its_tags_are_not() -> None:
    before = {"s/data/x.csv": "-- //// METADATA keys=k\nk,v\n1,1\n"}
    assert ids(step(before, {"s/data/x.csv": "-- //// METADATA keys=k,v\nk,v\n1,1\n"})) == ["setup.s.x.load"]
    assert ids(step(before, {"s/data/x.csv": "-- //// METADATA keys=k tags=z\nk,v\n1,1\n"})) == []


def test_new_columns_of_data_make_its_table_anew() -> None:
    before = {"s/data/x.csv": "-- //// METADATA keys=k\nk,v\n1,1\n"}
    planned = step(before, {"s/data/x.csv": "-- //// METADATA keys=k\nk,v,w\n1,1,1\n"})
    assert ids(planned) == ["teardown.s.x", "setup.s.x.create", "setup.s.x.load"]


def test_how_data_was_loaded_before_is_no_difference() -> None:
    found = healthy({"s/data/x.csv": "-- //// METADATA keys=k\nk,v\n1,1\n"})
    state, x = everything(found), name("s.x")
    before = {x: replace(state[x], text=state[x].text.replace(" (`k`, `v`)", "", 1), digest="")}
    assert before[x].text != state[x].text
    assert ids(plan(found, before)) == []


def test_a_changed_row_is_loaded_also_where_the_header_has_a_comment() -> None:
    before = {"s/data/x.csv": "-- //// METADATA keys=k comment=hello\nk,v\n1,1\n"}
    after = {"s/data/x.csv": "-- //// METADATA keys=k comment=hello\nk,v\n1,2\n"}
    assert ids(step(before, after)) == ["setup.s.x.load"]


# --- headers that change nothing ---------------------------------------------------------


@pytest.mark.parametrize("header", ["tags=a,b", "lifecycle=protected", "compute=etl", "replacement=true"])
def test_a_header_is_noted_without_an_operation(header: str) -> None:
    after = {"s/view/x.sql": f"//// METADATA {header}\n{STATELESS['view'][0]}"}
    before = everything(healthy(stateless("view")))
    planned = plan(healthy(after), before)
    assert ids(planned) == []
    assert known(run(planned.plan, before)) == known(everything(healthy(after)))
    assert plan(healthy(after), run(planned.plan, before)).plan.notes == ()


def test_changed_dependencies_of_an_equal_object_are_noted() -> None:
    files = {
        "s/view/a.sql": "CREATE VIEW s.a AS SELECT 1 AS a",
        "t/view/b.sql": "CREATE VIEW t.b AS SELECT 2 AS b",
    }
    after = files | {
        "t/view/b.sql": "//// METADATA includeDependencies=s.a\nCREATE VIEW t.b AS SELECT 2 AS b"
    }
    before = everything(healthy(files))
    planned = plan(healthy(after), before)
    assert ids(planned) == []
    assert run(planned.plan, before)[name("t.b")].dependencies == (name("s.a"),)


# --- comments ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "body", "sql"),
    [
        ("s/view/x.sql", "CREATE VIEW s.x AS SELECT 1 AS a", "ALTER VIEW `s`.`x` SET TBLPROPERTIES ('comment' = 'it\\'s')"),
        ("s/table/x.sql", "CREATE TABLE s.x (a INT)", "COMMENT ON TABLE `s`.`x` IS 'it\\'s'"),
        ("s/table/x.sql", "//// CHANGE name=init\nCREATE TABLE s.x (a INT)", "COMMENT ON TABLE `s`.`x` IS 'it\\'s'"),
        ("s/data/x.csv", "k,v\n1,1\n", "COMMENT ON TABLE `s`.`x` IS 'it\\'s'"),
    ],
)  # fmt: skip
def test_a_comment_is_set_apart_from_the_body(path: str, body: str, sql: str) -> None:
    keys = "keys=k " if path.endswith("csv") else ""
    dashes = "-- " if path.endswith("csv") else ""
    plain = {path: f"{dashes}//// METADATA {keys}tags=x\n{body}"}
    commented = {path: f'{dashes}//// METADATA {keys}tags=x comment="it\'s"\n{body}'}
    before = everything(healthy(plain))
    planned = plan(healthy(commented), before)
    assert [(item.id, item.action, item.sql) for item in planned.plan.operations] == [
        ("setup.s.x.comment", "alter", sql)
    ]
    clean_after(commented, before, planned)
    fresh = plan(healthy(commented))
    assert fresh.plan.operations[-1].id == "setup.s.x.comment"
    clean_after(commented, {}, fresh)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("s/view/x.sql", "CREATE VIEW s.x AS SELECT 1 AS a"),
        ("s/table/x.sql", "CREATE TABLE s.x (a INT)"),
        ("s/table/x.sql", "//// CHANGE name=init\nCREATE TABLE s.x (a INT)"),
    ],
)
def test_a_comment_that_is_taken_away_is_removed(path: str, body: str) -> None:
    """Else the two strategies of redeploying would not end in the same catalog."""
    before = everything(healthy({path: f"//// METADATA comment=hello\n{body}"}))
    planned = plan(healthy({path: body}), before)
    assert ids(planned) == ["setup.s.x.comment"]
    clean_after({path: body}, before, planned)


def test_a_view_that_is_made_anew_gets_its_comment_again() -> None:
    """CREATE OR REPLACE VIEW replaces the properties, and the comment is one of them."""
    before = {"s/view/x.sql": "//// METADATA comment=hello\nCREATE VIEW s.x AS SELECT 1 AS a"}
    after = {"s/view/x.sql": "//// METADATA comment=hello\nCREATE VIEW s.x (b) AS SELECT 1 AS a"}
    planned = step(before, after)
    assert operation(planned, "setup.s.x").sql.startswith("CREATE OR REPLACE VIEW")
    assert "setup.s.x.comment" in ids(planned)


def test_a_view_whose_query_is_swapped_keeps_its_comment() -> None:
    before = {"s/view/x.sql": "//// METADATA comment=hello\nCREATE VIEW s.x AS SELECT 1 AS a"}
    after = {"s/view/x.sql": "//// METADATA comment=hello\nCREATE VIEW s.x AS SELECT 2 AS a"}
    assert ids(step(before, after)) == ["setup.s.x"]


def test_an_empty_comment_is_a_comment() -> None:
    before = {"s/view/x.sql": "//// METADATA comment=hello\nCREATE VIEW s.x AS SELECT 1 AS a"}
    after = {"s/view/x.sql": '//// METADATA comment=""\nCREATE VIEW s.x AS SELECT 1 AS a'}
    assert ids(step(before, after)) == ["setup.s.x.comment"]


# --- baselining --------------------------------------------------------------------------

SQUASHED = "//// CHANGE name=all baselinedChanges=init,add_b\nCREATE TABLE s.t (a INT, b INT);\n"


def test_a_baseline_of_all_deployed_changes_is_noted_and_not_run() -> None:
    before = everything(healthy(table(INIT, ADD_B)))
    planned = plan(healthy(table(SQUASHED)), before)
    assert ids(planned) == []
    assert codes(planned) == []
    after = run(planned.plan, before)
    assert [change.name for change in after[name("s.t")].changes] == ["all"]
    clean_after(table(SQUASHED), before, planned)


def test_a_baseline_of_none_is_run() -> None:
    planned = plan(healthy(table(SQUASHED)))
    assert ids(planned) == ["setup.s.t.all.1"]
    clean_after(table(SQUASHED), {}, planned)


def test_a_baseline_of_some_is_fatal() -> None:
    planned = step(table(INIT), table(SQUASHED))
    (error,) = planned.plan.errors
    assert error.code == "SD403"
    assert "add_b" in error.message


def test_a_baseline_of_a_partly_deployed_change_is_fatal() -> None:
    two = (
        "//// CHANGE name=add_b\nALTER TABLE s.t ADD COLUMNS (b INT);\nALTER TABLE s.t ADD COLUMNS (c INT);\n"
    )
    state = first_statements(table(INIT, two), 2)
    assert codes(plan(healthy(table(SQUASHED)), state)) == ["SD403"]


def test_a_baseline_that_is_deployed_stays_deployed() -> None:
    assert ids(step(table(SQUASHED), table(SQUASHED))) == []
    assert ids(step(table(SQUASHED), table(SQUASHED, ADD_C))) == ["setup.s.t.add_c.1"]


def test_a_baselined_change_may_stay_in_the_file_and_change() -> None:
    planned = step(
        table(INIT, ADD_B),
        table(INIT.replace("a INT", "a INT, z INT"), SQUASHED.replace("init,add_b", "init, add_b")),
    )
    assert codes(planned) == []


@pytest.mark.parametrize("files", [table(INIT, ADD_B, SQUASHED), table(SQUASHED, INIT, ADD_B)])
def test_a_baselined_change_that_stays_in_the_file_never_runs_beside_what_stands_for_it(files: Files) -> None:
    fresh = plan(healthy(files))
    assert ids(fresh) == ["setup.s.t.all.1"]
    clean_after(files, {}, fresh)
    before = everything(healthy(table(INIT, ADD_B)))
    noted = plan(healthy(files), before)
    assert ids(noted) == []
    clean_after(files, before, noted)


def test_an_inactive_baseline_baselines_nothing() -> None:
    planned = step(table(INIT, ADD_B), table(SQUASHED.replace("name=all", "name=all INACTIVE")))
    assert codes(planned) == ["SD401", "SD401"]


AGAIN = "//// CHANGE name=again baselinedChanges={}\nCREATE TABLE s.t (a INT, b INT);\n"


@pytest.mark.parametrize(
    ("deployed", "files"),
    [
        (table(SQUASHED), table(AGAIN.format("all,init,add_b"))),
        (table(SQUASHED), table(AGAIN.format("all"))),
        (table(SQUASHED), table(SQUASHED, AGAIN.format("all"))),
        (table(INIT, ADD_B), table(SQUASHED, AGAIN.format("all"))),
        (table(INIT, ADD_B), table(SQUASHED, AGAIN.format("all,init,add_b"))),
        (table(INIT, ADD_B), table(INIT, ADD_B, SQUASHED, AGAIN.format("all"))),
        (table(INIT, SQUASHED.replace("init,add_b", "init")), table(SQUASHED, AGAIN.format("all"))),
    ],
)
def test_a_squash_may_be_squashed_again(deployed: Files, files: Files) -> None:
    fresh = plan(healthy(files))
    assert ids(fresh) == ["setup.s.t.again.1"]
    clean_after(files, {}, fresh)
    before = deploy(healthy(deployed))
    noted = plan(healthy(files), before)
    assert (ids(noted), noted.plan.diagnostics) == ([], ())
    assert [change.name for change in run(noted.plan, before)[name("s.t")].changes] == ["again"]
    clean_after(files, before, noted)


def test_a_squash_of_a_squash_of_a_squash() -> None:
    """Each was written when nobody thought of the ones before any more, and the log has them."""
    state = deploy(healthy(table(INIT, ADD_B)))
    third = AGAIN.format("again,all,init,add_b").replace("name=again", "name=third")
    for files in (table(SQUASHED), table(AGAIN.format("all")), table(third)):
        planned = plan(healthy(files), state)
        assert (ids(planned), planned.plan.diagnostics) == ([], ())
        state = run(planned.plan, state)
    assert [change.name for change in state[name("s.t")].changes] == ["third"]


def test_a_squash_of_a_squash_of_which_some_is_deployed_is_fatal() -> None:
    planned = step(table(INIT), table(SQUASHED, AGAIN.format("all")))
    (error,) = planned.plan.errors
    assert (error.code, error.line) == ("SD403", 3)
    assert "add_b is not deployed" in error.message
    planned = step(table(INIT, ADD_B), table(AGAIN.format("all,init,add_b")))
    (error,) = planned.plan.errors
    assert error.code == "SD403"
    assert "but all is not deployed" in error.message, "nobody knows what it was"


def test_a_squash_that_is_not_deployed_to_its_end_is_not_there() -> None:
    two = SQUASHED + "SELECT 1;\n"
    state = first_statements(table(ADD_C, two), 2)
    assert [change.complete for change in state[name("s.t")].changes] == [True, False]
    assert codes(plan(healthy(table(two, AGAIN.format("add_c,all"))), state)) == ["SD403"]


@pytest.mark.parametrize(
    ("files", "line", "names"),
    [
        (table(SQUASHED.replace("init,", "all,init,")), 1, "all has itself"),
        (table(INIT, SQUASHED.replace("add_b", "again"), AGAIN.format("all")), 3, "all, again"),
    ],
)
def test_changes_that_stand_for_each_other_are_an_error(files: Files, line: int, names: str) -> None:
    (error,) = plan(repository(files)).plan.errors
    assert (error.code, error.where) == ("SD145", f"s/table/t.sql:{line}")
    assert names in error.message


# --- INACTIVE ----------------------------------------------------------------------------


def test_an_inactive_change_is_not_deployed() -> None:
    assert ids(plan(healthy(table(INIT, ADD_B.replace("add_b", "add_b INACTIVE"))))) == ["setup.s.t.init.1"]


def test_an_inactive_change_that_is_deployed_may_change_and_stays() -> None:
    changed = "//// CHANGE name=add_b INACTIVE\nALTER TABLE s.t ADD COLUMNS (z STRING);\n"
    before = everything(healthy(table(INIT, ADD_B)))
    planned = plan(healthy(table(INIT, changed)), before)
    assert ids(planned) == []
    assert codes(planned) == []
    assert known(run(planned.plan, before)) == known(before)


def test_an_inactive_object_is_left_as_it_is() -> None:
    for files in (stateless("view"), {}):
        before = everything(healthy(files))
        planned = plan(healthy({"s/view/x.sql": f"//// METADATA INACTIVE\n{STATELESS['view'][1]}"}), before)
        assert ids(planned) == []
        assert planned.plan.notes == ()
        assert codes(planned) == []


def test_a_script_without_an_active_change_makes_nothing_dirty() -> None:
    files = table(INIT.replace("init", "init INACTIVE")) | {
        "s/view/v.sql": "CREATE VIEW s.v AS SELECT 1 AS a"
    }
    state = deploy(healthy(files))
    planned = plan(healthy(files), state)
    assert planned.plan.dirty["objects"] == ()
    assert ids(planned) == []


def test_an_external_object_makes_nothing_dirty() -> None:
    """Nothing is ever done to it, so that it is "new" for ever must not redeploy others."""
    files = {
        "e/table/x.sql": "//// METADATA lifecycle=external\nCREATE TABLE e.x (a INT)",
        "s/view/v.sql": "CREATE VIEW s.v AS SELECT a FROM e.x",
    }
    state = deploy(healthy(files))
    planned = plan(healthy(files), state)
    assert ids(planned) == []
    assert planned.plan.dirty["objects"] == ()


# --- DROP_TABLE --------------------------------------------------------------------------

DROPPED = {
    "on METADATA, scripted": "//// METADATA DROP_TABLE\n" + INIT + ADD_B,
    "on METADATA, without a body": "//// METADATA DROP_TABLE\n",
    "on a CHANGE": INIT + ADD_B + "//// CHANGE name=bye DROP_TABLE\n",
    "on a CHANGE with a statement": INIT + ADD_B + "//// CHANGE name=bye DROP_TABLE\nDROP TABLE s.t;\n",
}


@pytest.mark.parametrize("text", DROPPED.values(), ids=DROPPED.keys())
def test_drop_table_drops_and_forgets(text: str) -> None:
    before = everything(healthy(table(INIT, ADD_B)))
    planned = plan(healthy(table(text)), before)
    (drop,) = planned.plan.operations
    assert (drop.phase, drop.action, drop.destructive) == ("teardown", "drop", True)
    assert drop.sql in ("DROP TABLE IF EXISTS `s`.`t`", "DROP TABLE s.t")
    assert run(planned.plan, before) == {}
    clean_after(table(text), before, planned)


@pytest.mark.parametrize("text", DROPPED.values(), ids=DROPPED.keys())
def test_drop_table_of_what_was_never_deployed_does_nothing(text: str) -> None:
    assert ids(plan(healthy(table(text)))) == []


@pytest.mark.parametrize("text", [*DROPPED.values(), "//// METADATA DROP_TABLE comment=x\nCREATE TABLE s.t (a INT)\n//// INDEX name=i\nCREATE INDEX i ON s.t (a)\n"])  # fmt: skip
def test_a_dropped_table_does_not_come_back_with_its_schema(text: str) -> None:
    """A change in its schema makes it dirty, and it must stay away all the same."""
    files = table(text) | {"s/view/v.sql": "CREATE VIEW s.v AS SELECT 1 AS a"}
    assert ids(plan(healthy(files))) == ["setup.s.v"]
    assert ids(plan(healthy(files), {}, force_schemas=("s",))) == ["setup.s.v"]


def test_a_declarative_table_can_be_dropped_by_its_header() -> None:
    before = table("CREATE TABLE s.t (a INT)")
    assert ids(step(before, table("//// METADATA DROP_TABLE\nCREATE TABLE s.t (a INT)"))) == ["teardown.s.t"]


def test_drop_table_on_an_inactive_change_does_not_drop() -> None:
    text = INIT + "//// CHANGE name=bye DROP_TABLE INACTIVE\nDROP TABLE s.t;\n"
    assert ids(step(table(INIT), table(text))) == []


def test_a_table_is_created_again_when_the_drop_is_taken_back() -> None:
    state = run(
        step(table(INIT), table(DROPPED["on METADATA, scripted"])).plan, everything(healthy(table(INIT)))
    )
    assert ids(plan(healthy(table(INIT)), state)) == ["setup.s.t.init.1"]


def test_the_changes_of_a_dropped_table_are_not_compared() -> None:
    text = "//// METADATA DROP_TABLE\n//// CHANGE name=other\nCREATE TABLE s.t (z STRING);\n"
    planned = step(table(INIT), table(text))
    assert codes(planned) == []
    assert ids(planned) == ["teardown.s.t"]


# --- migrations --------------------------------------------------------------------------


def test_a_migration_may_be_deleted_once_it_was_deployed() -> None:
    before = everything(healthy(migration(INIT, ADD_B)))
    planned = plan(healthy({}), before)
    assert ids(planned) == []
    assert planned.plan.diagnostics == ()
    assert not any(planned.plan.dirty.values())
    assert known(run(planned.plan, before)) == known(before), "it is still known as deployed"


def test_a_deleted_migration_is_not_dirty_whatever_becomes_of_its_schema() -> None:
    view = {"s/view/v.sql": "CREATE VIEW s.v AS SELECT 1 AS a"}
    before = everything(healthy(migration(INIT, ADD_B) | view))
    planned = plan(healthy({"s/view/v.sql": "CREATE VIEW s.v AS SELECT 2 AS a"}), before)
    assert planned.plan.dirty["objects"] == ("s.v",)
    assert plan(healthy(view), before, force_schemas=("s",)).plan.dirty["objects"] == ("s.v",)


def test_one_change_of_a_migration_may_be_deleted() -> None:
    assert ids(step(migration(INIT, ADD_B), migration(ADD_B))) == []
    assert codes(step(migration(INIT, ADD_B), migration(ADD_B))) == []


def test_a_migration_that_comes_back_is_not_run_again() -> None:
    state = run(
        plan(healthy({}), everything(healthy(migration(INIT)))).plan, everything(healthy(migration(INIT)))
    )
    assert ids(plan(healthy(migration(INIT)), state)) == []


def test_a_partly_run_migration_that_is_deleted_is_left() -> None:
    two = "//// CHANGE name=c\nSET a = 1;\nSET b = 2;\n"
    state = first_statements(migration(two), 1)
    planned = plan(healthy({}), state)
    assert ids(planned) == []


# --- declarative tables ------------------------------------------------------------------


def test_a_declarative_table_is_created() -> None:
    planned = plan(healthy(table("CREATE TABLE s.t (a INT) USING parquet")))
    assert [(item.id, item.action) for item in planned.plan.operations] == [("setup.s.t", "create")]


def test_a_new_column_is_one_alter_in_setup() -> None:
    before, after = table("CREATE TABLE s.t (a INT)"), table("CREATE TABLE s.t (a INT, b INT, c INT)")
    planned = step(before, after)
    assert ids(planned) == ["setup.s.t.add_column.b", "setup.s.t.add_column.c"]
    assert not planned.plan.destructive
    clean_after(after, everything(healthy(before)), planned)


ICEBERG = "schemas: {s: ice.s}\ncatalogs: {ice: iceberg}\n"


def test_a_dropped_column_is_one_destructive_alter_in_teardown() -> None:
    before, after = (
        table("CREATE TABLE ice.s.t (a INT, b INT, c INT)"),
        table("CREATE TABLE ice.s.t (a INT, d INT)"),
    )
    planned = step(before, after, ICEBERG)
    assert ids(planned) == [
        "teardown.s.t.drop_column.b",
        "teardown.s.t.drop_column.c",
        "setup.s.t.add_column.d",
    ]
    assert [item.destructive for item in planned.plan.operations] == [True, True, False]
    clean_after(after, everything(healthy(before, ICEBERG)), planned, ICEBERG)


def test_what_cannot_be_altered_is_dropped_and_created() -> None:
    before, after = table("CREATE TABLE s.t (a INT, b INT)"), table("CREATE TABLE s.t (a STRING, b INT)")
    planned = step(before, after)
    assert ids(planned) == ["teardown.s.t", "setup.s.t"]
    assert [item.destructive for item in planned.plan.operations] == [True, False]
    clean_after(after, everything(healthy(before)), planned)


def test_a_recreated_table_gets_its_comment_and_indexes_again() -> None:
    index = "//// INDEX name=i\nCREATE INDEX i ON s.t (a)\n"
    before = table("//// METADATA comment=hi\nCREATE TABLE s.t (a INT, b INT)\n", index)
    after = table("//// METADATA comment=hi\nCREATE TABLE s.t (a STRING, b INT)\n", index)
    planned = step(before, after)
    assert ids(planned) == ["teardown.s.t", "setup.s.t", "setup.s.t.comment", "setup.s.t.i.index"]
    clean_after(after, everything(healthy(before)), planned)


def test_a_removed_declarative_table_is_dropped_and_that_is_destructive() -> None:
    planned = step(table("CREATE TABLE s.t (a INT)"), {})
    assert ids(planned) == ["teardown.s.t"]
    assert planned.plan.operations[0].destructive


def test_text_that_changes_nothing_that_can_be_compared_is_a_warning_once() -> None:
    before = table("CREATE TABLE s.t (a INT) USING parquet")
    after = table("CREATE TABLE IF NOT EXISTS s.t (a INT) USING parquet")
    state = everything(healthy(before))
    planned = plan(healthy(after), state)
    assert ids(planned) == []
    assert codes(planned, "warning") == ["SD423"]
    clean_after(after, state, planned)


def test_a_declaration_after_a_partial_run_goes_on_from_there() -> None:
    before, after = (
        table("CREATE TABLE ice.s.t (a INT, b INT)"),
        table("CREATE TABLE ice.s.t (a INT, c INT, d INT)"),
    )
    state = everything(healthy(before, ICEBERG))
    whole = plan(healthy(after, ICEBERG), state)
    for count in range(len(whole.plan.operations) + 1):
        part = run(whole.plan, state, whole.plan.operations[:count])
        rest = plan(healthy(after, ICEBERG), part)
        assert ids(rest) == ids(whole)[count:]
        assert known(run(rest.plan, part)) == known(run(whole.plan, state))


# --- scripted and declarative ------------------------------------------------------------


def test_a_declaration_that_becomes_a_script_needs_a_baseline() -> None:
    planned = step(table("CREATE TABLE s.t (a INT)"), table(INIT, ADD_B))
    (error,) = planned.plan.errors
    assert error.code == "SD404"
    assert "sparkdeploy baseline --select s.t" in error.advice


def test_a_script_that_becomes_a_declaration_is_taken_as_deployed_with_a_warning() -> None:
    before, after = table(INIT, ADD_B), table("CREATE TABLE s.t (a INT, b INT)")
    state = everything(healthy(before))
    planned = plan(healthy(after), state)
    assert ids(planned) == []
    assert codes(planned, "warning") == ["SD422"]
    clean_after(after, state, planned)


def test_a_script_that_became_a_declaration_is_a_declaration_from_then_on() -> None:
    before, after = table(INIT, ADD_B), table("CREATE TABLE s.t (a INT, b INT)")
    state = everything(healthy(before))
    settled = run(plan(healthy(after), state).plan, state)
    assert not settled[name("s.t")].scripted
    assert ids(plan(healthy(table("CREATE TABLE s.t (a INT, b INT, c INT)")), settled)) == [
        "setup.s.t.add_column.c"
    ]
    assert ids(plan(healthy({}), settled)) == ["teardown.s.t"]


# --- changes of kind ---------------------------------------------------------------------

KINDS = {
    "view": ("s/view/x.sql", "CREATE VIEW s.x AS SELECT 1 AS a"),
    "function": ("s/function/x.sql", "CREATE FUNCTION s.x() RETURNS INT RETURN 1"),
    "materialized_view": ("s/materialized_view/x.sql", "CREATE MATERIALIZED VIEW s.x AS SELECT 1 AS a"),
    "declarative": ("s/table/x.sql", "CREATE TABLE s.x (a INT)"),
    "scripted": ("s/table/x.sql", "//// CHANGE name=init\nCREATE TABLE s.x (a INT);\n"),
    "data": ("s/data/x.csv", "-- //// METADATA keys=k\nk,v\n1,1\n"),
    "sink": ("s/sink/x.sql", "INSERT OVERWRITE DIRECTORY '/x' SELECT 1"),
    "migration": ("s/migration/x.sql", "//// CHANGE name=one\nSET x = 1;\n"),
}
IN_CATALOG = {"view": "VIEW", "function": "FUNCTION", "materialized_view": "VIEW", "declarative": "TABLE", "scripted": "TABLE", "data": "TABLE"}  # fmt: skip


CHANGES_OF_KIND = [
    (old, new) for old in KINDS for new in KINDS if old != new and {old, new} != {"declarative", "scripted"}
]


@pytest.mark.parametrize(("old", "new"), CHANGES_OF_KIND)
def test_a_change_of_kind_drops_the_old_and_makes_the_new(old: str, new: str) -> None:
    before, after = dict([KINDS[old]]), dict([KINDS[new]])
    state = everything(healthy(before))
    planned = plan(healthy(after), state)
    drops = [item for item in planned.plan.operations if item.phase == "teardown"]
    if old in IN_CATALOG:
        assert [item.sql for item in drops] == [f"DROP {IN_CATALOG[old]} IF EXISTS `s`.`x`"]
        assert drops[0].destructive == (old in ("declarative", "scripted"))
    else:
        assert drops == []
    made = [(item.id, item.action, item.sql) for item in planned.plan.operations if item.phase != "teardown"]
    fresh = [(item.id, item.action, item.sql) for item in plan(healthy(after)).plan.operations]
    assert made == fresh, "what is made is what a first deployment makes"
    assert known(run(planned.plan, state)) == known(everything(healthy(after)))
    clean_after(after, state, planned)


def test_a_change_of_kind_redeploys_the_dependents() -> None:
    view = {"t/view/v.sql": "CREATE VIEW t.v AS SELECT a FROM s.x"}
    planned = step(dict([KINDS["view"]]) | view, dict([KINDS["declarative"]]) | view)
    assert ids(planned) == ["teardown.s.x", "setup.s.x", "setup.t.v"]


# --- another physical name ---------------------------------------------------------------


@pytest.mark.parametrize("kind", ["view", "declarative", "data"])
def test_an_object_that_is_mapped_elsewhere_is_made_there_and_dropped_here(kind: str) -> None:
    path, text = KINDS[kind]
    files = {path: text.replace("s.x", "${s}.x")}
    state = everything(healthy(files))
    planned = plan(healthy(files, "schemas: {s: moved}"), state)
    drops = [item for item in planned.plan.operations if item.phase == "teardown"]
    made = [item for item in planned.plan.operations if item.phase == "setup"]
    assert [item.sql for item in drops] == [f"DROP {IN_CATALOG[kind]} IF EXISTS `s`.`x`"]
    assert made[0].action == "create"
    assert "moved" in made[0].sql


def test_a_script_that_is_mapped_elsewhere_is_not_altered_as_if_it_were_there() -> None:
    files = table(INIT.replace("s.t", "t"))
    more = table(INIT.replace("s.t", "t"), ADD_B.replace("s.t", "t"))
    planned = plan(healthy(more, "schemas: {s: moved}"), everything(healthy(files)))
    assert codes(planned), "moved.t does not exist: altering it cannot be right"


# --- indexes -----------------------------------------------------------------------------

I_A = "//// INDEX name=i\nCREATE INDEX i ON s.t (a)\n"
I_B = "//// INDEX name=i\nCREATE INDEX i ON s.t (a, b)\n"
J = "//// INDEX name=j\nCREATE INDEX j ON s.t (a)\n"


@pytest.mark.parametrize("body", [INIT, "CREATE TABLE s.t (a INT)\n"])
def test_indexes_are_compared_apart(body: str) -> None:
    state = everything(healthy(table(body, I_A)))
    assert ids(plan(healthy(table(body, I_A)), state)) == []
    assert ids(plan(healthy(table(body, I_A, J)), state)) == ["setup.s.t.j.index"]
    assert ids(plan(healthy(table(body, I_B)), state)) == ["teardown.s.t.i.index", "setup.s.t.i.index"]
    assert ids(plan(healthy(table(body)), state)) == ["teardown.s.t.i.index"]
    for after in (table(body, I_A, J), table(body, I_B), table(body)):
        planned = plan(healthy(after), state)
        assert planned.plan.dirty["objects"] == ()
        assert planned.plan.dirty["schemas"] == ()
        clean_after(after, state, planned)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (table(INIT), table(INIT, ADD_B, I_B), ["setup.s.t.add_b.1", "setup.s.t.i.index"]),
        (table(INIT, I_A), table(INIT, ADD_B, I_B), ["teardown.s.t.i.index", "setup.s.t.add_b.1", "setup.s.t.i.index"]),
        (table(INIT, I_A), table(INIT, ADD_B), ["teardown.s.t.i.index", "setup.s.t.add_b.1"]),
        (
            table("CREATE TABLE s.t (a INT)\n"),
            table("CREATE TABLE s.t (a INT, b INT)\n", I_B),
            ["setup.s.t.add_column.b", "setup.s.t.i.index"],
        ),
        (
            {"s/data/t.csv": "-- //// METADATA keys=a\na,b\n1,1\n"},
            {"s/materialized_view/t.sql": "CREATE MATERIALIZED VIEW s.t AS SELECT 1 AS a\n" + I_A},
            ["teardown.s.t", "setup.s.t", "setup.s.t.i.index"],
        ),
        (
            {"s/materialized_view/t.sql": "CREATE MATERIALIZED VIEW s.t AS SELECT 1 AS a\n"},
            {"s/materialized_view/t.sql": "CREATE MATERIALIZED VIEW s.t AS SELECT 2 AS a\n" + I_A},
            ["setup.s.t", "setup.s.t.i.index"],
        ),
    ],
)  # fmt: skip
def test_an_index_that_changes_with_its_object_is_in_the_same_plan(
    before: Files, after: Files, expected: list[str]
) -> None:
    planned = step(before, after)
    assert ids(planned) == expected
    clean_after(after, everything(healthy(before)), planned)


# --- partly deployed changes -------------------------------------------------------------

THREE = [f"ALTER TABLE s.t ADD COLUMNS ({column} INT);\n" for column in "xyz"]


def three(*statements: str) -> dict[str, str]:
    return table(INIT, "//// CHANGE name=more\n", *statements)


def partial(done: int) -> dict[ObjectName, DeployedObject]:
    return first_statements(three(*THREE), 1 + done)


@pytest.mark.parametrize("done", range(4))
def test_a_change_goes_on_where_it_stopped(done: int) -> None:
    planned = plan(healthy(three(*THREE)), partial(done))
    assert ids(planned) == [f"setup.s.t.more.{number}" for number in range(done + 1, 4)]
    assert known(run(planned.plan, partial(done))) == known(everything(healthy(three(*THREE))))


def test_statements_that_have_not_run_may_be_corrected() -> None:
    fixed = three(THREE[0], "ALTER TABLE s.t ADD COLUMNS (yy INT);\n", THREE[2])
    planned = plan(healthy(fixed), partial(1))
    assert ids(planned) == ["setup.s.t.more.2", "setup.s.t.more.3"]
    assert "yy" in planned.plan.operations[0].sql
    clean_after(fixed, partial(1), planned)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_there_may_be_more_or_fewer_of_them(count: int) -> None:
    fixed = three(THREE[0], *(f"ALTER TABLE s.t ADD COLUMNS (n{number} INT);\n" for number in range(count)))
    planned = plan(healthy(fixed), partial(1))
    assert ids(planned) == [f"setup.s.t.more.{number}" for number in range(2, count + 2)]
    clean_after(fixed, partial(1), planned)


def test_a_change_that_ends_where_it_stopped_is_done() -> None:
    """The statement that failed was taken out: nothing is left to run, and that is known."""
    fixed = three(*THREE[:2])
    planned = plan(healthy(fixed), partial(2))
    assert ids(planned) == []
    clean_after(fixed, partial(2), planned)


def test_statements_that_have_run_must_not_change() -> None:
    planned = plan(healthy(three("ALTER TABLE s.t ADD COLUMNS (xx INT);\n", *THREE[1:])), partial(1))
    assert codes(planned) == ["SD402"]
    assert "partly" in planned.plan.errors[0].message
    assert codes(plan(healthy(three(THREE[1], THREE[0], THREE[2])), partial(2))) == ["SD402"]
    assert codes(plan(healthy(three(THREE[0])), partial(2))) == ["SD402"]


def test_changes_behind_a_partial_one_wait_for_it() -> None:
    files = three(*THREE, ADD_C)
    planned = plan(healthy(files), partial(1))
    assert ids(planned) == ["setup.s.t.more.2", "setup.s.t.more.3", "setup.s.t.add_c.1"]
    assert "setup.s.t.more.3" in operation(planned, "setup.s.t.add_c.1").depends_on


# --- rollback ----------------------------------------------------------------------------

R_INIT = INIT + "// ROLLBACK\nDROP TABLE s.t;\n"
R_ADD_B = ADD_B + "// ROLLBACK\nALTER TABLE s.t DROP COLUMN b;\n"
R_ADD_C = ADD_C + "// ROLLBACK\nALTER TABLE s.t DROP COLUMN c;\nREFRESH TABLE s.t;\n"


def rollback(before: Files, after: Files) -> Planned:
    return step(before, after, rollback=True)


def test_rollback_undoes_the_last_change_first_with_the_text_from_the_log() -> None:
    state = everything(healthy(table(R_INIT, R_ADD_B, R_ADD_C)))
    planned = plan(healthy(table(R_INIT)), state, rollback=True)
    assert [item.sql for item in planned.plan.operations] == [
        "ALTER TABLE s.t DROP COLUMN c",
        "REFRESH TABLE s.t",
        "ALTER TABLE s.t DROP COLUMN b",
    ]
    assert {item.phase for item in planned.plan.operations} == {"teardown"}
    assert all(item.destructive for item in planned.plan.operations)
    assert [item.change for item in planned.plan.operations] == ["add_c", "add_c", "add_b"]
    assert known(run(planned.plan, state)) == known(everything(healthy(table(R_INIT))))


def test_the_ids_of_a_rollback_count_within_each_change() -> None:
    planned = rollback(table(R_INIT, R_ADD_B, R_ADD_C), table(R_INIT))
    assert ids(planned) == [
        "teardown.s.t.add_c.rollback.1",
        "teardown.s.t.add_c.rollback.2",
        "teardown.s.t.add_b.rollback.1",
    ]
    assert [item.statement for item in planned.plan.operations] == [1, 2, 1]


def test_rollback_of_a_whole_table() -> None:
    state = everything(healthy(table(R_INIT, R_ADD_B)))
    planned = plan(healthy({}), state, rollback=True)
    assert [item.sql for item in planned.plan.operations] == [
        "ALTER TABLE s.t DROP COLUMN b",
        "DROP TABLE s.t",
    ]
    assert run(planned.plan, state) == {}


def test_rollback_without_a_recorded_text_is_an_error_and_all_are_named() -> None:
    planned = rollback(table(INIT, ADD_B, R_ADD_C), table(INIT))
    assert codes(planned) == ["SD405"]
    assert "add_b" in planned.plan.errors[0].message
    assert ids(planned) == []
    assert codes(rollback(table(INIT, ADD_B), {})) == ["SD405", "SD405"]


def test_rollback_uses_the_text_that_was_recorded_not_the_newest() -> None:
    """The file may have changed its rollback since: headers and rollbacks are not hashed."""
    state = everything(healthy(table(R_INIT, R_ADD_B)))
    assert ids(plan(healthy(table(R_INIT, R_ADD_B.replace("DROP COLUMN b", "DROP COLUMN bb"))), state)) == []
    planned = plan(healthy(table(R_INIT)), state, rollback=True)
    assert [item.sql for item in planned.plan.operations] == ["ALTER TABLE s.t DROP COLUMN b"]


def test_rollback_brings_stateless_objects_back_too() -> None:
    before = table(R_INIT) | {"s/view/v.sql": "CREATE VIEW s.v AS SELECT a FROM s.t"}
    after = table(R_INIT, R_ADD_B) | {
        "s/view/v.sql": "CREATE VIEW s.v AS SELECT a, b FROM s.t",
        "s/view/w.sql": "CREATE VIEW s.w AS SELECT b FROM s.t",
    }
    planned = rollback(after, before)
    assert ids(planned) == ["teardown.s.w", "teardown.s.t.add_b.rollback.1", "setup.s.v"]
    assert known(run(planned.plan, everything(healthy(after)))) == known(everything(healthy(before)))


def test_rollback_of_a_partly_deployed_change() -> None:
    text = "//// CHANGE name=more\nALTER TABLE s.t ADD COLUMNS (x INT);\nALTER TABLE s.t ADD COLUMNS (y INT);\n// ROLLBACK\nALTER TABLE s.t DROP COLUMN x;\n"
    state = first_statements(table(R_INIT, text), 2)
    planned = plan(healthy(table(R_INIT)), state, rollback=True)
    assert [item.sql for item in planned.plan.operations] == ["ALTER TABLE s.t DROP COLUMN x"]
    assert known(run(planned.plan, state)) == known(everything(healthy(table(R_INIT))))


def test_rollback_of_a_migration_where_it_has_a_text() -> None:
    one = "//// CHANGE name=one\nSET x = 1;\n// ROLLBACK\nSET x = 0;\n"
    two = "//// CHANGE name=two\nSET y = 1;\n"
    planned = rollback(migration(one, two), migration(two))
    assert [item.sql for item in planned.plan.operations] == ["SET x = 0"]
    assert codes(planned) == []
    assert ids(rollback(migration(one, two), migration(one))) == []


def test_a_rollback_goes_on_after_its_first_statement() -> None:
    """The column is gone already: dropping it again would fail."""
    state = everything(healthy(table(R_INIT, R_ADD_C)))
    whole = plan(healthy(table(R_INIT)), state, rollback=True)
    part = run(whole.plan, state, whole.plan.operations[:1])
    rest = plan(healthy(table(R_INIT)), part, rollback=True)
    assert [item.sql for item in rest.plan.operations] == ["REFRESH TABLE s.t"]


def test_a_drop_in_two_statements_goes_on_after_the_first() -> None:
    text = INIT + "//// CHANGE name=bye DROP_TABLE\nALTER TABLE s.t RENAME TO s.old;\nDROP TABLE s.old;\n"
    state = everything(healthy(table(INIT)))
    whole = plan(healthy(table(text)), state)
    part = run(whole.plan, state, whole.plan.operations[:1])
    rest = plan(healthy(table(text)), part)
    assert [item.sql for item in rest.plan.operations] == ["DROP TABLE s.old"]


def test_a_rollback_respects_the_order_in_which_interleaved_changes_were_made() -> None:
    """a.init, b.init (needs a.init), a.more (needs b.init) are undone the other way round."""
    files = {
        "s/table/a.sql": "//// CHANGE name=init\nCREATE TABLE s.a (x INT);\n// ROLLBACK\nDROP TABLE s.a;\n"
        "//// CHANGE name=more dependencies=s.b.init\nALTER TABLE s.a ADD COLUMNS (y INT);\n// ROLLBACK\nALTER TABLE s.a DROP COLUMN y;\n",
        "s/table/b.sql": "//// CHANGE name=init dependencies=s.a.init\nCREATE TABLE s.b (x INT);\n// ROLLBACK\nDROP TABLE s.b;\n",
    }  # fmt: skip
    assert ids(plan(healthy(files))) == ["setup.s.a.init.1", "setup.s.b.init.1", "setup.s.a.more.1"]
    planned = rollback(files, {})
    assert [item.sql for item in planned.plan.operations] == [
        "ALTER TABLE s.a DROP COLUMN y",
        "DROP TABLE s.b",
        "DROP TABLE s.a",
    ]


def test_a_baselined_change_is_rolled_back_in_the_order_of_the_file() -> None:
    squashed = "//// CHANGE name=all baselinedChanges=init,add_b\nCREATE TABLE s.t (a INT, b INT);\n// ROLLBACK\nDROP TABLE s.t;\n"
    state = everything(healthy(table(INIT, ADD_B, R_ADD_C)))
    noted = run(plan(healthy(table(squashed, R_ADD_C)), state).plan, state)
    planned = plan(healthy({}), noted, rollback=True)
    assert [item.sql for item in planned.plan.operations][-1] == "DROP TABLE s.t"


@pytest.mark.parametrize("older", [table(INIT, ADD_B), table(SQUASHED), table(SQUASHED, INIT, ADD_B)])
@pytest.mark.parametrize("again", ["all", "all,init,add_b"])
def test_a_squash_of_a_squash_comes_apart_into_what_the_older_repository_has(
    older: Files, again: str
) -> None:
    state = deploy(healthy(table(INIT, ADD_B)))
    for files in (table(SQUASHED), table(AGAIN.format(again))):
        state = run(plan(healthy(files), state).plan, state)
    planned = plan(healthy(older), state, rollback=True)
    assert (ids(planned), planned.plan.errors) == ([], ())
    state = run(planned.plan, state)
    assert known(state) == known(everything(healthy(older)))


def test_a_squash_of_which_the_older_repository_has_only_some_stays_whole() -> None:
    state = everything(healthy(table(SQUASHED)))
    assert codes(plan(healthy(table(INIT)), state, rollback=True)) == ["SD405"]


# --- the whole source graph comes first --------------------------------------------------


def test_a_cycle_and_a_fatal_change_are_reported_together() -> None:
    after = table(INIT.replace("a INT", "z INT")) | {
        "s/view/a.sql": "CREATE VIEW s.a AS SELECT * FROM s.b",
        "s/view/b.sql": "CREATE VIEW s.b AS SELECT * FROM s.a",
    }
    assert codes(step(table(INIT), after)) == ["SD310", "SD402"]


def test_two_objects_that_are_deployed_in_turn_are_both_known() -> None:
    """The state is kept by object, not by the latest deployment of a schema."""
    one, two = stateless("view"), {"s/view/y.sql": "CREATE VIEW s.y AS SELECT 1 AS a"}
    found = healthy({**one, **two}, QUIET)
    state = deploy(found, None, select=("s.x",))
    state = deploy(found, state, select=("s.y",))
    assert ids(plan(found, state)) == []


def test_names_that_join_to_the_same_text_are_different_objects() -> None:
    before = {"a_b/view/c.sql": "CREATE VIEW a_b.c AS SELECT 1 AS x"}
    after = before | {"a/view/b_c.sql": "CREATE VIEW a.b_c AS SELECT 1 AS x"}
    assert ids(step(before, after)) == ["setup.a.b_c"]


def test_a_schema_called_select_is_not_new_at_every_deploy() -> None:
    files = {"select/view/from.sql": "CREATE VIEW `select`.`from` AS SELECT 1 AS x"}
    state = deploy(healthy(files))
    assert ids(plan(healthy(files), state)) == []


def test_the_recorded_state_is_what_a_plan_starts_from_not_its_order() -> None:
    files = {**stateless("view"), **table(INIT, ADD_B)}
    state = everything(healthy(files))
    assert ids(plan(healthy(files), dict(reversed(list(state.items()))))) == []


def test_a_change_that_the_environment_leaves_out_is_not_missing() -> None:
    """Deployed in full before the header was added: what an environment skips is not removed."""
    limited = INIT + ADD_B.replace("name=add_b", "name=add_b excludeEnvs=default")
    assert ids(plan(healthy(table(limited)))) == ["setup.s.t.init.1"]


# --- what a log must not believe ---------------------------------------------------------


def test_a_table_that_is_half_altered_is_altered_back_when_its_file_is() -> None:
    """The text is the one that was deployed once, and the table is not as it says."""
    before, after = table("CREATE TABLE ice.s.t (a INT)"), table("CREATE TABLE ice.s.t (a INT, b INT, c INT)")
    state = everything(healthy(before, ICEBERG))
    planned = plan(healthy(after, ICEBERG), state)
    half = run(planned.plan, state, planned.plan.operations[:1])
    assert ids(plan(healthy(before, ICEBERG), half)) == ["teardown.s.t.drop_column.b"]


def test_a_header_that_is_taken_back_is_noted_again() -> None:
    plain, protected = (
        stateless("view"),
        {"s/view/x.sql": f"//// METADATA lifecycle=protected\n{STATELESS['view'][0]}"},
    )
    state = everything(healthy(plain))
    for files in (protected, plain):
        state = run(plan(healthy(files), state).plan, state)
    assert ids(plan(healthy({}), state)) == ["teardown.s.x"]


def test_the_compute_of_an_index_is_noted() -> None:
    before, after = table(INIT, I_A), table(INIT, I_A.replace("name=i", "name=i compute=etl"))
    state = everything(healthy(before))
    planned = plan(healthy(after), state)
    assert ids(planned) == []
    assert known(run(planned.plan, state)) == known(everything(healthy(after)))


def test_an_external_object_is_not_dropped_by_what_takes_its_name() -> None:
    before = {"s/function/x.sql": "//// METADATA lifecycle=external\n" + STATELESS["function"][0]}
    state = everything(healthy(before))
    planned = plan(healthy(stateless("view")), state)
    assert [(item.id, item.action) for item in planned.plan.operations] == [("setup.s.x", "create")]
    clean_after(stateless("view"), state, planned)


def test_a_sink_that_became_a_dropped_table_is_forgotten() -> None:
    after = {"s/table/x.sql": "//// METADATA DROP_TABLE\nCREATE TABLE s.x (a INT)"}
    state = everything(healthy(stateless("sink")))
    planned = plan(healthy(after), state)
    assert ids(planned) == []
    clean_after(after, state, planned)


def test_a_partly_rolled_back_change_is_not_taken_as_deployed() -> None:
    state = everything(healthy(table(R_INIT, R_ADD_C)))
    undoing = plan(healthy(table(R_INIT)), state, rollback=True)
    half = run(undoing.plan, state, undoing.plan.operations[:1])
    assert codes(plan(healthy(table(R_INIT, R_ADD_C)), half)) == ["SD407"]


def test_an_interleaved_table_can_be_dropped_by_its_last_change() -> None:
    files = {
        "s/table/a.sql": "//// CHANGE name=init\nCREATE TABLE s.a (x INT);\n//// CHANGE name=more dependencies=s.b.init\nALTER TABLE s.a ADD COLUMNS (y INT);\n",
        "s/table/b.sql": "//// CHANGE name=init dependencies=s.a.init\nCREATE TABLE s.b (x INT);\n",
    }  # fmt: skip
    after = files | {
        "s/table/a.sql": files["s/table/a.sql"] + "//// CHANGE name=bye DROP_TABLE\nDROP TABLE s.a;\n"
    }
    assert ids(step(files, after)) == ["teardown.s.a.bye.1"]


def test_an_index_goes_also_where_the_text_of_its_table_changed_without_a_difference() -> None:
    before, after = (
        table("CREATE TABLE s.t (a INT, b INT)\n", I_A),
        table("CREATE TABLE IF NOT EXISTS s.t (a INT, b INT)\n"),
    )
    state = everything(healthy(before))
    planned = plan(healthy(after), state)
    assert ids(planned) == ["teardown.s.t.i.index"]
    clean_after(after, state, planned)


def test_a_new_header_does_not_make_up_for_a_redeployment_that_is_due() -> None:
    """A plan noted the header of an object that it was to redeploy, and was killed before that."""
    before = {"s/view/v.sql": "CREATE VIEW s.v AS SELECT 1 AS a"}
    after = healthy({"s/view/v.sql": "//// METADATA compute=etl\n" + before["s/view/v.sql"]})
    state = everything(healthy(before))
    apply_effect(state, Due(name("s.v")))
    first = plan(after, state)
    assert ids(first) == ["setup.s.v"]
    state = run(first.plan, state, ())
    assert ids(plan(after, state)) == ["setup.s.v"]
    assert ids(plan(after, run(first.plan, state))) == []

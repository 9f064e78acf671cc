"""Deploy log x catalog: four policies, and everything that a catalog can say."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from sketch import codes, deploy, everything, healthy, ids, known, name, operation, plan, run

from airflow_provider_sparkdeploy.core.catalog import Catalog, ObservedObject, decode_catalog, encode_catalog
from airflow_provider_sparkdeploy.core.names import ObjectName
from airflow_provider_sparkdeploy.core.objects import Column, TableDef
from airflow_provider_sparkdeploy.core.planner import Planned
from airflow_provider_sparkdeploy.core.reconcile import MISSING, find_drift, reconcile
from airflow_provider_sparkdeploy.core.repository import Repository
from airflow_provider_sparkdeploy.core.signature import Signature
from airflow_provider_sparkdeploy.core.state import DeployedIndex, DeployedObject

POLICIES = ("heal", "adopt", "warn", "fail")
FILES = {
    "s/table/script.sql": "//// CHANGE name=init\nCREATE TABLE s.script (a INT) USING parquet;\n",
    "s/table/decl.sql": "CREATE TABLE s.decl (a INT, b STRING) USING parquet",
    "s/view/v.sql": "CREATE VIEW s.v AS SELECT 1 AS a",
    "s/function/f.sql": "CREATE FUNCTION s.f(x INT) RETURNS INT RETURN x + 1",
    "s/materialized_view/m.sql": "CREATE MATERIALIZED VIEW s.m AS SELECT 2 AS a",
    "s/data/d.csv": "-- //// METADATA keys=k\nk,w\n1,x\n",
    "s/sink/out.sql": "INSERT OVERWRITE DIRECTORY '/x' SELECT 3 AS a",
    "s/migration/once.sql": "//// CHANGE name=one\nSET x = 1;\n",
}
QUIET = "propagation: {schema: false}\n"
STATELESS = ("v", "f", "m", "d")
ALL = ("script", "decl", *STATELESS)


def repository(policy: str = "heal", files: dict[str, str] | None = None) -> Repository:
    return healthy(files or FILES, f"{QUIET}on_drift: {policy}\n")


def columns(*pairs: tuple[str, str]) -> tuple[Column, ...]:
    return tuple(Column(column, type) for column, type in pairs)


def observed(found: Repository) -> dict[ObjectName, ObservedObject]:
    """What a catalog says in which everything is as deployed."""
    hashes = {key.object: item.body.hash for key, item in found.objects.items()}
    return {
        name("s.script"): ObservedObject("table", TableDef(columns(("a", "int")), "parquet")),
        name("s.decl"): ObservedObject("table", TableDef(columns(("a", "int"), ("b", "string")), "parquet")),
        name("s.v"): ObservedObject("view", TableDef(columns(("a", "int"))), "select 1 as a"),
        name("s.f"): ObservedObject("function", text="x + 1"),
        name("s.m"): ObservedObject("materialized_view", marker=hashes["m"]),
        name("s.d"): ObservedObject("table", TableDef(columns(("k", "bigint"), ("w", "string")), "parquet")),
    }


DRIFTED = {
    "script": {"definition": TableDef(columns(("a", "int"), ("x", "int")), "parquet")},
    "decl": {"definition": TableDef(columns(("a", "int")), "parquet")},
    "v": {"text": "SELECT 99 AS a"},
    "f": {"text": "x + 99"},
    "m": {"marker": "1:other"},
    "d": {"definition": TableDef(columns(("k", "bigint")), "parquet")},
}


def deployed(found: Repository) -> dict[ObjectName, DeployedObject]:
    """Everything, and what an executor learned about the columns of the script."""
    state = everything(found)
    script = name("s.script")
    state[script] = replace(
        state[script], definition=TableDef(columns(("a", "int"), ("x", "int")), "parquet")
    )
    return state


def settle(policy: str, object: str, change: ObservedObject | None, *, known: bool = True) -> Planned:
    """The plan when the catalog says ``change`` of one object (None: it is not there)."""
    found = repository(policy)
    catalog = observed(found)
    state = everything(found)
    if not known:
        del state[name(f"s.{object}")]
    if change is None:
        del catalog[name(f"s.{object}")]
    else:
        catalog[name(f"s.{object}")] = change
    return plan(found, state, catalog=Catalog(catalog))


def drifted(object: str) -> ObservedObject:
    return replace(observed(repository())[name(f"s.{object}")], **DRIFTED[object])


# --- nothing wrong -----------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES)
def test_a_catalog_that_is_as_deployed_gives_nothing_to_do(policy: str) -> None:
    found = repository(policy)
    planned = plan(found, everything(found), catalog=Catalog(observed(found)))
    assert ids(planned) == []
    assert planned.plan.diagnostics == ()
    assert planned.plan.notes == ()


def test_without_a_catalog_the_log_is_believed() -> None:
    found = repository()
    state = everything(found)
    assert reconcile(found, state, None).state == state
    assert reconcile(found, state, None).drift == {}


def test_what_a_catalog_does_not_hold_is_not_looked_for_there() -> None:
    """Sinks and migrations leave nothing behind that a catalog could show."""
    found = repository()
    reconciled = reconcile(found, everything(found), Catalog(observed(found)))
    assert {name("s.out"), name("s.once")} <= set(reconciled.state)


def test_case_comments_and_blanks_of_a_query_are_no_drift() -> None:
    found = repository()
    catalog = observed(found)
    catalog[name("s.v")] = ObservedObject("view", text="SELECT  1 -- one\n AS a")
    assert ids(plan(found, everything(found), catalog=Catalog(catalog))) == []


def test_what_the_declaration_leaves_to_the_catalog_is_no_drift() -> None:
    files = {"s/table/t.sql": "CREATE TABLE s.t (a INT)"}
    found = healthy(files)
    seen = TableDef(columns(("a", "int")), "parquet", (), (("transient_lastDdlTime", "1"), ("x", "y")))
    catalog = Catalog({name("s.t"): ObservedObject("table", seen)})
    assert ids(plan(found, everything(found), catalog=catalog)) == []


# --- missing -----------------------------------------------------------------------------


@pytest.mark.parametrize("object", ALL)
@pytest.mark.parametrize("policy", ["heal", "adopt", "warn"])
def test_what_is_missing_is_not_deployed(policy: str, object: str) -> None:
    planned = settle(policy, object, None)
    operations = planned.plan.operations
    assert {item.object.object for item in operations} == {object}
    assert {item.phase for item in operations} == {"setup"}
    assert operations[0].action == "create"
    assert operations[0].reasons == (("drift", MISSING),)
    assert codes(planned) == []
    assert codes(planned, "warning") == (["SD430"] if policy == "warn" else [])


@pytest.mark.parametrize("object", ALL)
def test_what_is_missing_stops_a_plan_that_may_not_drift(object: str) -> None:
    planned = settle("fail", object, None)
    assert codes(planned) == ["SD430"]
    assert f"s.{object}" in planned.plan.errors[0].message
    assert ids(planned) == []


def test_all_drift_is_reported_in_one_error() -> None:
    found = repository("fail")
    planned = plan(found, everything(found), catalog=Catalog({}))
    assert sorted(item.object for item in planned.plan.errors) == sorted(f"s.{object}" for object in ALL)


def test_what_was_not_looked_for_is_not_missing() -> None:
    found = repository()
    catalog = Catalog({}, looked_for=frozenset({name("s.v")}))
    assert ids(plan(found, everything(found), catalog=catalog)) == ["setup.s.v"]


def test_a_missing_script_runs_all_its_changes_again() -> None:
    files = {
        "s/table/t.sql": "//// CHANGE name=a\nCREATE TABLE s.t (a INT);\n//// CHANGE name=b\nALTER TABLE s.t ADD COLUMNS (b INT);\n"
    }
    found = healthy(files)
    planned = plan(found, everything(found), catalog=Catalog({}))
    assert ids(planned) == ["setup.s.t.a.1", "setup.s.t.b.1"]
    assert known(run(planned.plan, {})) == known(everything(found))


def test_what_is_missing_and_no_longer_declared_needs_no_drop() -> None:
    found = repository()
    state = everything(found)
    files = {path: text for path, text in FILES.items() if path != "s/view/v.sql"}
    assert ids(plan(repository(files=files), state, catalog=Catalog(
        {key: item for key, item in observed(found).items() if key != name("s.v")}
    ))) == []  # fmt: skip


def test_a_missing_object_is_a_reason_for_its_dependents() -> None:
    files = {
        "s/view/a.sql": "CREATE VIEW s.a AS SELECT 1 AS x",
        "t/view/b.sql": "CREATE VIEW t.b AS SELECT x FROM s.a",
    }
    found = healthy(files)
    catalog = Catalog({name("t.b"): ObservedObject("view", text="SELECT x FROM s.a")})
    planned = plan(found, everything(found), catalog=catalog)
    assert ids(planned) == ["setup.s.a", "setup.t.b"]
    assert operation(planned, "setup.t.b").reasons == (("dependency", "s.a"),)


# --- drifted -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("object", "expected"),
    [
        ("v", ["setup.s.v"]),
        ("f", ["setup.s.f"]),
        ("m", ["setup.s.m"]),
        ("decl", ["setup.s.decl.add_column.b"]),
        ("d", ["teardown.s.d", "setup.s.d.create", "setup.s.d.load"]),
    ],
)
def test_heal_brings_back_what_is_declared(object: str, expected: list[str]) -> None:
    planned = settle("heal", object, drifted(object))
    assert ids(planned) == expected
    for item in planned.plan.operations:
        assert item.reasons[0][0] == "drift"
        assert item.reasons[0][1]
    assert planned.plan.diagnostics == ()


def test_heal_puts_the_declared_query_back() -> None:
    item = operation(settle("heal", "v", drifted("v")), "setup.s.v")
    assert item.sql == "ALTER VIEW `s`.`v` AS\nSELECT 1 AS a"


@pytest.mark.parametrize("object", ["decl", *STATELESS])
def test_healing_once_is_enough(object: str) -> None:
    found = repository()
    state = everything(found)
    catalog = observed(found) | {name(f"s.{object}"): drifted(object)}
    after = run(plan(found, state, catalog=Catalog(catalog)).plan, state)
    assert ids(plan(found, after, catalog=Catalog(observed(found)))) == []
    assert ids(plan(found, after)) == []


def test_a_drifted_script_is_altered_back_to_what_was_recorded() -> None:
    found = repository()
    planned = plan(found, deployed(found), catalog=Catalog(observed(found)))
    assert ids(planned) == ["setup.s.script.add_column.x"]
    after = run(planned.plan, deployed(found))
    assert known(after)[name("s.script")] == known(deployed(found))[name("s.script")]


def test_a_drifted_script_that_cannot_be_altered_back_is_an_error_with_the_reason() -> None:
    found = repository()
    catalog = observed(found)
    catalog[name("s.script")] = ObservedObject(
        "table", TableDef(columns(("a", "int"), ("x", "int"), ("y", "int")), "parquet")
    )
    planned = plan(found, deployed(found), catalog=Catalog(catalog))
    assert codes(planned) == ["SD432"]
    assert "drop column y" in planned.plan.errors[0].message


def test_a_healed_column_drop_is_destructive_and_in_teardown() -> None:
    files = {"s/table/t.sql": "CREATE TABLE ice.s.t (a INT)"}
    found = healthy(files, "schemas: {s: ice.s}\ncatalogs: {ice: iceberg}\n")
    catalog = Catalog(
        {name("s.t"): ObservedObject("table", TableDef(columns(("a", "int"), ("b", "int")), "iceberg"))}
    )
    planned = plan(found, everything(found), catalog=catalog)
    assert ids(planned) == ["teardown.s.t.drop_column.b"]
    assert planned.plan.operations[0].destructive


@pytest.mark.parametrize("object", ["decl", *STATELESS])
def test_adopt_accepts_what_is_there(object: str) -> None:
    found = repository("adopt")
    state = everything(found)
    catalog = Catalog(observed(found) | {name(f"s.{object}"): drifted(object)})
    planned = plan(found, state, catalog=catalog)
    assert ids(planned) == []
    assert planned.plan.diagnostics == ()
    after = run(planned.plan, state)
    again = plan(found, after, catalog=catalog)
    assert ids(again) == []
    if object != "m":  # all that is seen of a materialized view is that its marker differs
        assert again.plan.notes == (), "what is adopted is adopted once"
    assert ids(plan(found, after)) == []


@pytest.mark.parametrize("object", ["decl", *STATELESS])
def test_warn_says_so_and_does_nothing(object: str) -> None:
    planned = settle("warn", object, drifted(object))
    assert ids(planned) == []
    assert codes(planned) == []
    assert codes(planned, "warning") == ["SD430"]
    assert planned.plan.notes == ()


@pytest.mark.parametrize("object", ["decl", *STATELESS])
def test_fail_stops_the_plan(object: str) -> None:
    planned = settle("fail", object, drifted(object))
    assert codes(planned) == ["SD430"]
    assert planned.plan.errors[0].file.startswith("s/")
    assert ids(planned) == []


def test_drift_and_a_change_at_once_end_in_the_change() -> None:
    found = repository()
    state = everything(found)
    files = FILES | {"s/view/v.sql": "CREATE VIEW s.v AS SELECT 7 AS a"}
    planned = plan(
        repository(files=files), state, catalog=Catalog(observed(found) | {name("s.v"): drifted("v")})
    )
    assert operation(planned, "setup.s.v").sql == "ALTER VIEW `s`.`v` AS\nSELECT 7 AS a"


def test_indexes_that_are_gone_are_made_again() -> None:
    files = {"s/table/t.sql": "CREATE TABLE s.t (a INT)\n//// INDEX name=i\nCREATE INDEX i ON s.t (a)\n"}
    found = healthy(files)
    seen = TableDef(columns(("a", "int")))
    present = Catalog({name("s.t"): ObservedObject("table", seen, indexes=("i",))})
    gone = Catalog({name("s.t"): ObservedObject("table", seen, indexes=())})
    silent = Catalog({name("s.t"): ObservedObject("table", seen, indexes=None)})
    state = everything(found)
    assert ids(plan(found, state, catalog=present)) == []
    assert ids(plan(found, state, catalog=silent)) == []
    planned = plan(found, state, catalog=gone)
    assert ids(planned) == ["setup.s.t.i.index"]


def test_a_recorded_index_that_is_not_there_is_not_dropped() -> None:
    files = {"s/table/t.sql": "CREATE TABLE s.t (a INT)"}
    found = healthy(files)
    state = everything(found)
    state[name("s.t")] = replace(state[name("s.t")], indexes=(DeployedIndex("i", "h", "CREATE INDEX i"),))
    catalog = Catalog({name("s.t"): ObservedObject("table", TableDef(columns(("a", "int"))), indexes=())})
    assert ids(plan(found, state, catalog=catalog)) == []


# --- unknown to the log ------------------------------------------------------------------


SEEN = [
    "decl",
    *(name for name in STATELESS if name != "d"),
]  # the rows of a data file cannot be seen: they are loaded


@pytest.mark.parametrize("object", SEEN)
@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_there_as_declared_is_adopted(policy: str, object: str) -> None:
    found = repository(policy)
    planned = settle(policy, object, observed(found)[name(f"s.{object}")], known=False)
    assert ids(planned) == []
    assert planned.plan.notes
    state = {key: item for key, item in everything(found).items() if key != name(f"s.{object}")}
    after = run(planned.plan, state)
    assert after[name(f"s.{object}")].dependencies == everything(found)[name(f"s.{object}")].dependencies
    assert ids(plan(found, after, catalog=Catalog(observed(found)))) == []
    assert ids(plan(found, after)) == [], "and without a catalog"


def test_unknown_data_is_loaded_but_not_created() -> None:
    planned = settle("heal", "d", observed(repository())[name("s.d")], known=False)
    assert ids(planned) == ["setup.s.d.load"]


@pytest.mark.parametrize("policy", ["heal", "warn", "fail"])
def test_a_script_that_is_there_but_unknown_needs_a_decision(policy: str) -> None:
    planned = settle(policy, "script", observed(repository())[name("s.script")], known=False)
    assert codes(planned) == ["SD431"]
    assert "sparkdeploy baseline --select s.script" in planned.plan.errors[0].advice
    assert ids(planned) == []


def test_adopt_takes_the_changes_of_an_unknown_script_as_deployed() -> None:
    found = repository("adopt")
    planned = settle("adopt", "script", observed(found)[name("s.script")], known=False)
    assert ids(planned) == []
    assert codes(planned, "warning") == ["SD431"]
    state = {key: item for key, item in everything(found).items() if key != name("s.script")}
    assert known(run(planned.plan, state)) == known(everything(found))


@pytest.mark.parametrize(("object", "action"), [("v", "replace"), ("f", "replace"), ("m", "replace")])
def test_what_is_there_but_not_as_declared_is_replaced_not_created(object: str, action: str) -> None:
    planned = settle("heal", object, drifted(object), known=False)
    assert [item.action for item in planned.plan.operations] == [action]


def test_an_unknown_table_is_altered_to_its_declaration() -> None:
    planned = settle("heal", "decl", drifted("decl"), known=False)
    assert ids(planned) == ["setup.s.decl.add_column.b"]


def test_an_unknown_object_that_nothing_declares_is_left_alone() -> None:
    found = repository()
    catalog = Catalog(observed(found) | {name("s.stranger"): ObservedObject("table")})
    planned = plan(found, everything(found), catalog=catalog)
    assert ids(planned) == []
    assert planned.plan.notes == ()


def test_an_adopted_object_does_not_bring_indexes_that_are_not_there() -> None:
    files = {"s/table/t.sql": "CREATE TABLE s.t (a INT)\n//// INDEX name=i\nCREATE INDEX i ON s.t (a)\n"}
    found = healthy(files)
    catalog = Catalog({name("s.t"): ObservedObject("table", TableDef(columns(("a", "int"))), indexes=())})
    assert ids(plan(found, {}, catalog=catalog)) == ["setup.s.t.i.index"]


# --- another kind ------------------------------------------------------------------------


def test_heal_drops_what_is_of_another_kind_and_creates_what_is_declared() -> None:
    planned = settle("heal", "v", ObservedObject("table", TableDef(columns(("a", "int")))))
    assert ids(planned) == ["teardown.s.v", "setup.s.v"]
    drop, create = planned.plan.operations
    assert drop.sql == "DROP TABLE IF EXISTS `s`.`v`"
    assert drop.destructive, "it is a table now, whatever it was"
    assert create.action == "create"
    assert drop.reasons == (("drift", "is a table in the catalog"),)


def test_adopt_does_not_drop_what_is_of_another_kind() -> None:
    planned = settle("adopt", "v", ObservedObject("table", TableDef(columns(("a", "int")))))
    assert [item.id for item in planned.plan.operations if item.action == "drop"] == []


def test_warn_leaves_what_is_of_another_kind() -> None:
    planned = settle("warn", "v", ObservedObject("table", TableDef(columns(("a", "int")))))
    assert ids(planned) == []
    assert codes(planned, "warning") == ["SD430"]


def test_fail_reports_what_is_of_another_kind() -> None:
    planned = settle("fail", "v", ObservedObject("table", TableDef(columns(("a", "int")))))
    assert codes(planned) == ["SD430"]
    assert "is a table in the catalog" in planned.plan.errors[0].message


def test_an_unknown_object_of_another_kind_is_dropped_before_the_declared_one_is_made() -> None:
    planned = settle("heal", "v", ObservedObject("table"), known=False)
    assert ids(planned) == ["teardown.s.v", "setup.s.v"]
    assert planned.plan.operations[0].destructive


def test_a_plan_can_be_made_again_before_the_unknown_object_was_dropped() -> None:
    """Its kind is all that was recorded of it; it has no text to compare."""
    found = healthy({"s/table/t.sql": "CREATE TABLE s.t (a INT)"})
    catalog = Catalog({name("s.t"): ObservedObject("view", text="SELECT 1 AS a")})
    first = plan(found, {}, catalog=catalog)
    noted = run(first.plan, {}, [])
    assert ids(plan(found, noted, catalog=catalog)) == ids(first) == ["teardown.s.t", "setup.s.t"]


def test_a_script_that_became_a_view_starts_again() -> None:
    planned = settle("heal", "script", ObservedObject("view", text="SELECT 1 AS a"))
    assert ids(planned) == ["teardown.s.script", "setup.s.script.init.1"]
    assert planned.plan.operations[0].sql == "DROP VIEW IF EXISTS `s`.`script`"


# --- unreadable --------------------------------------------------------------------------


@pytest.mark.parametrize("object", ALL)
@pytest.mark.parametrize("policy", POLICIES)
def test_what_cannot_be_read_is_not_missing_and_not_drifted(policy: str, object: str) -> None:
    kind = observed(repository())[name(f"s.{object}")].kind
    planned = settle(policy, object, ObservedObject(kind, readable=False))
    assert ids(planned) == []
    assert codes(planned) == []
    assert codes(planned, "warning") == ["SD421"]
    assert planned.plan.notes == ()


def test_a_table_that_cannot_be_read_and_is_unknown_is_not_touched() -> None:
    """Nothing can be said about it: neither is it missing, nor is it without columns."""
    planned = settle("heal", "decl", ObservedObject("table", readable=False), known=False)
    assert ids(planned) == []
    assert "SD421" in codes(planned, "warning") + codes(planned)


@pytest.mark.parametrize("object", ["v", "f", "m"])
def test_a_stateless_object_that_cannot_be_read_and_is_unknown_is_replaced(object: str) -> None:
    """It exists, so it is not created; what it is does not matter to what it becomes."""
    kind = observed(repository())[name(f"s.{object}")].kind
    planned = settle("heal", object, ObservedObject(kind, readable=False), known=False)
    assert [item.action for item in planned.plan.operations] == ["replace"]


def test_what_cannot_be_read_is_still_deployed_when_it_changes() -> None:
    found = repository()
    files = FILES | {"s/view/v.sql": "CREATE VIEW s.v AS SELECT 7 AS a"}
    catalog = Catalog(observed(found) | {name("s.v"): ObservedObject("view", readable=False)})
    planned = plan(repository(files=files), everything(found), catalog=catalog)
    assert [item.action for item in planned.plan.operations] == ["replace"]


# --- external, inactive ------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", ["table", "view", None])
def test_an_external_object_is_not_judged(policy: str, kind: str | None) -> None:
    files = {"s/table/x.sql": "//// METADATA lifecycle=external\nCREATE TABLE s.x (a INT)"}
    found = healthy(files, f"on_drift: {policy}\n")
    seen = {name("s.x"): ObservedObject(kind)} if kind else {}  # type: ignore[arg-type]
    for state in ({}, everything(found)):
        planned = plan(found, state, catalog=Catalog(seen))
        assert ids(planned) == []
        assert planned.plan.diagnostics == ()


# --- scripted tables that become declarative ---------------------------------------------


def test_a_script_that_became_a_declaration_is_compared_with_the_catalog() -> None:
    """The warning without a catalog promises it."""
    before = {"s/table/t.sql": "//// CHANGE name=init\nCREATE TABLE s.t (a INT) USING parquet;\n"}
    after = {"s/table/t.sql": "CREATE TABLE s.t (a INT, b INT) USING parquet"}
    catalog = Catalog({name("s.t"): ObservedObject("table", TableDef(columns(("a", "int")), "parquet"))})
    planned = plan(healthy(after), everything(healthy(before)), catalog=catalog)
    assert ids(planned) == ["setup.s.t.add_column.b"]


# --- the catalog as JSON -----------------------------------------------------------------


def test_a_catalog_comes_back_from_json() -> None:
    seen = Catalog(
        observed(repository())
        | {
            name("s.x"): ObservedObject("table", indexes=("i",), readable=False),
            name("s.g"): ObservedObject("function", signature=Signature(columns(("x", "int")), "int")),
            name("s.h"): ObservedObject("function", signature=Signature(())),
        }
    )
    assert decode_catalog(json.loads(json.dumps(encode_catalog(seen)))) == seen


def test_a_catalog_comes_back_with_odd_names_and_with_what_was_looked_for() -> None:
    odd = ObjectName("a.b", "c d")
    definition = TableDef((Column("x y", "int", False, "c"),), "iceberg", ("x",), (("k", "v"),), "comment")
    seen = Catalog({odd: ObservedObject("table", definition)}, frozenset({odd}))
    assert decode_catalog(json.loads(json.dumps(encode_catalog(seen)))) == seen


def test_types_in_a_catalog_from_json_may_be_spelled_in_any_way() -> None:
    """A difference that is none would drop the table."""
    files = {
        "s/table/t.sql": "CREATE TABLE s.t (a INT, b DECIMAL(10, 2)) USING parquet",
        "s/function/f.sql": "CREATE FUNCTION s.f(x BIGINT) RETURNS INT RETURN 1",
    }
    found = healthy(files)
    function = {"kind": "function", "text": "1", "parameters": [{"name": "x", "type": "LONG"}]}
    columns = [{"name": "a", "type": "INTEGER"}, {"name": "b", "type": "dec(10,2)"}]
    objects = {
        "s.t": {"kind": "table", "provider": "parquet", "columns": columns},
        "s.f": {**function, "returns": "INTEGER"},
    }
    assert ids(plan(found, everything(found), catalog=decode_catalog({"objects": objects}))) == []


def test_a_kind_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match=r"s\.v is a sink, not one of table, view"):
        decode_catalog({"objects": {"s.v": {"kind": "sink"}}})


def test_plans_with_a_catalog_from_json_are_the_same() -> None:
    found = repository()
    state = deploy(found)
    seen = Catalog(observed(found))
    again = decode_catalog(json.loads(json.dumps(encode_catalog(seen))))
    assert plan(found, state, catalog=seen).plan == plan(found, state, catalog=again).plan


def test_a_missing_script_that_was_interrupted_goes_on_with_its_second_change() -> None:
    """Once its table is there again, nothing may look as if it were deployed from before."""
    files = {
        "s/table/t.sql": "//// CHANGE name=a\nCREATE TABLE s.t (a INT);\n//// CHANGE name=b\nALTER TABLE s.t ADD COLUMNS (b INT);\n"
    }
    found = healthy(files)
    state = everything(found)
    planned = plan(found, state, catalog=Catalog({}))
    half = run(planned.plan, state, planned.plan.operations[:1])
    back = Catalog({name("s.t"): ObservedObject("table", TableDef(columns(("a", "int"))))})
    assert ids(plan(found, half, catalog=back)) == ["setup.s.t.b.1"]


def test_a_table_that_is_to_go_is_dropped_also_where_the_log_does_not_know_it() -> None:
    found = healthy(
        {"s/table/t.sql": "//// METADATA DROP_TABLE\n//// CHANGE name=a\nCREATE TABLE s.t (a INT);\n"}
    )
    catalog = Catalog({name("s.t"): ObservedObject("table", TableDef(columns(("a", "int"))))})
    planned = plan(found, {}, catalog=catalog)
    assert ids(planned) == ["teardown.s.t"]
    assert planned.plan.operations[0].destructive


def test_a_table_that_is_called_like_a_sink_is_left_alone() -> None:
    found = healthy({"s/sink/out.sql": "INSERT OVERWRITE DIRECTORY '/x' SELECT 3 AS a"})
    planned = plan(found, everything(found), catalog=Catalog({name("s.out"): ObservedObject("table")}))
    assert ids(planned) == []
    assert ids(plan(found, {}, catalog=Catalog({name("s.out"): ObservedObject("table")}))) == [
        "export.s.out.1"
    ]


@pytest.mark.parametrize("policy", POLICIES)
def test_drift_can_be_asked_for_whatever_the_policy_makes_of_it(policy: str) -> None:
    found = repository(policy)
    seen = observed(found) | {name("s.v"): drifted("v")}
    del seen[name("s.m")]
    drift = find_drift(found, everything(found), Catalog(seen))
    assert drift == {name("s.m"): MISSING, name("s.v"): "its query was changed"}


def test_an_index_is_known_by_what_its_statement_calls_it() -> None:
    files = {
        "s/table/t.sql": "CREATE TABLE s.t (a INT);\n//// INDEX name=first\nCREATE INDEX `By_A` ON s.t (a);\n"
    }
    found = healthy(files)
    seen = TableDef(columns(("a", "int")))
    catalog = Catalog({name("s.t"): ObservedObject("table", seen, indexes=("By_A",))})
    assert ids(plan(found, everything(found), catalog=catalog)) == []
    without = healthy({"s/table/t.sql": "CREATE TABLE s.t (a INT)"})
    planned = plan(without, everything(found), catalog=catalog)
    assert operation(planned, "teardown.s.t.first.index").sql == "DROP INDEX `By_A` ON `s`.`t`"


def test_a_property_that_spark_hides_is_no_drift() -> None:
    found = healthy(
        {"s/table/t.sql": "CREATE TABLE s.t (a INT) TBLPROPERTIES ('source_url' = 'x', 'k' = 'v')"}
    )
    hidden = (("k", "other"), ("source_url", "*********(redacted)"))
    catalog = Catalog(
        {name("s.t"): ObservedObject("table", TableDef(columns(("a", "int")), properties=hidden))}
    )
    planned = plan(found, everything(found), catalog=catalog)
    assert [item.sql for item in planned.plan.operations] == [
        "ALTER TABLE `s`.`t` SET TBLPROPERTIES ('k' = 'v')"
    ]


def test_a_drop_that_began_by_renaming_goes_on() -> None:
    """The table is not there under its name any more, and still not gone."""
    created = "//// CHANGE name=a\nCREATE TABLE s.t (id INT);\n"
    dropped = "//// CHANGE name=bye DROP_TABLE\nALTER TABLE s.t RENAME TO s.old;\nDROP TABLE s.old;"
    state = everything(healthy({"s/table/t.sql": created}))
    after = healthy({"s/table/t.sql": created + dropped})
    first = plan(after, state).plan
    state = run(first, state, first.operations[:1])
    rest = plan(after, state, catalog=Catalog())
    assert ids(rest) == ["teardown.s.t.bye.2"]
    assert not run(rest.plan, state)


def test_what_was_adopted_although_it_is_of_another_kind_is_not_replaced_in_place() -> None:
    """CREATE OR REPLACE VIEW does not replace a table, so what makes it dirty passes it by."""
    files = {
        "s/view/a.sql": "CREATE VIEW s.a AS SELECT 1 AS x",
        "s/view/b.sql": "CREATE VIEW s.b AS SELECT x FROM s.a",
    }
    state = everything(healthy(files))
    after = healthy(files | {"s/view/a.sql": "CREATE VIEW s.a AS SELECT 2 AS x"}, "on_drift: adopt\n")
    catalog = Catalog({name("s.a"): ObservedObject("view"), name("s.b"): ObservedObject("table")})
    planned = plan(after, state, catalog=catalog)
    assert ids(planned) == ["setup.s.a"]
    state = run(planned.plan, state)
    assert ids(plan(after, state, catalog=catalog)) == []
    edited = healthy(files | {"s/view/b.sql": "CREATE VIEW s.b AS SELECT 3 AS x"}, "on_drift: adopt\n")
    assert ids(plan(edited, state, catalog=catalog))[0] == "teardown.s.b"  # then the file wins


@pytest.mark.parametrize("policy", ["heal", "warn", "fail", "adopt"])
def test_what_differs_is_known_whatever_becomes_of_it(policy: str) -> None:
    files = {
        "s/view/a.sql": "CREATE VIEW s.a AS SELECT 1 AS x",
        "s/view/b.sql": "CREATE VIEW s.b AS SELECT 2 AS x",
    }
    found = healthy(files, f"on_drift: {policy}\n")
    state = everything(found)
    edited = Catalog({name("s.a"): ObservedObject("view", text="SELECT 9 AS x")})
    expected = {name("s.a"): "its query was changed", name("s.b"): MISSING}
    if policy == "adopt":  # what is there is what is recorded from now on
        del expected[name("s.a")]
    assert plan(found, state, catalog=edited).drift == expected
    assert plan(found, state).drift == {}


# --- columns of a view, signature of a function ------------------------------------------


VIEW = "CREATE VIEW s.v (a, `B b` COMMENT 'x, y') COMMENT 'c' AS SELECT 1, 2"
FUNCTION = "CREATE FUNCTION s.f(x INT COMMENT 'of x', y DECIMAL(12, 2) DEFAULT 1) RETURNS BIGINT RETURN x + 1"
NAMED = {"s/view/v.sql": VIEW, "s/function/f.sql": FUNCTION}


def view(*names: str) -> ObservedObject:
    """As the inspector tells it: the names of the query's columns are not the view's own."""
    return ObservedObject("view", TableDef(tuple(Column(item, "") for item in names)), "SELECT 1, 2")


def function(*parameters: tuple[str, str], returns: str | None = "bigint") -> ObservedObject:
    return ObservedObject("function", text="x + 1", signature=Signature(columns(*parameters), returns))


AS_DEPLOYED = {name("s.v"): view("A", "b B"), name("s.f"): function(("X", "int"), ("y", "decimal(12,2)"))}
NOW_NAMED = [
    ("v", view("b b", "a"), "its columns were changed"),
    ("v", view("a", "c"), "its columns were changed"),
    ("f", function(("x", "bigint"), ("y", "decimal(12,2)")), "its parameters were changed"),
    ("f", function(("x", "int"), ("y", "decimal(12,3)")), "its parameters were changed"),
    ("f", function(("x", "int"), ("z", "decimal(12,2)")), "its parameters were changed"),
    ("f", function(("x", "int")), "its parameters were changed"),
    ("f", function(("x", "int"), ("y", "decimal(12,2)"), returns="int"), "its return type was changed"),
]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "seen",
    [
        {},
        {"v": view()},  # as the query calls them, or not told
        {"v": view("a", "b", "c")},  # misread: the query has two
        {"f": ObservedObject("function", text="x + 1")},
        {"f": replace(AS_DEPLOYED[name("s.f")], signature=Signature(None, "bigint"))},
        {"f": function(("x", "int"), ("y", "decimal(12,2)"), returns=None)},
    ],
)
def test_what_is_as_declared_or_not_told_is_no_drift(policy: str, seen: dict[str, ObservedObject]) -> None:
    found = healthy(NAMED, f"{QUIET}on_drift: {policy}\n")
    catalog = Catalog(AS_DEPLOYED | {name(f"s.{key}"): item for key, item in seen.items()})
    planned = plan(found, everything(found), catalog=catalog)
    assert (ids(planned), planned.plan.notes, planned.plan.diagnostics) == ([], (), ())
    assert ids(plan(found, {}, catalog=catalog)) == [], "nor where the log does not know it"


@pytest.mark.parametrize(("object", "seen", "why"), NOW_NAMED)
def test_other_columns_or_another_signature_are_drift(object: str, seen: ObservedObject, why: str) -> None:
    found = healthy(NAMED, QUIET)
    state = everything(found)
    catalog = Catalog(AS_DEPLOYED | {name(f"s.{object}"): seen})
    assert find_drift(found, state, catalog) == {name(f"s.{object}"): why}
    planned = plan(found, state, catalog=catalog)
    (step,) = planned.plan.operations
    assert (step.action, step.reasons[0]) == ("replace", ("drift", why))
    assert step.sql == NAMED[f"s/{step.kind}/{object}.sql"].replace("CREATE ", "CREATE OR REPLACE ")
    assert ids(plan(found, run(planned.plan, state), catalog=Catalog(AS_DEPLOYED))) == []
    del state[name(f"s.{object}")]
    assert ids(plan(found, state, catalog=catalog)) == [step.id], "what is adopted is replaced, too"


@pytest.mark.parametrize(("object", "seen", "why"), NOW_NAMED)
def test_other_columns_or_another_signature_are_adopted_once(
    object: str, seen: ObservedObject, why: str
) -> None:
    found = healthy(NAMED, f"{QUIET}on_drift: adopt\n")
    state = everything(found)
    catalog = Catalog(AS_DEPLOYED | {name(f"s.{object}"): seen})
    planned = plan(found, state, catalog=catalog)
    assert (ids(planned), len(planned.plan.notes)) == ([], 1)
    again = plan(found, run(planned.plan, state), catalog=catalog)
    assert (ids(again), again.plan.notes) == ([], ())


@pytest.mark.parametrize(
    ("declared", "seen"),
    [
        ("x VARCHAR(3)", ("x", "string")),
        ("x STRING", ("x", "string collate UTF8_LCASE")),
        ("x TIMESTAMP", ("x", "timestamp_ntz")),
        ("x NUMERIC", ("x", "decimal(10,0)")),
        ("`x` ARRAY<STRUCT<A: INTEGER>> NOT NULL", ("X", "array<struct<a:int>>")),
        ("x INTERVAL DAY TO SECOND DEFAULT make_dt_interval(1, 2)", ("x", "interval day to second")),
    ],
)
def test_a_type_that_spark_may_tell_in_another_way_is_no_drift(declared: str, seen: tuple[str, str]) -> None:
    found = healthy({"s/function/f.sql": f"CREATE FUNCTION s.f({declared}) RETURN 1"}, QUIET)
    there = ObservedObject("function", text="1", signature=Signature(columns(seen), "int"))
    assert ids(plan(found, everything(found), catalog=Catalog({name("s.f"): there}))) == []

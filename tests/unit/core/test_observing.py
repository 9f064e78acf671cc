"""Which operations look up what they have left: those after which nobody could tell otherwise."""

from __future__ import annotations

import pytest
from sketch import Files, deploy, everything, healthy, ids, name, plan, run

from airflow_provider_sparkdeploy.core.objects import Column, TableDef
from airflow_provider_sparkdeploy.core.planner import Planned
from airflow_provider_sparkdeploy.core.state import Observe, apply_effect

T = "-- //// CHANGE name=init\nCREATE TABLE s.t (a INT) USING parquet;\n"
MORE = "-- //// CHANGE name=more\nALTER TABLE s.t ADD COLUMNS (b INT);\nINSERT INTO s.t VALUES (1, 2);\n"
UNDO = "-- // ROLLBACK\nALTER TABLE s.t DROP COLUMN b;\n"


def observed(planned: Planned) -> dict[str, list[str]]:
    """The tables that every operation looks up."""
    return {
        operation.id: found
        for operation in planned.plan.operations
        if (found := [str(effect.object) for effect in operation.effects if isinstance(effect, Observe)])
    }


def migration(*statements: str) -> str:
    return "-- //// CHANGE name=one\n" + "".join(f"{text};\n" for text in statements)


def test_the_last_operation_of_a_script_looks_up_its_table() -> None:
    files = {"s/table/t.sql": T + MORE, "s/table/d.sql": "CREATE TABLE s.d (a INT)"}
    assert observed(plan(healthy(files))) == {"setup.s.t.more.2": ["s.t"]}


def test_so_does_the_comment_that_comes_after_it() -> None:
    found = observed(plan(healthy({"s/table/t.sql": "-- //// METADATA comment='of t'\n" + T})))
    assert found == {"setup.s.t.comment": ["s.t"]}


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("ALTER TABLE s.t ADD COLUMNS (b INT)", ["s.t"]),
        ("ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')", ["s.t"]),
        ("COMMENT ON TABLE s.t IS 'new'", ["s.t"]),
        ("INSERT INTO s.t VALUES (1)", []),
        ("ALTER TABLE s.declared ADD COLUMNS (b INT)", []),
        ("ALTER TABLE elsewhere.t ADD COLUMNS (b INT)", []),
    ],
)
def test_a_migration_looks_up_the_script_that_it_alters(statement: str, expected: list[str]) -> None:
    before = {"s/table/t.sql": T, "s/table/declared.sql": "CREATE TABLE s.declared (a INT)"}
    after = {**before, "s/migration/m.sql": migration(statement)}
    planned = plan(healthy(after), everything(healthy(before)))
    assert ids(planned) == ["setup.s.m.one.1"]
    assert observed(planned).get("setup.s.m.one.1", []) == expected


def test_a_script_looks_up_another_that_it_alters() -> None:
    files = {"s/table/t.sql": T, "s/table/u.sql": T.replace("s.t", "s.u") + MORE.split("INSERT")[0]}
    assert observed(plan(healthy(files))) == {
        "setup.s.t.init.1": ["s.t"],
        "setup.s.u.more.1": ["s.t", "s.u"],
    }


def test_a_rollback_looks_up_what_it_leaves() -> None:
    found = healthy({"s/table/t.sql": T + MORE + UNDO})
    planned = plan(healthy({"s/table/t.sql": T}), everything(found), rollback=True)
    assert observed(planned) == {"teardown.s.t.more.rollback.1": ["s.t"]}


def test_until_it_is_looked_up_nothing_is_known_of_a_script_that_goes_on() -> None:
    before: Files = {"s/table/t.sql": T}
    state = deploy(healthy(before))
    seen = TableDef((Column("a", "int"),), "parquet", (), (("numFiles", "3"),), "")
    apply_effect(state, Observe(name("s.t"), ("s", "t"), seen))
    assert state[name("s.t")].definition == TableDef((Column("a", "int"),), "parquet"), "no counts of engines"
    planned = plan(healthy({"s/table/t.sql": T + MORE}), state)
    assert run(planned.plan, state, planned.plan.operations[:1])[name("s.t")].definition is None


def test_the_properties_that_a_script_sets_are_known() -> None:
    state = deploy(healthy({"s/table/t.sql": T.replace(";", " TBLPROPERTIES ('team.a' = 'x');")}))
    seen = TableDef((), "parquet", (), (("numFiles", "3"), ("team.a", "x")))
    apply_effect(state, Observe(name("s.t"), ("s", "t"), seen))
    known = state[name("s.t")].definition
    assert known is not None
    assert known.properties == (("team.a", "x"),)

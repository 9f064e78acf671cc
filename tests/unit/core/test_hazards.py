"""A setup statement that reads what the same plan tears down is an error."""

from __future__ import annotations

import pytest
import sketch
from sketch import Files, codes, ids

from airflow_provider_sparkdeploy.core.planner import Planned

ICEBERG = "schemas: {s: ice.s, t: ice.t}\ncatalogs: {ice: iceberg}\n"
KEEP = {"s/view/keep.sql": "CREATE VIEW s.keep AS SELECT 1 AS a"}
TABLE = {"s/table/t.sql": "CREATE TABLE s.t (a INT, b INT)"}
QUIET = "propagation: {schema: false}\n"


def step(before: Files, after: Files, settings: str = "") -> Planned:
    """From one repository to another; schema s has something in it that stays."""
    keep = {} if "ice" in settings else KEEP
    return sketch.step({**before, **keep}, {**after, **keep}, settings + QUIET)


def script(*statements: str) -> dict[str, str]:
    return {
        "t/table/u.sql": "//// CHANGE name=init\n" + "".join(f"{statement};\n" for statement in statements)
    }


READER = script("CREATE TABLE t.u AS SELECT a FROM s.t")


def test_a_view_over_a_dropped_table_is_an_error_with_its_line() -> None:
    view = {"t/view/v.sql": "CREATE VIEW t.v AS\nSELECT 1 AS one,\n a FROM s.t"}
    planned = step(TABLE, view)
    (error,) = planned.plan.errors
    assert (error.code, error.object, error.file) == ("SD410", "t.v", "t/view/v.sql")
    assert "s.t" in error.message
    assert error.advice
    assert ids(planned) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (TABLE, READER),
        (TABLE, {"s/table/t.sql": "//// METADATA DROP_TABLE\nCREATE TABLE s.t (a INT, b INT)", **READER}),
        (
            {"s/view/v.sql": "CREATE VIEW s.v AS SELECT 1 AS a"},
            {"t/migration/m.sql": "//// CHANGE name=one\nINSERT INTO x.y SELECT a FROM s.v;\n"},
        ),
        (
            {"s/function/f.sql": "CREATE FUNCTION s.f() RETURNS INT RETURN 1"},
            {"t/view/v.sql": "CREATE VIEW t.v AS SELECT s.f() AS a"},
        ),
        (
            {"s/view/v.sql": "CREATE VIEW s.v AS SELECT 1 AS a"},
            {"t/sink/out.sql": "INSERT OVERWRITE DIRECTORY '/x' SELECT a FROM s.v"},
        ),
        (
            {"s/data/d.csv": "-- //// METADATA keys=k\nk,v\n1,1\n"},
            {"t/materialized_view/m.sql": "CREATE MATERIALIZED VIEW t.m AS SELECT k FROM s.d"},
        ),
        (
            TABLE,
            {
                "s/migration/t.sql": "//// CHANGE name=one\nSELECT 1;",
                "t/view/v.sql": "CREATE VIEW t.v AS SELECT a FROM s.t",
            },
        ),
    ],
)
def test_whatever_reads_what_is_dropped_is_an_error(before: Files, after: Files) -> None:
    planned = step(before, after)
    assert codes(planned) == ["SD410"]
    assert ids(planned) == []


def test_a_script_that_reads_a_table_that_is_made_anew_is_an_error() -> None:
    """It would read nothing: the rows are gone."""
    after = {"s/table/t.sql": "CREATE TABLE s.t (a STRING, b INT)", **READER}
    planned = step(TABLE, after)
    assert codes(planned) == ["SD410"]
    assert "empty" in planned.plan.errors[0].message


def test_a_view_over_a_table_that_is_made_anew_is_not() -> None:
    view = {"t/view/v.sql": "CREATE VIEW t.v AS SELECT a FROM s.t"}
    planned = step({**TABLE, **view}, {"s/table/t.sql": "CREATE TABLE s.t (a STRING, b INT)", **view})
    assert codes(planned) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (TABLE, {"s/table/t.sql": "CREATE TABLE s.t (b INT)"}),
        (TABLE, {"s/data/t.csv": "-- //// METADATA keys=b\nb\n1\n"}),
        (
            {"s/data/t.csv": "-- //// METADATA keys=b\na,b\n1,1\n"},
            {"s/data/t.csv": "-- //// METADATA keys=b\nb\n1\n"},
        ),
    ],
)
def test_a_view_over_a_table_that_is_made_anew_without_its_column_is_an_error(
    before: Files, after: Files
) -> None:
    """Few catalogs can drop a column: in the others the rows would be gone before the view is refused."""
    view = {"t/view/v.sql": "CREATE VIEW t.v AS SELECT a FROM s.t"}
    planned = step({**before, **view}, {**after, **view})
    assert codes(planned) == ["SD410"]
    assert "column a" in planned.plan.errors[0].message


def test_a_script_that_reads_a_dropped_column_is_an_error() -> None:
    before = {"s/table/t.sql": "CREATE TABLE ice.s.t (a INT, b INT)"}
    after = {
        "s/table/t.sql": "CREATE TABLE ice.s.t (a INT)",
        **script("CREATE TABLE ice.t.u AS SELECT `B` FROM ice.s.t"),
    }
    planned = step(before, after, ICEBERG)
    assert codes(planned) == ["SD410"]
    assert "column b" in planned.plan.errors[0].message


def test_a_script_that_reads_another_column_is_not() -> None:
    before = {"s/table/t.sql": "CREATE TABLE ice.s.t (a INT, b INT)"}
    after = {
        "s/table/t.sql": "CREATE TABLE ice.s.t (a INT)",
        **script("CREATE TABLE ice.t.u AS SELECT a FROM ice.s.t"),
    }
    assert codes(step(before, after, ICEBERG)) == []


def test_statements_that_have_run_already_do_not_count() -> None:
    """The script read the table when it was there."""
    planned = step({**TABLE, **READER}, READER)
    assert codes(planned) == []
    assert ids(planned) == ["teardown.s.t"]


def test_pending_statements_behind_those_that_have_run_count() -> None:
    more = {
        "t/table/u.sql": READER["t/table/u.sql"]
        + "//// CHANGE name=more\nINSERT INTO t.u SELECT a FROM s.t;\n"
    }
    assert codes(step({**TABLE, **READER}, more)) == ["SD410"]


def test_what_is_dropped_may_be_named_in_strings_comments_and_columns() -> None:
    view = {"x/view/v.sql": "CREATE VIEW x.v AS SELECT 's.t' AS a, 1 AS t -- s.t\n"}
    assert codes(step(TABLE, view)) == []


def test_a_view_that_is_moved_out_of_the_way_in_the_same_plan_is_fine() -> None:
    before = {**TABLE, "t/view/v.sql": "CREATE VIEW t.v AS SELECT a FROM s.t"}
    planned = step(before, {"t/view/v.sql": "CREATE VIEW t.v AS SELECT 1 AS a"})
    assert codes(planned) == []
    assert ids(planned) == ["teardown.s.t", "setup.t.v"]


def test_all_hazards_are_reported() -> None:
    views = {f"t/view/v{number}.sql": f"CREATE VIEW t.v{number} AS SELECT a FROM s.t" for number in range(3)}
    assert codes(step(TABLE, views)) == ["SD410"] * 3


def test_an_unqualified_name_means_the_own_schema() -> None:
    view = {"t/view/v.sql": "CREATE VIEW t.v AS SELECT a FROM t"}
    assert codes(step(TABLE, view)) == [], "t.t is not s.t"
    inside = {"s/view/v.sql": "CREATE VIEW s.v AS SELECT a FROM t"}
    assert codes(step(TABLE, inside)) == ["SD410"]


def test_an_untouched_view_over_a_dropped_table_is_an_error_too() -> None:
    """A replacement does not make its dependents dirty; they still must not lose it."""
    before = {
        "s/view/r.sql": "//// METADATA replacement=true\nCREATE VIEW s.r AS SELECT 1 AS a",
        "t/view/v.sql": "CREATE VIEW t.v AS SELECT a FROM s.r",
    }
    planned = step(before, {"t/view/v.sql": before["t/view/v.sql"]})
    assert codes(planned) == ["SD410"]


def test_a_schema_that_is_gone_altogether_is_still_known() -> None:
    """The last file of its folder was removed: the name must not become an external one."""
    planned = sketch.step(TABLE, {"t/view/v.sql": "CREATE VIEW t.v AS SELECT a FROM s.t"})
    assert codes(planned) == ["SD410"]


def test_an_inactive_reader_is_not_planned_and_so_no_hazard() -> None:
    reader = {"t/view/v.sql": "//// METADATA INACTIVE\nCREATE VIEW t.v AS SELECT a FROM s.t"}
    assert codes(step(TABLE, reader)) == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT a, b FROM ice.s.t", ["SD410"]),
        ("SELECT a FROM ice.s.t WHERE `B` > 1", ["SD410"]),
        ("SELECT a AS b FROM ice.s.t ORDER BY b", []),
        ("SELECT a b FROM ice.s.t", []),
        ("SELECT b FROM ice.s.t JOIN ice.s.u", []),
        ("SELECT a, 'b' AS c FROM ice.s.t", []),
    ],
)
def test_a_view_that_reads_a_dropped_column_is_an_error_where_it_is_certain(
    query: str, expected: list[str]
) -> None:
    """The column would be gone before the view is refused: that cannot be taken back."""
    tables = {
        "s/table/t.sql": "CREATE TABLE ice.s.t (a INT, b INT)",
        "s/table/u.sql": "CREATE TABLE ice.s.u (b INT)",
    }
    before = tables | {"s/view/v.sql": f"CREATE VIEW ice.s.v AS {query}"}
    assert (
        codes(step(before, before | {"s/table/t.sql": "CREATE TABLE ice.s.t (a INT)"}, ICEBERG)) == expected
    )


@pytest.mark.parametrize(
    ("column", "query"),
    [
        ("date", "SELECT date '2020-01-01' AS d FROM ice.s.t"),
        ("day", "SELECT dateadd(day, 1, ts) AS d FROM ice.s.t"),
        ("x", "SELECT transform(arr, x -> x + 1) AS a FROM ice.s.t"),
        ("x", "SELECT y x FROM ice.s.t ORDER BY x"),
        ("x", "SELECT x.y FROM ice.s.t x"),
        ("x", "SELECT y FROM ice.s.t JOIN range(3) r(x) ON x = y"),
        ("user", "SELECT user AS u FROM ice.s.t WHERE ts < current_date"),
    ],
)
def test_a_word_that_is_no_column_is_no_alarm(column: str, query: str) -> None:
    """The view is right before and after: nothing could disarm an error."""
    kept = "CREATE TABLE ice.s.t (y INT, ts TIMESTAMP, arr ARRAY<INT>"
    view = {"s/view/v.sql": f"CREATE VIEW ice.s.v AS {query}"}
    planned = step(
        {"s/table/t.sql": f"{kept}, `{column}` INT)", **view}, {"s/table/t.sql": f"{kept})", **view}, ICEBERG
    )
    assert codes(planned) == codes(planned, "warning") == []
    assert "setup.s.v" in ids(planned), "it was judged"


@pytest.mark.parametrize(
    ("statement", "errors", "warnings"),
    [
        ("INSERT INTO ice.s.o (x, y) SELECT 1, y FROM ice.s.t", [], []),
        ("INSERT INTO ice.s.o SELECT o.x, t.y FROM ice.s.t t JOIN ice.s.o o ON o.y = t.y", [], []),
        ("DELETE FROM ice.s.t WHERE y < date '2020-01-01' AND x < 1", ["SD410"], []),
        ("DELETE FROM ice.s.t x WHERE x.y < 1", [], []),
        ("INSERT INTO ice.s.o SELECT x, 1 FROM ice.s.t", ["SD410"], []),
        ("INSERT INTO ice.s.o SELECT x, 1 FROM ice.s.t t JOIN far.away.u u ON t.y = u.y", [], ["SD412"]),
        ("ALTER TABLE ice.s.t ALTER COLUMN x COMMENT 'gone'", [], ["SD412"]),
    ],
)
def test_a_migration_is_judged_by_the_columns_that_it_reads(
    statement: str, errors: list[str], warnings: list[str]
) -> None:
    before = {
        "s/table/t.sql": "CREATE TABLE ice.s.t (y INT, x INT)",
        "s/table/o.sql": "CREATE TABLE ice.s.o (x INT, y INT)",
    }
    after = before | {
        "s/table/t.sql": "CREATE TABLE ice.s.t (y INT)",
        "s/migration/m.sql": f"//// CHANGE name=one\n{statement};\n",
    }
    planned = step(before, after, ICEBERG)
    assert (codes(planned), codes(planned, "warning")) == (errors, warnings)


def test_a_list_of_columns_does_not_read_them() -> None:
    before = {
        "s/table/t.sql": "CREATE TABLE ice.s.t (a INT, b INT)",
        "s/view/v.sql": "CREATE VIEW ice.s.v (b) AS SELECT a FROM ice.s.t",
    }
    assert codes(step(before, before | {"s/table/t.sql": "CREATE TABLE ice.s.t (a INT)"}, ICEBERG)) == []


def test_a_view_over_a_table_that_is_rolled_back_altogether_is_an_error() -> None:
    view = {"t/view/v.sql": "CREATE VIEW t.v AS SELECT a FROM s.t"}
    before = {
        "s/table/t.sql": "//// CHANGE name=init\nCREATE TABLE s.t (a INT);\n// ROLLBACK\nDROP TABLE s.t;\n",
        **view,
    }
    assert codes(sketch.step(before, view, QUIET, rollback=True)) == ["SD410"]

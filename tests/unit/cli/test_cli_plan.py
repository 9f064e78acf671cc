"""``plan`` and ``rollback --plan``: the tree, the count line, the exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cli_calls import CYCLE, FILES, ORDERS, Shop, call


def line_of(text: str, name: str) -> str:
    return next(line.strip() for line in text.splitlines() if name in line)


def test_a_first_plan_reads_as_new(shop: Shop) -> None:
    result = shop.call("plan")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert result.stdout.startswith("Plan for environment dev, 4 objects:\n\nsetup\n")
    assert line_of(result.stdout, "s.orders (") == "+ s.orders (table)  # new, s/table/orders.sql:1"
    assert line_of(result.stdout, "s.report (") == "+ s.report (view)  # new, s/view/report.sql:2"
    assert "create   init.1  CREATE TABLE s.orders" in result.stdout
    assert "changed" not in result.stdout
    assert result.stdout.endswith("\nPlan: 4 to create; 4 operations.\n")


def test_a_log_that_does_not_exist_means_that_nothing_is_deployed(shop: Shop) -> None:
    assert not shop.log.exists()
    assert len(shop.json("plan")["operations"]) == 4
    assert not shop.log.exists(), "a plan writes no log"


def test_what_changed_is_told_with_its_line_and_what_follows_with_its_cause(deployed: Shop) -> None:
    deployed.edit("s/view/open.sql", FILES["s/view/open.sql"].replace("> 0", "> 1"))
    text = deployed.call("plan").stdout
    assert line_of(text, "s.open (") == "~ s.open (view)  # modified, s/view/open.sql:4"
    assert line_of(text, "s.report (") == "~ s.report (view)  # depends on s.open (modified)"
    assert "t.alone" not in text
    assert "Plan: 2 to change; 2 operations." in text


def test_the_root_cause_is_named_across_several_steps(deployed: Shop) -> None:
    deployed.edit(
        "s/table/orders.sql", ORDERS + "-- //// CHANGE name=more\nALTER TABLE s.orders ADD COLUMNS (b INT);\n"
    )
    text = deployed.call("plan").stdout
    assert line_of(text, "s.orders (") == "~ s.orders (table)  # new change more, s/table/orders.sql:5"
    assert (
        line_of(text, "s.report (") == "~ s.report (view)  # depends on s.open <- s.orders (new change more)"
    )


def test_each_symbol(deployed: Shop) -> None:
    (deployed.root / "t/view/alone.sql").unlink()
    deployed.edit("s/view/fresh.sql", "CREATE VIEW s.fresh AS SELECT 2 AS two")
    (deployed.root / "s/view/report.sql").unlink()
    deployed.edit(
        "s/materialized_view/report.sql",
        "CREATE MATERIALIZED VIEW s.report AS SELECT count(*) AS n FROM s.open",
    )
    deployed.edit("s/view/open.sql", FILES["s/view/open.sql"] + " AND id > 0")
    text = deployed.call("plan").stdout
    marks = {name: mark for mark, name in re.findall(r"^ *(\S+) (\S+\.\S+) \(", text, re.MULTILINE)}
    assert marks == {"t.alone": "-", "s.fresh": "+", "s.report": "-/+", "s.open": "~"}
    assert line_of(text, "t.alone (") == "- t.alone (view)  # removed"
    assert "s.report (view)  # was a view, s/materialized_view/report.sql:1" in text
    assert "Plan: 1 to create, 1 to change, 1 to drop and create, 1 to drop;" in text


def test_what_is_blocked_is_marked_with_its_reason(tmp_path: Path) -> None:
    table = "-- //// METADATA lifecycle=protected\nCREATE TABLE s.kept (a INT, b INT) USING parquet"
    shop = Shop(tmp_path, {"s/table/kept.sql": table})
    shop.call("baseline")
    shop.edit("s/table/kept.sql", table.replace(", b INT", ""))
    result = shop.call("plan", "--detailed-exitcode")
    assert result.exit_code == 2, "something is to be done, though it may not be"
    assert "\nblocked\n" in result.stdout
    assert line_of(result.stdout, "s.kept (").startswith("! s.kept (table)  # s.kept is protected")
    assert re.search(r"nothing to run; 0 operations, \d blocked\.", result.stdout)


def test_migrations_and_sinks_are_run_not_changed(tmp_path: Path) -> None:
    shop = Shop(tmp_path, {"s/migration/once.sql": "//// CHANGE name=a\nINSERT INTO x.y VALUES (1);\n"})
    assert "Plan: 1 to run; 1 operation." in shop.call("plan").stdout


def test_a_cycle_is_shown_as_what_is_computed_together(tmp_path: Path) -> None:
    text = Shop(tmp_path, CYCLE).call("plan").stdout
    assert re.search(r"fixpoint -- compute g\.a, g\.b together", text)


def test_where_one_member_of_a_cycle_changed_every_member_has_a_line(tmp_path: Path) -> None:
    shop = Shop(tmp_path, CYCLE)
    shop.call("baseline")
    shop.edit("g/materialized_view/b.sql", CYCLE["g/materialized_view/b.sql"].replace("< 9", "< 8"))
    text = shop.call("plan").stdout
    assert line_of(text, "g.b (mat") == "~ g.b (materialized_view)  # modified, g/materialized_view/b.sql:1"
    assert line_of(text, "-- with") == "fixpoint -- with g.a"
    assert line_of(text, "-- compute") == "fixpoint -- compute g.a, g.b together, until nothing is added"
    assert "Plan: 2 to change; 1 operation." in text


def test_a_member_of_a_cycle_that_nothing_makes_dirty_is_computed_with_the_others(tmp_path: Path) -> None:
    quiet = CYCLE["sparkdeploy.yaml"] + "propagation: {schema: false}\n"
    files = {
        path.replace("g/materialized_view/b", "h/materialized_view/b"): re.sub(r"g\.b\b", "h.b", text)
        for path, text in CYCLE.items()
    }
    b = "-- //// METADATA replacement=true\n" + files["h/materialized_view/b.sql"]
    shop = Shop(tmp_path, files | {"h/materialized_view/b.sql": b, "sparkdeploy.yaml": quiet})
    shop.call("baseline")
    shop.edit("h/materialized_view/b.sql", b.replace("< 9", "< 8"))
    text = shop.call("plan").stdout
    assert line_of(text, "g.a (mat") == "~ g.a (materialized_view)  # computed with h.b"
    assert line_of(text, "h.b (mat") == "~ h.b (materialized_view)  # modified, h/materialized_view/b.sql:2"


@pytest.mark.parametrize(
    ("before", "after", "lines", "counted"),
    [
        (
            {"s/table/x.sql": "CREATE TABLE s.x (a INT)"},
            {"s/migration/x.sql": "-- //// CHANGE name=a\nINSERT INTO y VALUES (1);\n"},
            ["- s.x (table)  # was a table, s/migration/x.sql:1", "~ s.x (migration)  # as above"],
            "1 to drop, 1 to run; 2 operations, 1 destructive.",
        ),
        (
            {"s/view/x.sql": "CREATE VIEW s.x AS SELECT 1 AS a"},
            {"s/sink/x.sql": "INSERT INTO y VALUES (1);"},
            ["- s.x (view)  # was a view, s/sink/x.sql:1", "~ s.x (sink)  # as above"],
            "1 to drop, 1 to run; 2 operations.",
        ),
        (
            {"s/sink/x.sql": "INSERT INTO y VALUES (1);"},
            {"s/view/x.sql": "CREATE VIEW s.x AS SELECT 1 AS a"},
            ["+ s.x (view)  # was a sink, s/view/x.sql:1"],
            "1 to create; 1 operation.",
        ),
    ],
)  # fmt: skip
def test_what_is_dropped_for_what_only_runs_is_counted_as_dropped(
    tmp_path: Path, before: dict[str, str], after: dict[str, str], lines: list[str], counted: str
) -> None:
    shop = Shop(tmp_path, before)
    shop.call("baseline")
    (shop.root / next(iter(before))).unlink()
    for path, text in after.items():
        shop.edit(path, text)
    text = shop.call("plan").stdout
    assert [line.strip() for line in text.splitlines() if "s.x (" in line] == lines
    assert f"Plan: {counted}" in text
    rows = [line for line in shop.call("plan", "--format", "markdown").stdout.splitlines() if "`s.x`" in line]
    assert [row.split("`")[1] for row in rows] == [line.split()[0] for line in lines]


@pytest.mark.parametrize(("changed", "options", "code"), [
    (False, (), 0), (True, (), 0), (False, ("--detailed-exitcode",), 0), (True, ("--detailed-exitcode",), 2),
    (True, ("--detailed-exitcode", "--select", "t.alone"), 0), (True, ("--detailed-exitcode", "--format", "json"), 2),
])  # fmt: skip
def test_exit_codes(deployed: Shop, changed: bool, options: tuple[str, ...], code: int) -> None:
    if changed:
        deployed.edit("s/view/open.sql", "CREATE VIEW s.open AS SELECT id, 1 AS x FROM s.orders")
    assert deployed.call("plan", *options).exit_code == code


def test_an_error_is_1_also_with_detailed_exit_codes(deployed: Shop) -> None:
    deployed.edit("s/table/orders.sql", ORDERS.replace("INT)", "BIGINT)"))
    result = deployed.call("plan", "--detailed-exitcode")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "error SD402 s/table/orders.sql:1: " in result.stderr
    assert result.stderr.endswith("1 error; nothing was changed.\n")


def test_with_detailed_exit_codes_2_never_means_a_mistake_on_the_command_line(shop: Shop) -> None:
    assert shop.call("plan", "--no-such-option").exit_code == 2
    result = shop.call("plan", "--no-such-option", "--detailed-exitcode")
    assert result.exit_code == 1
    assert "No such option" in result.stderr


def test_nothing_to_do(deployed: Shop) -> None:
    assert deployed.call("plan").stdout == "Nothing to do in environment dev: 4 objects are as declared.\n"
    selected = deployed.call("plan", "--select", "tag:top").stdout
    assert selected == "Nothing to do in environment dev: the 1 selected object, of 4, need nothing.\n"


def test_forced_schemas_and_settings_for_one_call(deployed: Shop) -> None:
    text = deployed.call("plan", "--force-schema", "t").stdout
    assert line_of(text, "t.alone (") == "~ t.alone (view)  # in schema t (forced)"
    text = deployed.call("plan", "--force-schema", "t", "--set", "redeploy=recreate").stdout
    assert text.count("-/+ t.alone (view)") == 2
    assert text.count("# as above") == 1


def test_drift_is_the_reason_without_a_line_in_a_file(deployed: Shop, tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.json"
    catalog.write_text(json.dumps({"objects": {}, "looked_for": ["t.alone"]}))
    text = deployed.call("plan", "--catalog", str(catalog)).stdout
    assert line_of(text, "t.alone (") == "+ t.alone (view)  # drift: missing in the catalog"


def test_drawings_have_the_operations_of_the_plan(shop: Shop) -> None:
    mermaid = shop.call("plan", "--format", "mermaid").stdout
    assert mermaid.startswith("graph LR\n")
    assert 'n0["create s.orders"]' in mermaid
    dot = shop.call("plan", "--format", "dot").stdout
    assert '"setup.s.open" -> "setup.s.report";' in dot
    assert dot.rstrip().endswith("}")


def test_a_rollback_undoes_what_the_older_repository_does_not_have(shop: Shop) -> None:
    more = "-- //// CHANGE name=more\nALTER TABLE s.orders ADD COLUMNS (b INT);\n-- // ROLLBACK\nALTER TABLE s.orders DROP COLUMN b;\n"
    shop.edit("s/table/orders.sql", ORDERS + more)
    shop.call("baseline")
    shop.edit("s/table/orders.sql", ORDERS)
    assert shop.call("plan").exit_code == 1
    text = shop.call("rollback", "--plan").stdout
    assert "# rolls back more" in text
    assert "DROP COLUMN b" in text


def test_a_rollback_of_a_file_that_is_gone_is_a_drop(shop: Shop) -> None:
    shop.edit(
        "t/table/rest.sql",
        "-- //// CHANGE name=init\nCREATE TABLE t.rest (a INT);\n-- // ROLLBACK\nDROP TABLE t.rest;\n",
    )
    shop.call("baseline")
    (shop.root / "t/table/rest.sql").unlink()
    text = shop.call("rollback", "--plan").stdout
    assert line_of(text, "t.rest (") == "- t.rest (table)  # removed"
    assert "Plan: 1 to drop; 1 operation, 1 destructive." in text


def test_operations_are_told_when_only_the_log_learns_something(deployed: Shop) -> None:
    deployed.edit("t/view/alone.sql", "-- //// METADATA lifecycle=protected\n" + FILES["t/view/alone.sql"])
    text = deployed.call("plan").stdout
    assert text.startswith("Nothing to do")
    assert "Recorded with the next deployment, without running anything: t.alone." in text


def test_help_names_every_command() -> None:
    text = call("--help").stdout
    for command in (
        "init",
        "lint",
        "plan",
        "explain",
        "graph",
        "components",
        "baseline",
        "history",
        "rollback",
    ):
        assert re.search(rf"^  {command}\b", text, re.MULTILINE)
        assert call(command, "--help").exit_code == 0

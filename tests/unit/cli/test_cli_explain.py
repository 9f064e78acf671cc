"""``explain``: every reason down to a file and a line, and what is different there."""

from __future__ import annotations

import json
import time
from pathlib import Path

from cli_calls import CYCLE, FILES, ORDERS, Shop

MORE = "-- //// CHANGE name=more\nALTER TABLE s.orders ADD COLUMNS (b INT);\n"


def test_reasons_lead_down_to_the_changed_line_and_its_text(deployed: Shop) -> None:
    deployed.edit("s/view/open.sql", FILES["s/view/open.sql"].replace("> 0", "> 1"))
    result = deployed.call("explain", "report")
    assert result.exit_code == 0
    assert (
        result.stdout
        == """\
view s.report: setup.s.report
    depends on s.open: modified, s/view/open.sql:4

--- deployed: s.open
+++ s/view/open.sql
@@ -1,4 +1,4 @@
 CREATE VIEW s.open AS
 SELECT id
 FROM s.orders
-WHERE amount > 0
+WHERE amount > 1
"""
    )


def test_all_reasons_are_there_each_explained_once(deployed: Shop) -> None:
    deployed.edit("s/table/orders.sql", ORDERS + MORE)
    (deployed.root / "s/view/report.sql").unlink()
    text = deployed.call("explain", "s.open", "--set", "propagation.schema=true").stdout
    tree = text.partition("\n\n")[0].splitlines()
    assert tree == [
        "view s.open: setup.s.open",
        "    depends on s.orders",
        "       new change more, s/table/orders.sql:5",
        "       in schema s (see below)",
        "    in schema s",
        "       s.orders (see above)",
        "       s.report: removed, s/view/report.sql is gone or not for this environment",
    ]


def test_a_removed_object_can_be_explained(deployed: Shop) -> None:
    (deployed.root / "t/view/alone.sql").unlink()
    text = deployed.call("explain", "t.alone").stdout
    why = "removed, t/view/alone.sql is gone or not for this environment"
    assert f"view t.alone: teardown.t.alone\n    {why}\n" in text
    assert "-CREATE VIEW t.alone AS SELECT 1 AS one" in text
    assert deployed.json("explain", "t.alone")["chains"] == [
        [{"kind": "object", "name": "t.alone", "rule": "changed", "where": "t/view/alone.sql"}]
    ]


def test_why_a_clean_object_is_clean(deployed: Shop) -> None:
    deployed.edit("s/table/orders.sql", ORDERS + MORE)
    text = deployed.call("explain", "t.alone").stdout
    assert text.startswith("view t.alone: nothing to do\n  Its text is what was deployed on ")
    assert "depends on nothing in the repository" in text
    deployed.edit("s/view/new.sql", "CREATE VIEW s.new AS SELECT 1 AS x")
    deployed.edit("s/table/orders.sql", ORDERS)
    text = deployed.call("explain", "s.report").stdout
    assert "Nothing is done to what it depends on: s.open." in text
    assert "propagation through it is off" in text


def test_a_difference_that_does_not_count_is_named_and_shown(deployed: Shop) -> None:
    deployed.edit("t/view/alone.sql", "create view t.alone as select 1 as one -- the loneliest")
    text = deployed.call("explain", "alone").stdout
    assert "does not count: comments, white space, case" in text
    assert "+create view t.alone as select 1 as one" in text


def test_a_difference_that_cannot_be_compared_is_none_of_spelling(tmp_path: Path) -> None:
    shop = Shop(tmp_path, {"s/table/t.sql": "CREATE TABLE s.t (a INT) USING parquet LOCATION '/x'"})
    shop.call("baseline")
    shop.edit("s/table/t.sql", "CREATE TABLE s.t (a INT) USING parquet LOCATION '/y'")
    text = shop.call("explain", "t").stdout
    assert "cannot be compared" in text
    assert "Its text is what was deployed" not in text


def test_a_comment_is_a_reason_that_does_not_reach_others(deployed: Shop) -> None:
    deployed.edit("s/view/open.sql", "-- //// METADATA comment=c\n" + FILES["s/view/open.sql"])
    text = deployed.call("explain", "open").stdout
    assert text == "view s.open: setup.s.open.comment\n    comment changed, s/view/open.sql:2\n"
    assert deployed.json("explain", "open")["clean"] == []
    text = deployed.call("explain", "report").stdout
    assert "What is done to s.open, on which it depends, does not reach others: comment changed" in text
    assert "Nothing is done to what it depends on" not in text


def test_what_an_earlier_run_left_says_so(deployed: Shop) -> None:
    with deployed.log.open("a") as log:
        log.write('{"v":1,"type":"noted","run":"r","at":"now","effects":[{"due":{"object":["s","open"]}}]}\n')
    text = deployed.call("explain", "open").stdout
    assert text == "view s.open: setup.s.open\n    left by an earlier run\n"


def test_an_edited_change_is_an_error_with_its_difference(deployed: Shop) -> None:
    deployed.edit("s/table/orders.sql", ORDERS.replace("amount INT", "amount BIGINT"))
    result = deployed.call("explain", "orders")
    assert result.exit_code == 1
    assert "cannot be planned" in result.stdout
    assert "+CREATE TABLE s.orders (id BIGINT, amount BIGINT) USING parquet" in result.stdout
    assert "SD402" in result.stderr


def test_indexes_are_explained_apart(tmp_path: Path) -> None:
    index = "-- //// INDEX name=by_id\nCREATE INDEX by_id ON s.orders (id);\n"
    shop = Shop(tmp_path, {"s/table/orders.sql": ORDERS + index})
    shop.call("baseline")
    shop.edit("s/table/orders.sql", ORDERS + index.replace("(id)", "(amount)"))
    text = shop.call("explain", "orders").stdout
    assert "  index by_id:\n    index by_id changed, s/table/orders.sql:5\n" in text
    assert "+CREATE INDEX by_id ON s.orders (amount)" in text


def test_forced_and_not_selected(deployed: Shop) -> None:
    text = deployed.call("explain", "alone", "--force-schema", "t").stdout
    assert "in schema t: forced by --force-schema" in text
    text = deployed.call("explain", "alone", "--select", "s.open").stdout
    assert "It is not selected." in text


def test_drift_is_compared_with_the_catalog(deployed: Shop, tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.json"
    catalog.write_text(
        json.dumps({"objects": {"t.alone": {"kind": "view", "text": "SELECT 2"}}, "looked_for": ["t.alone"]})
    )
    text = deployed.call("explain", "alone", "--catalog", str(catalog)).stdout
    assert "    drift: " in text
    assert "--- in the catalog: t.alone" in text


def test_json_has_chains_and_the_difference(deployed: Shop) -> None:
    deployed.edit("s/view/open.sql", FILES["s/view/open.sql"].replace("> 0", "> 1"))
    found = deployed.json("explain", "s.report")
    assert found["operations"] == ["setup.s.report"]
    assert found["chains"] == [
        [
            {"kind": "object", "name": "s.report", "rule": "dependency"},
            {"kind": "object", "name": "s.open", "rule": "changed", "where": "s/view/open.sql:4"},
        ]
    ]
    assert found["truncated"] is False
    assert "+WHERE amount > 1" in found["diff"]
    clean = deployed.json("explain", "alone")
    assert clean["dirty"] is False
    assert clean["clean"][0].startswith("Its text is what was deployed")


def test_many_reasons_are_cut_short_unless_all_are_asked_for(tmp_path: Path) -> None:
    views = {f"s/view/v{n}.sql": f"CREATE VIEW s.v{n} AS SELECT {n} AS x" for n in range(15)}
    union = " UNION ALL ".join(f"SELECT x FROM s.v{n}" for n in range(15))
    shop = Shop(tmp_path, {**views, "t/view/top.sql": f"CREATE VIEW t.top AS {union}"})
    shop.call("baseline")
    for path, text in views.items():
        shop.edit(path, text + " + 1")
    quiet = ("--set", "propagation.schema=false")
    text = shop.call("explain", "top", *quiet).stdout
    assert "... and 5 more: --all shows them" in text
    assert text.count("modified, s/view/") == 10
    assert shop.call("explain", "top", "--all", *quiet).stdout.count("modified, s/view/") == 15


def test_a_long_chain_is_explained(tmp_path: Path) -> None:
    files = {f"s/view/v{n}.sql": f"CREATE VIEW s.v{n} AS SELECT x FROM s.v{n - 1}" for n in range(1, 200)}
    shop = Shop(tmp_path, {**files, "s/view/v0.sql": "CREATE VIEW s.v0 AS SELECT 1 AS x"})
    shop.call("baseline")
    shop.edit("s/view/v0.sql", "CREATE VIEW s.v0 AS SELECT 2 AS x")
    quiet = ("--set", "propagation.schema=false")
    short = shop.call("explain", "v199", *quiet).stdout
    assert "s.v168 <- s.v0: modified, s/view/v0.sql:1" in short
    full = shop.call("explain", "v199", "--all", *quiet).stdout
    assert "depends on s.v0: modified, s/view/v0.sql:1" in full
    assert len(full.splitlines()) > 199


def test_all_reasons_of_very_many_objects_are_explained(tmp_path: Path) -> None:
    """Everything is in one schema, so everything is a reason of everything: linear, or never done."""
    views = {
        f"s/view/v{n}.sql": f"CREATE VIEW s.v{n} AS SELECT a.x FROM s.v{n // 2} a, s.v{n // 3} b"
        for n in range(1, 1500)
    }
    shop = Shop(tmp_path, {**views, "s/view/v0.sql": "CREATE VIEW s.v0 AS SELECT 1 AS x"})
    shop.call("baseline")
    shop.edit("s/view/v0.sql", "CREATE VIEW s.v0 AS SELECT 2 AS x")
    started = time.process_time()
    text = shop.call("explain", "v1499", "--all").stdout
    found = shop.json("explain", "v1499", "--all")
    assert time.process_time() - started < 20  # it was minutes
    assert all(f"s.v{n}\n" in text or f"s.v{n}:" in text or f"s.v{n} (" in text for n in range(1499))
    assert text.count("modified, s/view/v0.sql:1") == 1
    assert len(found["chains"]) == 1000
    assert [len(chain) for chain in found["chains"]] == sorted(len(chain) for chain in found["chains"])


def test_a_member_of_a_cycle_names_what_computes_it(tmp_path: Path) -> None:
    shop = Shop(tmp_path, CYCLE)
    shop.call("baseline")
    shop.edit("g/materialized_view/b.sql", CYCLE["g/materialized_view/b.sql"].replace("< 9", "< 8"))
    assert shop.call("explain", "g.b").stdout.startswith("materialized_view g.b: setup.g.a.fixpoint\n")
    assert shop.json("explain", "g.b", "--format", "json")["operations"] == ["setup.g.a.fixpoint"]
    shop.edit(
        "g/materialized_view/a.sql",
        CYCLE["g/materialized_view/a.sql"].replace("g.base", "g.base WHERE x > 1"),
    )
    blocked = shop.call("explain", "g.b", "--select", "g.a").stdout
    assert "blocked: setup.g.a.fixpoint: g.b, which is computed with it, has changed" in blocked


def test_a_migration_that_is_redeployed_with_others_says_that_it_runs_once(tmp_path: Path) -> None:
    migration = "-- //// CHANGE name=a\nINSERT INTO s.t SELECT x FROM s.v;\n"
    files = {"s/view/v.sql": "CREATE VIEW s.v AS SELECT 1 AS x", "s/migration/m.sql": migration}
    shop = Shop(tmp_path, files)
    shop.call("baseline")
    shop.edit("s/view/v.sql", "CREATE VIEW s.v AS SELECT 2 AS x")
    assert "It runs once" in shop.call("explain", "s.m").stdout

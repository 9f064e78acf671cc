"""``init``, ``lint``, ``graph``, ``components``, ``baseline`` and ``history``."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pytest
from cli_calls import CYCLE, FILES, ORDERS, Shop, call

from airflow_provider_sparkdeploy.core.deploylog import Entry, FileLog, encode_entry
from airflow_provider_sparkdeploy.core.names import ObjectName


@pytest.mark.parametrize("option", [(), ("--repository",)])
def test_what_init_makes_can_be_linted_and_planned(tmp_path: Path, option: tuple[str, ...]) -> None:
    folder = tmp_path / "my shop"
    result = call("init", *option, str(folder))
    assert result.exit_code == 0
    assert f"sparkdeploy plan --repository '{folder}'" in result.stdout
    assert call("lint", "-r", str(folder), "--strict").stdout == "3 objects, 0 warnings, no errors.\n"
    for env in ("dev", "prod"):
        assert "Plan: 3 to create" in call("plan", "-r", str(folder), "--env", env).stdout


def test_init_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "sparkdeploy.yaml").write_text("mine")
    result = call("init", str(tmp_path))
    assert result.exit_code == 1
    assert "is already there" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["sparkdeploy.yaml"]
    assert call("init", str(tmp_path / "sparkdeploy.yaml")).exit_code == 1
    assert call("init", "a", "--repository", "b").exit_code == 2


def test_lint_tells_warnings_and_strict_makes_them_errors(shop: Shop) -> None:
    shop.edit(
        "s/view/report.sql",
        "-- //// METADATA dependencies=t.alone\nCREATE VIEW s.report AS SELECT id FROM s.open",
    )
    result = shop.call("lint")
    assert result.exit_code == 0
    assert "warning SD220 s/view/report.sql:1" in result.stderr
    assert result.stdout == "4 objects, 2 warnings, no errors.\n"
    assert shop.call("lint", "--strict").exit_code == 1
    found = shop.json("lint")
    assert (found["objects"], [item["code"] for item in found["warnings"]]) == (4, ["SD220", "SD221"])


def test_graph_in_three_formats(shop: Shop) -> None:
    found = shop.json("graph")
    needs = {item["object"]: item["depends_on"] for item in found["objects"]}
    assert needs == {"s.open": ["s.orders"], "s.orders": [], "s.report": ["s.open"], "t.alone": []}
    assert found["order"].index("s.open") < found["order"].index("s.report")
    mermaid = shop.call("graph").stdout
    assert 'subgraph g_s["s"]' in mermaid
    assert "n1 --> n0" in mermaid
    assert '"s.orders" -> "s.open";' in shop.call("graph", "--format", "dot").stdout


def test_graph_of_a_selection(shop: Shop) -> None:
    found = shop.json("graph", "--select", "+tag:top", "--exclude", "kind:table")
    assert [item["object"] for item in found["objects"]] == ["s.open", "s.report"]
    assert "s.orders" not in shop.call("graph", "--select", "tag:top", "--format", "dot").stdout


def test_names_with_quotes_do_not_break_drawings(tmp_path: Path) -> None:
    shop = Shop(tmp_path, {'s/view/a "b" #c.sql': 'CREATE VIEW s.`a "b" #c` AS SELECT 1 AS x'})
    assert '[label="view a \\"b\\" #c"]' in shop.call("graph", "--format", "dot").stdout
    assert 'n0["view a #quot;b#quot; #35;c"]' in shop.call("graph").stdout


def test_components_with_the_place_of_every_reference(tmp_path: Path) -> None:
    shop = Shop(tmp_path, CYCLE)
    text = shop.call("components").stdout
    assert text.startswith("component 1: 2 members, monotone: it converges\n")
    assert "  g.a reads g.b  (g/materialized_view/a.sql:3)\n" in text
    assert text.endswith("  not deployed\n")
    shop.call("baseline")
    assert "  deployed on " in shop.call("components").stdout
    assert shop.json("components")["components"] == [
        {"id": 1, "members": ["g.a", "g.b"], "monotone": True, "deployed": True}
    ]


def test_components_explain_a_refusal(tmp_path: Path) -> None:
    shop = Shop(tmp_path, {**CYCLE, "sparkdeploy.yaml": ""})
    result = shop.call("components")
    assert result.exit_code == 1
    assert "SD311" in result.stderr
    assert shop.json("components", exit_code=1)["errors"][0]["code"] == "SD311"


def test_no_cycles(shop: Shop) -> None:
    assert shop.call("components").stdout.startswith("No cycles: ")


def test_baseline_records_and_says_where(shop: Shop) -> None:
    result = shop.call("baseline")
    assert (
        result.stdout == f"Recorded 4 objects of environment dev as deployed in {shop.log}; no SQL was run.\n"
    )
    assert shop.json("plan")["operations"] == []


def test_baseline_of_a_selection(shop: Shop) -> None:
    found = shop.json("baseline", "--select", "schema:s", "--exclude", "report")
    assert found["objects"] == ["s.open", "s.orders"]
    assert {item["object"] for item in shop.json("plan")["operations"]} == {"s.report", "t.alone"}


def test_a_second_baseline_settles_everything(deployed: Shop) -> None:
    index = "-- //// INDEX name=by_id\nCREATE INDEX by_id ON s.orders (id);\n"
    deployed.edit("s/table/orders.sql", ORDERS + index)
    deployed.call("baseline")
    deployed.edit("s/table/orders.sql", ORDERS.replace("amount INT", "amount BIGINT"))
    assert deployed.call("plan").exit_code == 1
    assert deployed.call("baseline").exit_code == 0
    assert deployed.call("plan", "--detailed-exitcode").exit_code == 0
    state = FileLog(deployed.log).read().state
    assert state[ObjectName("s", "orders")].indexes == (), "nothing of the older record stays"


def test_baseline_needs_no_folder_for_its_log(shop: Shop) -> None:
    assert call("baseline", "-r", str(shop.root)).exit_code == 0
    assert (shop.root / ".sparkdeploy" / "dev.jsonl").is_file()
    assert call("plan", "-r", str(shop.root), "--detailed-exitcode").exit_code == 0


def test_history_is_newest_first(deployed: Shop) -> None:
    deployed.call("baseline", "--select", "t.alone")
    with FileLog(deployed.log) as log:
        log.append([
            Entry("run", "run-3", detail={"event": "started", "kind": "apply", "environment": "dev"}),
            Entry("done", "run-3", operation="a"), Entry("failed", "run-3", operation="b"),
            Entry("run", "run-3", detail={"event": "failed"}),
        ])  # fmt: skip
    lines = deployed.call("history").stdout.splitlines()
    assert ["run-3" in lines[0], "1 object in dev" in lines[1], "4 objects in dev" in lines[2]] == [True] * 3
    assert "failed" in lines[0]
    assert "1 operations done, 1 failed" in lines[0]
    short = deployed.call("history", "--limit", "1").stdout.splitlines()
    assert short[1:] == ["... and 2 older runs: --limit shows more"]
    runs = deployed.json("history")["runs"]
    assert [(run["kind"], run["status"], run["objects"]) for run in runs] == [
        ("apply", "failed", 0), ("baseline", "succeeded", 1), ("baseline", "succeeded", 4),
    ]  # fmt: skip


def test_history_needs_no_repository_where_the_log_is_named(deployed: Shop, tmp_path: Path) -> None:
    result = call("history", "--repository", str(tmp_path / "nowhere"), "--log", str(deployed.log))
    assert result.exit_code == 0
    assert "4 objects in dev" in result.stdout


def test_history_without_a_log(shop: Shop) -> None:
    result = shop.call("history")
    assert result.exit_code == 1
    assert "there is no deploy log" in result.stderr
    assert call("history", "-r", str(shop.root)).stdout == "The log is empty: nothing was deployed yet.\n"
    assert json.loads(call("history", "-r", str(shop.root), "--format", "json").stdout)["runs"] == []


def test_history_reads_no_object(shop: Shop) -> None:
    shop.edit("s/view/bad.sql", FILES["s/view/open.sql"] + "${undefined}")
    assert call("history", "-r", str(shop.root)).exit_code == 0


@dataclass
class HistoryTable:
    """A Spark that knows nothing but the entries of a history table."""

    entries: list[Entry]
    asked: list[str] = field(default_factory=list)

    def open(self, key: str = "") -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def sql(self, text: str) -> list[dict[str, Any]]:
        self.asked.append(text)
        if "max(batch)" in text:
            return [{"last": 1 if self.entries else 0}]
        texts = [encode_entry(entry).decode() for entry in self.entries]
        return [{"number": number, "first": {"entry": entry}} for number, entry in enumerate(texts, 1)]


@pytest.mark.parametrize("option", [("--spark", "sc://somewhere"), ("--warehouse", "w")])
def test_history_of_the_table_of_the_environment(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, option: tuple[str, str]
) -> None:
    table = HistoryTable([
        Entry("run", "airflow-1", "2026-01-01", detail={"event": "started", "kind": "deploy", "environment": "prod"}),
        Entry("done", "airflow-1", operation="a"),
        Entry("run", "airflow-1", detail={"event": "succeeded"}),
    ])  # fmt: skip
    monkeypatch.setattr("airflow_provider_sparkdeploy.cli.history.connect", lambda *_: table)
    there = ("history", "-r", str(shop.root), "--env", "prod", "--set", "log_schema=log", *option)
    result = call(*there)
    assert (result.exit_code, result.stdout.splitlines()) == (
        0, ["2026-01-01  airflow-1  deploy    succeeded   0 objects, 1 operations done, 0 failed in prod"],
    )  # fmt: skip
    assert "`log`.`deploy_log`" in table.asked[0]
    assert "'prod'" in table.asked[0]
    assert json.loads(call(*there, "--format", "json").stdout)["runs"][0]["run"] == "airflow-1"
    table.entries.clear()
    assert call(*there).stdout == "The history table is empty: nothing was deployed yet.\n"


def test_history_of_a_file_and_a_table_at_once_is_refused(deployed: Shop) -> None:
    result = deployed.call("history", "--spark", "sc://somewhere")
    assert result.exit_code == 2
    assert "Pass one of them" in result.stderr


def test_history_is_that_of_the_file_wherever_spark_is(
    deployed: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARKDEPLOY_SPARK", "sc://nowhere.invalid:1")
    assert "4 objects in dev" in deployed.call("history").stdout


def test_to_hear_that_nothing_is_deployed_nobody_waits_for_a_spark(shop: Shop) -> None:
    """No server was ever started in the warehouse, so its catalog is empty: none is started to say so."""
    assert shop.call("status").stdout == (
        "Environment dev: 0 objects deployed.\nLock: free.\nPlan: 4 to create; 4 operations.\n"
    )
    assert shop.call("drift").stdout == "No drift: 0 deployed objects in environment dev as recorded.\n"
    assert shop.call("baseline").exit_code == 0  # or the folder of the tables was deleted
    drifted = shop.json("drift", "--detailed-exitcode", exit_code=2)["drift"]
    assert drifted == dict.fromkeys(["s.open", "s.orders", "s.report", "t.alone"], "missing in the catalog")
    assert shop.json("status")["deployed"] == 4
    assert not (shop.root / ".sparkdeploy" / "warehouse").exists()

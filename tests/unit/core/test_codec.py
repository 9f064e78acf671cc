"""The plan as JSON: the documented shape, and byte for byte the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from sketch import everything, healthy, plan, step, write

from airflow_provider_sparkdeploy.core.codec import encode_plan, plan_from_json, plan_to_json
from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError
from airflow_provider_sparkdeploy.core.operations import Plan

BEFORE = {
    "größe/table/tab.sql": "//// METADATA lifecycle=protected compute=etl\nCREATE TABLE `größe`.tab (a INT, b INT)\n//// INDEX name=i compute=etl\nCREATE INDEX i ON tab (a)\n",
    "s/view/weg.sql": "CREATE VIEW s.weg AS SELECT 1 AS x",
    "s/view/v.sql": "CREATE VIEW s.v AS SELECT a FROM `größe`.tab",
    "s/data/d.csv": "-- //// METADATA keys=k\nk,v\n1,ß\n",
}
AFTER = {
    "größe/table/tab.sql": BEFORE["größe/table/tab.sql"].replace("a INT, b INT", "a INT"),
    "s/view/v.sql": "CREATE VIEW s.v AS SELECT a, '🦆\u2028\"' AS duck FROM `größe`.tab",
    "s/data/d.csv": "-- //// METADATA keys=k\nk,v\n1,ü\n",
    "s/table/`odd.one.sql": "//// CHANGE name=init\nCREATE TABLE s.```odd.one` (a INT);\nMERGE INTO x USING y ON x.a = y.a WHEN MATCHED THEN DELETE;\n// ROLLBACK\nDROP TABLE s.```odd.one`;\n",
    "s/materialized_view/a.sql": "CREATE MATERIALIZED VIEW s.a (x INT) AS SELECT x FROM s.b UNION SELECT 1 AS x",
    "s/materialized_view/b.sql": "CREATE MATERIALIZED VIEW s.b (x INT) AS SELECT x FROM s.a UNION SELECT 2 AS x",
}  # fmt: skip
SETTINGS = "allow_circular: true\n"
OPERATION = ["id", "phase", "action", "object", "kind", "change", "statement", "sql", "hash", "depends_on", "reasons", "destructive", "compute"]  # fmt: skip


@pytest.fixture(scope="module")
def full() -> Plan:
    return step(BEFORE, AFTER, SETTINGS).plan


def test_this_test_has_something_of_everything(full: Plan) -> None:
    assert full.operations
    assert full.blocked
    assert full.components
    assert full.errors == ()
    assert all(full.dirty.values())


def test_the_shape_is_the_documented_one(full: Plan) -> None:
    data = json.loads(plan_to_json(full))
    assert list(data) == [
        "version",
        "fingerprint",
        "operations",
        "dirty",
        "components",
        "blocked",
        "warnings",
        "errors",
    ]
    assert data["version"] == 1
    assert all(list(item) == OPERATION for item in data["operations"])
    assert all(list(item) == [*OPERATION, "reason"] for item in data["blocked"])
    assert list(data["dirty"]) == ["objects", "schemas", "compute", "indexes"]
    assert data["components"] == [{"id": 1, "members": ["s.a", "s.b"], "monotone": True}]
    odd = next(item for item in data["operations"] if item["change"] == "init")
    assert (odd["object"], odd["statement"], odd["kind"]) == ("s.```odd.one`", 1, "table")
    other = next(item for item in data["operations"] if item["id"] == "setup.s.d.load")
    assert (other["change"], other["compute"], other["destructive"]) == (None, None, False)
    assert isinstance(other["reasons"][0], list)


def test_actions_and_phases_are_the_documented_ones(full: Plan) -> None:
    data = encode_plan(full)
    for item in [*data["operations"], *data["blocked"]]:
        assert item["phase"] in ("teardown", "setup", "export")
        assert item["action"] in (
            "drop",
            "create",
            "replace",
            "alter",
            "run",
            "refresh",
            "fixpoint",
            "index",
            "load",
        )


def test_a_plan_with_effects_comes_back_whole(full: Plan) -> None:
    text = plan_to_json(full, effects=True)
    again = plan_from_json(text)
    assert again == full
    assert plan_to_json(again, effects=True) == text


def test_a_plan_without_effects_comes_back_as_it_was_written(full: Plan) -> None:
    text = plan_to_json(full)
    assert plan_to_json(plan_from_json(text)) == text
    assert plan_to_json(plan_from_json(plan_to_json(full, effects=True))) == text


def test_people_can_read_it(full: Plan) -> None:
    text = plan_to_json(full)
    assert "größe" in text
    assert "🦆" in text


def test_a_plan_with_errors_has_no_operations_and_comes_back() -> None:
    planned = step(
        {"s/table/t.sql": "//// CHANGE name=a\nCREATE TABLE s.t (a INT);\n"},
        {"s/view/v.sql": "CREATE VIEW s.v AS SELECT 1 AS a"},
    )
    data = json.loads(plan_to_json(planned.plan))
    assert data["operations"] == []
    (error,) = data["errors"]
    assert (error["code"], error["object"]) == ("SD401", "s.t")
    assert set(error) == {"code", "message", "file", "line", "object", "advice"}
    assert plan_from_json(plan_to_json(planned.plan)) == planned.plan


def test_an_empty_plan_comes_back() -> None:
    found = healthy(AFTER, SETTINGS)
    planned = plan(found, everything(found)).plan
    assert planned.operations == ()
    assert plan_from_json(plan_to_json(planned, effects=True)) == planned


def test_another_version_is_refused(full: Plan) -> None:
    data = json.loads(plan_to_json(full)) | {"version": 2}
    with pytest.raises(SparkDeployError) as caught:
        plan_from_json(json.dumps(data))
    assert caught.value.diagnostics[0].code == "SD605"


def test_equal_inputs_give_equal_bytes_in_any_order() -> None:
    first = step(BEFORE, AFTER, SETTINGS).plan
    second = step(dict(reversed(BEFORE.items())), dict(reversed(AFTER.items())), SETTINGS).plan
    assert plan_to_json(first, effects=True) == plan_to_json(second, effects=True)


def test_equal_inputs_give_equal_bytes_in_another_process(tmp_path: Path) -> None:
    """Hash seeds differ between processes: no set may leak its order."""
    root = write(tmp_path / "repository", AFTER | {"sparkdeploy.yaml": SETTINGS})
    command = [
        sys.executable,
        "-m",
        "airflow_provider_sparkdeploy.cli",
        "plan",
        "--format",
        "json",
        "-r",
        str(root),
    ]
    texts = set()
    for seed in ("0", "1", "2"):
        environment = {"PYTHONHASHSEED": seed, "SPARKDEPLOY_CACHE": str(tmp_path / f"cache{seed}")}
        texts.add(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
    assert len(texts) == 1


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "1", "{}", '{"version": 1}', '{"version": 1, "operations": 3}']
)
def test_what_is_no_plan_is_an_error_for_people(text: str) -> None:
    with pytest.raises(SparkDeployError) as caught:
        plan_from_json(text)
    assert (caught.value.diagnostics[0].code, bool(caught.value.diagnostics[0].advice)) == ("SD605", True)

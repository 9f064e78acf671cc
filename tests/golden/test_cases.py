"""Small cases: what is deployed, what is declared, and the plan between the two.

A case is a folder of ``cases/``; a new case needs no code:

    before/         the repository that is deployed; without it nothing is
    after/          the files that are new or changed, over those of before/
    removed.txt     the files of before/ that are gone
    expect.yaml     what is asked for, and what must come of it

Every ``expect*.yaml`` is a run of its own, so that one case can show two settings side by side.
Its keys, all but ``about`` optional:

    about           which promise this is about
    env, set, select, exclude, force_schema     as on the command line
    deployed        false: start from an empty log although there is a before/
    rollback        true: sparkdeploy rollback --plan
    catalog         an observed catalog; what was deployed, as far as it says nothing else
    operations      all of them, in order, each {id, and of action, reasons, after, sql,
                    destructive what matters}; after are its depends_on, sql is a part of it
    dirty           objects, schemas, compute, indexes: those that are given, in full
    blocked         all of them, each {id, because: a part of the reason}
    errors          all of them, each a code, or {code, object, line, message: a part of it}
    warnings        likewise
    components      members of each cyclic component

What is not expected is refused: an operation, a blocked one, an error or a warning that is not
listed fails the case. And after every plan that can be deployed, planning again is empty.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from golden_tools import REMOVED, Deployment, catalog_json, check_order, lay_over
from sketch import observed

from airflow_provider_sparkdeploy.core.catalog import Catalog, decode_catalog
from airflow_provider_sparkdeploy.core.planner import Request

CASES = Path(__file__).parent / "cases"
RUNS = sorted(CASES.glob("*/expect*.yaml"))
KEYS = {
    "about", "env", "set", "select", "exclude", "force_schema", "deployed", "rollback", "catalog", "operations",
    "dirty", "blocked", "errors", "warnings", "components",
}  # fmt: skip


def _id(path: Path) -> str:
    variant = path.stem.removeprefix("expect").removeprefix(".")
    return f"{path.parent.name}[{variant}]" if variant else path.parent.name


def test_every_folder_is_a_case() -> None:
    assert {path.parent for path in RUNS} == {folder for folder in CASES.iterdir() if folder.is_dir()}


@pytest.mark.parametrize("path", RUNS, ids=_id)
def test_case(path: Path, tmp_path: Path) -> None:
    expected = yaml.safe_load(path.read_text("utf-8"))
    assert set(expected) <= KEYS, f"unknown: {sorted(set(expected) - KEYS)}"
    assert expected["about"]
    case = _Case(path.parent, expected, tmp_path)
    case.prepare()
    plan, catalog = case.plan()
    check_order(plan)
    _check(plan, expected)
    if not plan["errors"] and not plan["blocked"]:
        case.nothing_left(catalog)


class _Case:
    def __init__(self, folder: Path, expected: dict[str, Any], tmp_path: Path) -> None:
        self.folder, self.expected, self.tmp_path = folder, expected, tmp_path
        self.env: str | None = expected.get("env")
        self.overrides = tuple(map(str, expected.get("set", ())))
        options = ["--env", self.env] if self.env else []
        for override in self.overrides:
            options += ["--set", override]
        self.deployment = Deployment(tmp_path / "repository", tmp_path / "log.jsonl", tuple(options))

    def prepare(self) -> None:
        """Deploy what was before, and bring the repository to what is after."""
        repository = self.deployment.repository
        repository.mkdir()
        before = self.folder / "before"
        lay_over(repository, before, self.folder / "nothing")
        if before.is_dir() and self.expected.get("deployed", True):
            result = self.deployment.call("baseline")
            assert result.exit_code == 0, result.output
            assert self.deployment.plan()["operations"] == [], "planning right after a baseline is not empty"
        lay_over(repository, self.folder / "after", self.folder / REMOVED)

    def plan(self) -> tuple[dict[str, Any], Catalog | None]:
        expected = self.expected
        options: list[str] = []
        for key in ("select", "exclude", "force_schema"):
            for value in expected.get(key, ()):
                options += [f"--{key.replace('_', '-')}", value]
        catalog = None
        if "catalog" in expected:
            data = catalog_json(observed(self.deployment.state()), expected["catalog"])
            path = self.tmp_path / "catalog.json"
            path.write_text(json.dumps(data), "utf-8")
            options += ["--catalog", str(path)]
            catalog = decode_catalog(data)
        command = ("rollback", "--plan") if expected.get("rollback") else ("plan",)
        texts = [
            self.deployment.call(*command, "--format", "json", "--detailed-exitcode", *options)
            for _ in range(2)
        ]
        assert texts[0].stdout == texts[1].stdout, "the same question has two answers"
        plan: dict[str, Any] = json.loads(texts[0].stdout)
        something = bool(plan["operations"] or plan["blocked"])
        assert texts[0].exit_code == (1 if plan["errors"] else 2 if something else 0)
        return plan, catalog

    def nothing_left(self, catalog: Catalog | None) -> None:
        expected = self.expected
        chosen = tuple(expected.get("select", ())), tuple(expected.get("exclude", ()))
        request = Request(*chosen, tuple(expected.get("force_schema", ())), expected.get("rollback", False))
        self.deployment.deploy(env=self.env, overrides=self.overrides, catalog=catalog, request=request)
        options = [item for value in chosen[0] for item in ("--select", value)]
        options += [item for value in chosen[1] for item in ("--exclude", value)]
        left = self.deployment.plan(*options)
        assert [item["id"] for item in left["operations"]] == [], (
            "planning right after deploying is not empty"
        )
        assert left["blocked"] == []
        assert {item["code"] for item in left["errors"]} <= {"SD501"}  # what was selected may be gone now


def _check(plan: dict[str, Any], expected: dict[str, Any]) -> None:
    assert _shown(plan["errors"]) == [] or "errors" in expected, _shown(plan["errors"])
    wanted = expected.get("operations", [])
    assert [item["id"] for item in plan["operations"]] == [item["id"] for item in wanted]
    for item, want in zip(plan["operations"], wanted, strict=True):
        assert _operation(item, want) == want
    for key, names in expected.get("dirty", {}).items():
        assert plan["dirty"][key] == names, key
    assert [item["id"] for item in plan["blocked"]] == [item["id"] for item in expected.get("blocked", [])]
    for item, want in zip(plan["blocked"], expected.get("blocked", []), strict=True):
        assert want.get("because", "") in item["reason"]
    for severity in ("errors", "warnings"):
        found, diagnostics = plan[severity], expected.get(severity, [])
        assert len(found) == len(diagnostics), _shown(found)
        for item, want in zip(found, diagnostics, strict=True):
            assert _diagnostic(item, want) == want, _shown(found)
    if "components" in expected:
        assert [item["members"] for item in plan["components"]] == expected["components"]


def _operation(item: dict[str, Any], want: dict[str, Any]) -> dict[str, Any]:
    """What an operation says on everything that is asked of it, written as in expect.yaml."""
    said = {
        **{key: item[key] for key in ("id", "action", "kind", "change", "destructive", "compute")},
        "reasons": [" ".join(reason) for reason in item["reasons"]],
        "after": item["depends_on"],
        "sql": want["sql"] if want.get("sql", "\0") in item["sql"] else item["sql"],
    }
    assert set(want) <= set(said), f"unknown: {sorted(set(want) - set(said))}"
    return {key: said[key] for key in want}


def _diagnostic(item: dict[str, Any], want: Any) -> Any:
    if isinstance(want, str):
        return item["code"]
    said = {key: item[key] for key in ("code", "object", "file", "line")}
    said["message"] = want["message"] if want.get("message", "\0") in item["message"] else item["message"]
    return {key: said.get(key) for key in want}


def _shown(diagnostics: list[dict[str, Any]]) -> list[str]:
    return [f"{item['code']} {item['file']}:{item['line']} {item['message']}" for item in diagnostics]

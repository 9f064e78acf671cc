"""What golden tests are made of: repositories as overlays, a log, plans as a user gets them.

Everything is asked of the command line, so what is compared is what people and pipelines see.
Only deploying needs more than that: it records the effects of a plan in the log, as an
executor would, without running any SQL.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from airflow_provider_sparkdeploy.cli import main
from airflow_provider_sparkdeploy.core.catalog import Catalog, encode_catalog
from airflow_provider_sparkdeploy.core.deploylog import Entry, FileLog
from airflow_provider_sparkdeploy.core.planner import Request, make_plan
from airflow_provider_sparkdeploy.core.repository import open_repository
from airflow_provider_sparkdeploy.core.state import State

REMOVED = "removed.txt"


def lay_over(target: Path, overlay: Path, removed: Path) -> None:
    """Put the files of an overlay into a repository, and take away those that are listed."""
    if removed.is_file():
        for line in removed.read_text("utf-8").split():
            (target / line).unlink()
    if overlay.is_dir():
        shutil.copytree(overlay, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".sparkdeploy"))


@dataclass(frozen=True, slots=True)
class Deployment:
    """A repository, the log of one environment, and the options of every call."""

    repository: Path
    log: Path
    options: tuple[str, ...] = ()

    def call(self, command: str, *options: str) -> Result:
        """``sparkdeploy command``; an exception is a failure of the test."""
        arguments = [command, "--repository", str(self.repository), "--log", str(self.log)]
        return CliRunner().invoke(main, [*arguments, *self.options, *options], catch_exceptions=False)

    def plan(self, *options: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.call("plan", "--format", "json", *options).stdout)
        return found

    def state(self) -> State:
        return FileLog(self.log).read().state

    def deploy(
        self,
        *,
        env: str | None = None,
        overrides: tuple[str, ...] = (),
        catalog: Catalog | None = None,
        request: Request | None = None,
    ) -> None:
        """Record every effect of the plan, in its order."""
        repository = open_repository(self.repository, environment=env, overrides=overrides)
        plan = make_plan(repository, self.state(), catalog=catalog, request=request).plan
        assert not plan.errors, plan.errors
        assert not plan.blocked, plan.blocked
        with FileLog(self.log) as log:
            log.append([Entry("noted", "golden", effects=plan.notes)])
            log.append(
                Entry("done", "golden", operation=item.id, effects=item.effects) for item in plan.operations
            )


def catalog_json(catalog: Catalog, drift: dict[str, Any] | None = None) -> dict[str, Any]:
    """A catalog as ``--catalog`` reads it; ``drift`` changes objects, or takes them away (null)."""
    data = encode_catalog(catalog)
    for name, change in (drift or {}).get("objects", {}).items():
        if change is None:
            del data["objects"][name]
        else:
            data["objects"][name] = {**data["objects"].get(name, {}), **change}
    return data


def check_order(plan: dict[str, Any]) -> None:
    """Every operation comes after what it depends on, and teardown before setup before export."""
    seen: set[str] = {item["id"] for item in plan["blocked"]}
    for item in plan["operations"]:
        assert set(item["depends_on"]) <= seen, f"{item['id']} runs before what it depends on"
        seen.add(item["id"])
    phases = [item["phase"] for item in plan["operations"]]
    assert phases == sorted(phases, key=["teardown", "setup", "export"].index)

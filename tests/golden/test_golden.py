"""The history of the shop: what each step must plan, and that nothing is left to do after it.

A step is a folder: ``repository/`` holds the files that are new or changed in it, ``removed.txt``
those that are gone, ``drift.json`` what somebody did to the catalog by hand. ``plan.json``,
``plan.txt`` and ``plan.md`` are what the step must give; UPDATE_GOLDEN=1 writes them anew. Read the difference.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from golden_tools import REMOVED, Deployment, catalog_json, check_order, lay_over
from sketch import observed

from airflow_provider_sparkdeploy.core.catalog import Catalog, decode_catalog

HERE = Path(__file__).parent
SHOP = HERE.parents[1] / "dags_examples" / "repository_shop"
STEPS = sorted(folder for folder in (HERE / "shop").iterdir() if folder.is_dir())
MASK = "..."  # the fingerprint changes with the version of the tool


@pytest.fixture
def shop(tmp_path: Path) -> Deployment:
    shutil.copytree(SHOP, tmp_path / "shop", ignore=shutil.ignore_patterns(".sparkdeploy"))
    return Deployment(tmp_path / "shop", tmp_path / "dev.jsonl", ("--env", "dev"))


def test_the_history_of_the_shop(shop: Deployment, tmp_path: Path) -> None:
    assert [step.name for step in STEPS] == [
        "1_initial",
        "2_add_and_change",
        "3_remove_and_rename",
        "4_drift",
    ]
    for step in STEPS:
        lay_over(shop.repository, step / "repository", step / REMOVED)
        options, catalog = _catalog(shop, step, tmp_path / "catalog.json")
        plan = shop.plan(*options)
        check_order(plan)
        _compare(step / "plan.json", _text({**plan, "fingerprint": MASK}))
        _compare(step / "plan.txt", shop.call("plan", *options).output)
        _compare(step / "plan.md", shop.call("plan", "--format", "markdown", *options).stdout)
        shop.deploy(env="dev", catalog=catalog)
        _nothing_left(shop, tmp_path / "after.json")


def test_the_shop_in_production(shop: Deployment, tmp_path: Path) -> None:
    prod = Deployment(shop.repository, tmp_path / "prod.jsonl", ("--env", "prod"))
    _compare(STEPS[0] / "prod.plan.json", _text({**prod.plan(), "fingerprint": MASK}))
    _compare(STEPS[0] / "prod.plan.txt", prod.call("plan").output)
    prod.deploy(env="prod")
    _nothing_left(prod, tmp_path / "after.json")


@pytest.mark.parametrize("env", ["dev", "prod"])
def test_the_shop_has_nothing_to_complain_about(shop: Deployment, env: str) -> None:
    result = Deployment(shop.repository, shop.log).call("lint", "--env", env, "--strict")
    assert result.exit_code == 0, result.output


def test_a_baseline_of_the_shop_leaves_nothing_to_do(shop: Deployment) -> None:
    assert shop.call("baseline").exit_code == 0
    assert shop.plan()["operations"] == []


def _catalog(shop: Deployment, step: Path, path: Path) -> tuple[tuple[str, ...], Catalog | None]:
    """The catalog of a step in which it is looked at: as deployed, and then what was done to it."""
    if not (step / "drift.json").is_file():
        return (), None
    data = catalog_json(observed(shop.state()), json.loads((step / "drift.json").read_text("utf-8")))
    path.write_text(json.dumps(data), "utf-8")
    return ("--catalog", str(path)), decode_catalog(data)


def _nothing_left(shop: Deployment, path: Path) -> None:
    """Planning right after deploying is empty: by the log, and by a catalog that agrees with it."""
    path.write_text(json.dumps(catalog_json(observed(shop.state()))), "utf-8")
    for options in ((), ("--catalog", str(path))):
        result = shop.call("plan", "--detailed-exitcode", *options)
        assert result.exit_code == 0, result.output


def _text(plan: dict[str, Any]) -> str:
    return json.dumps(plan, indent=2, ensure_ascii=False) + "\n"


def _compare(path: Path, text: str) -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, "utf-8")
    assert path.read_text("utf-8") == text, f"{path.parent.name}/{path.name} is not what is planned now"

"""What a parse of a refresh DAG makes, and what it imports."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_sparkdeploy.airflow import keeping
from airflow_provider_sparkdeploy.airflow.deploying import Deploying
from airflow_provider_sparkdeploy.airflow.due import units_of

SHOP = Path(__file__).parents[3] / "dags_examples" / "repository_shop"
_TOLD = """
print(list(dag.task_dict))
print(sorted({name.partition(".")[0] for name in sys.modules} & {"sqlglot", "networkx", "pyspark"}))
"""


def parse(text: str, home: Path, **environment: str) -> list[str]:
    variables = {
        **os.environ,
        "AIRFLOW_HOME": str(home),
        "SPARKDEPLOY_CACHE": str(home / "cache"),
        **environment,
    }
    text = f"import sys\nfrom airflow_provider_sparkdeploy import SparkRefreshDag\n{text}"
    done = subprocess.run(
        [sys.executable, "-c", text], env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()


def test_one_task_per_unit_and_a_warm_parse_imports_no_parser(tmp_path: Path) -> None:
    cycle = "setup.analytics.bundle_contains.fixpoint"
    text = f"""
dag = SparkRefreshDag("refresh", repository={str(SHOP)!r}, timezone="Europe/Vienna")
print([item.expression for item in dag.timetable.timetables], dag.max_active_runs, dag.catchup)
print([asset.uri for asset in dag.get_task({cycle!r}).outlets])
print(sorted(dag.get_task({cycle!r}).upstream_task_ids), sorted(dag.get_task({cycle!r}).downstream_task_ids))
"""
    for cold in (True, False):
        *_, timetable, outlets, edges, tasks, imported = parse(text + _TOLD, tmp_path)
        assert timetable == "['0 2 * * *', '0 3 * * 1'] 1 False"
        assert outlets == (
            "['sparkdeploy://dev/analytics/bundle_contains', 'sparkdeploy://dev/analytics/bundle_reaches']"
        )
        assert edges == "['plan'] ['record']"
        assert cycle in tasks
        assert "pyspark" not in imported
        assert ("sqlglot" in imported) == cold
        assert cold or imported == "[]"


def test_a_worker_builds_only_the_task_that_it_was_asked_for(tmp_path: Path) -> None:
    for task in ("plan", "setup.analytics.daily_revenue", "record"):
        asked = {"_AIRFLOW_PARSING_CONTEXT_DAG_ID": "refresh", "_AIRFLOW_PARSING_CONTEXT_TASK_ID": task}
        *_, tasks, imported = parse(
            f"dag = SparkRefreshDag('refresh', repository='/nowhere'){_TOLD}", tmp_path, **asked
        )
        assert tasks == str(list(dict.fromkeys(["plan", "record", task])))
        assert imported == "[]"


def test_a_repository_that_cannot_be_read_is_told_by_the_plan(tmp_path: Path) -> None:
    text = "dag = SparkRefreshDag('refresh', repository='/nowhere')\nprint(dag.get_task('plan').doc_md)"
    told = parse(text + _TOLD, tmp_path)
    assert told[-2] == "['plan', 'record']"
    assert any("SD100" in line for line in told)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return shutil.copytree(SHOP, tmp_path / "shop")


@pytest.fixture
def variables(shop: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the last run has left. It is given through the environment, which Airflow reads first."""
    kept: dict[str, str] = {}
    monkeypatch.setattr(
        keeping.Variable, "set", lambda key, value, description=None: kept.update({key: value})
    )
    repository = Deploying("refresh", shop).open()
    environment = repository.settings.environment
    keeping.write_view(
        "refresh",
        keeping.View(repository.fingerprint, units=units_of(repository), environment=environment),
    )
    return {f"AIRFLOW_VAR_{key.upper()}": value for key, value in kept.items()}


_SCHEDULE = """
print(dag.get_task("plan").doc_md.partition(":")[0])
print([item.expression for item in dag.timetable.timetables])
"""


def test_what_is_kept_is_shown_without_parsing_it(
    shop: Path, tmp_path: Path, variables: dict[str, str]
) -> None:
    """Also where there is no cache."""
    text = f"dag = SparkRefreshDag('refresh', repository={str(shop)!r})"
    *_, doc, schedules, tasks, imported = parse(text + _SCHEDULE + _TOLD, tmp_path, **variables)
    *_, same, parsed, by_a_parser = parse(text + _SCHEDULE + _TOLD, tmp_path)
    assert (schedules, tasks) == (same, parsed)
    assert "Finds out what is due" in doc
    assert imported == "[]"
    assert "sqlglot" in by_a_parser


def test_broken_files_change_neither_the_tasks_nor_when_they_run(
    shop: Path, tmp_path: Path, variables: dict[str, str]
) -> None:
    text = f"dag = SparkRefreshDag('refresh', repository={str(shop)!r})"
    *_, schedules, tasks, _ = parse(text + _SCHEDULE + _TOLD, tmp_path, **variables)
    file = next((shop / "analytics" / "materialized_view").glob("*.sql"))
    file.write_text(file.read_text().replace("SELECT", "SELECT ${nowhere},", 1))
    *_, doc, broken, left, _ = parse(text + _SCHEDULE + _TOLD, tmp_path, **variables)
    assert (broken, left) == (schedules, tasks)
    assert doc == "What is deployed is refreshed as before; the files have errors"


def test_where_no_schedule_can_be_read_a_run_every_hour_tells_so(shop: Path, tmp_path: Path) -> None:
    (shop / "sparkdeploy.yaml").write_text("no_such_setting: 1\n")
    text = f"dag = SparkRefreshDag('refresh', repository={str(shop)!r})"
    *_, doc, schedules, tasks, _ = parse(text + _SCHEDULE + _TOLD, tmp_path)
    assert doc == "Nothing can be refreshed; the files have errors"
    assert (schedules, tasks) == ("['0 * * * *']", "['plan', 'record']")
    text = text.replace("'refresh',", "'refresh', schedule=None,")
    assert "NullTimetable" in parse(text + "\nprint(dag.timetable)\n", tmp_path)[-1]


def test_an_unknown_argument_is_an_error_with_a_suggestion(tmp_path: Path) -> None:
    text = """
try:
    SparkRefreshDag("refresh", repository="r", timezon="UTC")
except TypeError as error:
    print(error)
"""
    assert parse(text, tmp_path)[-1] == "SparkRefreshDag has no argument timezon. Did you mean timezone?"


def test_an_unknown_time_zone_is_an_error_with_a_suggestion(tmp_path: Path) -> None:
    text = """
try:
    SparkRefreshDag("refresh", repository="r", timezone="Europe/Viena")
except ValueError as error:
    print(error)
"""
    told = "refresh: there is no timezone='Europe/Viena'. Did you mean Europe/Vienna?"
    assert parse(text, tmp_path)[-1] == told

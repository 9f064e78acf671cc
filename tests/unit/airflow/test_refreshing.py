"""What a parse of a refresh DAG makes, and what it imports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
        assert tasks == f"['{task}']"
        assert imported == "[]"


def test_a_repository_that_cannot_be_read_is_told_by_the_plan(tmp_path: Path) -> None:
    text = "dag = SparkRefreshDag('refresh', repository='/nowhere')\nprint(dag.get_task('plan').doc_md)"
    told = parse(text + _TOLD, tmp_path)
    assert told[-2] == "['plan', 'record']"
    assert any("SD100" in line for line in told)


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

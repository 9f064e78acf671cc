"""A parse of a repository that has not changed parses no SQL: the kept graph is all that it needs.

The Variables are given through the environment, which Airflow reads first, to processes of their own; the
cache of the repository is empty, so that nothing else can make a parse light.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sketch

from airflow_provider_sparkdeploy.airflow import keeping, rendering
from airflow_provider_sparkdeploy.airflow.deploying import Deploying

FILES = {
    "a/table/t.sql": "CREATE TABLE ${a}.t (x INT) USING parquet;\n",
    "b/view/v.sql": "CREATE VIEW ${b}.v AS SELECT x FROM ${a}.t;\n",
    "b/materialized_view/p.sql": (
        "CREATE MATERIALIZED VIEW ${b}.p (x INT) AS SELECT x FROM ${b}.v UNION SELECT x FROM ${b}.q;\n"
    ),
    "b/materialized_view/q.sql": "CREATE MATERIALIZED VIEW ${b}.q (x INT) AS SELECT DISTINCT x FROM ${b}.p;\n",
    "sparkdeploy.yaml": "allow_circular: true\n",
}
_HEAVY = ("airflow_provider_sparkdeploy.core.planner", "networkx", "sqlglot", "pyspark")
_PARSE = f"""
import sys
from airflow_provider_sparkdeploy import SparkDeployDag
dag = SparkDeployDag("deploy", repository=sys.argv[1])
print(sorted(dag.task_dict))
print([name for name in {_HEAVY} if name in sys.modules])
print([task.sql for task in dag.tasks if task.task_id == "setup.b.v"])
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return sketch.write(tmp_path / "repository", FILES)


@pytest.fixture
def variables(repository: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What a run leaves: its graph, the texts of it, and what is deployed."""
    kept: dict[str, str] = {}
    monkeypatch.setattr(
        keeping.Variable, "set", lambda key, value, description=None: kept.update({key: value})
    )
    deploying = Deploying("deploy", repository)
    found = deploying.open()
    plan = rendering.plan_against(found, {})
    keeping.write_view("deploy", rendering.view_of(deploying, found, plan))
    keeping.write_texts("deploy", rendering.texts_of(plan.operations))
    keeping.write_recorded("deploy", keeping.Recorded(1, {}))
    return {f"AIRFLOW_VAR_{key.upper()}": value for key, value in kept.items()}


def parse(repository: Path, environment: dict[str, str]) -> list[str]:
    """The tasks, the heavy modules that were imported, the SQL of a task."""
    home = repository.parent
    settings = {
        **os.environ,
        "AIRFLOW_HOME": str(home / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "SPARKDEPLOY_CACHE": str(home / "cache"),
        **environment,
    }
    command = [sys.executable, "-c", _PARSE, str(repository)]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-3:]


ALL = "['plan', 'record', 'setup.a.t', 'setup.b.p', 'setup.b.p.fixpoint', 'setup.b.q', 'setup.b.v']"


def test_an_unchanged_repository_is_shown_without_parsing_it(
    repository: Path, variables: dict[str, str]
) -> None:
    tasks, imported, sql = parse(repository, variables)
    assert tasks == ALL
    assert imported == "[]"
    assert "SELECT x FROM" in sql
    assert not (repository.parent / "cache").exists()  # the files were hashed, and nothing more


def test_a_changed_repository_is_parsed_and_still_needs_no_spark(
    repository: Path, variables: dict[str, str]
) -> None:
    """Also shows that the tests beside it can fail: what is kept must be of these very files, and there
    is something in them (a cycle) that takes a parser to plan."""
    sketch.write(repository, {"b/view/v.sql": "CREATE VIEW ${b}.v AS SELECT x + 1 AS x FROM ${a}.t;\n"})
    tasks, imported, sql = parse(repository, variables)
    assert tasks == ALL
    assert "core.planner" in imported
    assert "sqlglot" in imported
    assert "pyspark" not in imported
    assert "SELECT x + 1 AS x" in sql


@pytest.mark.parametrize("task", ["plan", "approve", "setup.b.v", "record"])
def test_a_worker_builds_its_task_and_imports_nothing_heavy(
    repository: Path, variables: dict[str, str], task: str
) -> None:
    """Every task starts with a parse: it looks at no Variable and at no file, even where these changed."""
    sketch.write(repository, {"b/view/v.sql": "this is no SQL"})
    asked = {"_AIRFLOW_PARSING_CONTEXT_DAG_ID": "deploy", "_AIRFLOW_PARSING_CONTEXT_TASK_ID": task}
    tasks, imported, sql = parse(repository, {**variables, **asked})
    assert tasks == str(
        sorted({task, "plan", "record"})
    )  # the latter two are always there, for others to be tied to
    assert imported == "[]"
    assert sql == ("['']" if task == "setup.b.v" else "[]")
    assert not (repository.parent / "cache").exists()

"""What a parse of a DAG file imports, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_sparkdeploy import SparkDeployDag, SparkDeployTaskGroup, SparkRefreshDag

SHOP = Path(__file__).parents[3] / "dags_examples" / "repository_shop"
_PARSE = """
import sys
from airflow_provider_sparkdeploy import SparkDeployDag
dag = SparkDeployDag("deploy_shop", repository={shop!r})
assert "setup.sales.orders.init.1" in dag.task_dict, sorted(dag.task_dict)
print(",".join(sorted({{name.partition(".")[0] for name in sys.modules}})))
"""


def parse(text: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    import os

    variables = {
        **os.environ,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        **environment,
    }
    return subprocess.run(
        [sys.executable, "-c", text], env=variables, capture_output=True, text=True, check=False
    )


def test_a_parse_imports_no_pyspark_and_a_warm_one_no_parser(tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")
    for expected in (True, False):
        done = parse(_PARSE.format(shop=str(SHOP)), tmp_path, SPARKDEPLOY_CACHE=cache)
        assert done.returncode == 0, done.stderr
        imported = set(done.stdout.strip().splitlines()[-1].split(","))
        assert "pyspark" not in imported
        assert ("sqlglot" in imported) == expected


def test_a_worker_builds_only_the_task_that_it_was_asked_for(tmp_path: Path) -> None:
    text = (
        "from airflow_provider_sparkdeploy import SparkDeployDag\n"
        "dag = SparkDeployDag('deploy_shop', repository='/nowhere')\nprint(list(dag.task_dict))"
    )
    asked = {
        "_AIRFLOW_PARSING_CONTEXT_DAG_ID": "deploy_shop",
        "_AIRFLOW_PARSING_CONTEXT_TASK_ID": "setup.sales.orders.init.1",
    }
    done = parse(text, tmp_path, **asked)
    told = "['plan', 'record', 'setup.sales.orders.init.1']"  # the first two for others to be tied to
    assert done.stdout.strip().splitlines()[-1] == told, done.stderr


@pytest.mark.parametrize("factory", ["SparkDeployDag", "SparkRefreshDag"])
def test_what_is_wrong_with_a_repository_is_told_where_its_file_is_parsed(
    tmp_path: Path, factory: str
) -> None:
    """And only there: the DAG stays, with a task that says it again."""
    (tmp_path / "r" / "s" / "view").mkdir(parents=True)
    (tmp_path / "r" / "s" / "view" / "v.sql").write_text(
        "-- //// METADATA tag=x\nCREATE VIEW s.v AS SELECT 1 AS a"
    )
    (tmp_path / "r" / "sparkdeploy.yaml").write_text("environments: {prod: {}}\ndefault_environment: prod\n")
    for argument, told in (
        ("repository='nowhere'", ("SD100", "nowhere", "in a DAG, repository=")),
        ("repository='r', environment='prd'", ("sparkdeploy.yaml:1: SD101", "Did you mean prod?")),
        ("repository='r'", ("s/view/v.sql:1: SD123", "Did you mean tags?")),
    ):
        text = (
            f"from airflow_provider_sparkdeploy import {factory}\n"
            f"dag = {factory}('deploy_shop', {argument})\nprint(list(dag.task_dict))\n"
        )
        (tmp_path / "dag.py").write_text(text)
        done = parse(f"import runpy; runpy.run_path({str(tmp_path / 'dag.py')!r})", tmp_path)
        assert done.stdout.strip().splitlines()[-1] == "['plan', 'record']", done.stderr
        said = done.stdout + done.stderr
        assert "Traceback" not in said
        assert "deploy_shop: there is no plan of" in said
        assert all(part in said for part in told), said


def test_a_folder_of_a_repository_is_one_problem_not_one_for_each_file(tmp_path: Path) -> None:
    for name in ("v", "w"):
        sql = tmp_path / "r" / "s" / "view" / f"{name}.sql"
        sql.parent.mkdir(parents=True, exist_ok=True)
        sql.write_text(f"CREATE VIEW s.{name} AS SELECT 1 AS a")
    (tmp_path / "r" / "sparkdeploy.yaml").write_text("")
    text = "from airflow_provider_sparkdeploy import SparkDeployDag\nSparkDeployDag('d', repository={!r})"
    for folder in (tmp_path / "r" / "s", tmp_path):
        done = parse(text.format(str(folder)), tmp_path)
        said = done.stdout + done.stderr
        assert f"SD100 {folder} is not a repository: sparkdeploy.yaml is in {tmp_path}/r\n" in said
        assert f"Name that folder (--repository {tmp_path}/r; in a DAG, repository=)" in said
        assert "SD110" not in said


def test_the_params_of_the_dag_are_not_kept_by_every_task_again(tmp_path: Path) -> None:
    text = (
        "from airflow_provider_sparkdeploy import SparkDeployDag\n"
        "from airflow.sdk.definitions.param import process_params\n"
        f"dag = SparkDeployDag('d', repository={str(SHOP)!r}, params={{'more': 1}})\n"
        "assert not any(task.params for task in dag.tasks)\n"
        "told = process_params(dag, dag.get_task('plan'), {'dry_run': True}, suppress_exception=False)\n"
        "print(told['more'], told['dry_run'], told['select'])"
    )
    done = parse(text, tmp_path)
    assert done.stdout.strip().splitlines()[-1:] == ["1 True []"], done.stderr


@pytest.mark.parametrize("factory", ["SparkDeployDag", "SparkRefreshDag"])
def test_a_wish_for_several_runs_at_once_is_an_error_with_advice(tmp_path: Path, factory: str) -> None:
    text = (
        f"from airflow_provider_sparkdeploy import {factory}\n{factory}('d', repository='r', max_active_runs="
    )
    told = (
        "ValueError: d: there is no max_active_runs=5: two runs of one deployment exclude each other. It is always 1: "
        "leave it out."
    )
    assert told in parse(f"{text}5)", tmp_path).stderr
    assert parse(f"{text}1)", tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("enviroment='prod'", "Did you mean environment?"),
        ("shedule=None", "Did you mean schedule?"),
        ("render='everything'", "d: there is no render='everything'. Known: all, plan."),
        ("on_stale='replann'", "d: there is no on_stale='replann'. Did you mean replan?"),
    ],
)
def test_an_unknown_argument_or_value_is_an_error_with_a_suggestion(
    tmp_path: Path, arguments: str, told: str
) -> None:
    text = f"from airflow_provider_sparkdeploy import SparkDeployDag\nSparkDeployDag('d', repository='r', {arguments})"
    done = parse(text, tmp_path)
    assert told in done.stderr


class OfATeam(SparkDeployDag):
    """What somebody has derived, to give every DAG the same owner."""

    def __init__(self, dag_id: str, **arguments: Any) -> None:
        super().__init__(dag_id, **arguments)


@pytest.mark.parametrize(
    ("factory", "argument", "told"),
    [
        (OfATeam, "retry_dealy", " Did you mean retry_delay?"),
        (SparkDeployDag, "retry_dealy", " Did you mean retry_delay?"),
        (SparkDeployTaskGroup, "on_stael", " Did you mean on_stale?"),
        (SparkDeployTaskGroup, "schedule", ""),
        (SparkRefreshDag, "timezon", " Did you mean timezone?"),
        (SparkRefreshDag, "on_stale", ""),  # there is nothing that could be stale
        (SparkRefreshDag, "render", ""),
    ],
)
def test_what_is_suggested_is_an_argument_of_the_same_factory(
    factory: Callable[..., object], argument: str, told: str
) -> None:
    with pytest.raises(TypeError) as error, DAG("d", schedule=None, max_active_runs=1):
        factory("f", repository="/r", **{argument: 1})
    suggested = str(error.value).partition(f" has no argument {argument}.")[2]
    assert suggested.partition(" Known:")[0] == told


@pytest.mark.parametrize("factory", [OfATeam, SparkDeployDag, SparkDeployTaskGroup, SparkRefreshDag])
def test_a_misspelled_argument_is_told_even_where_it_was_the_one_that_is_needed(
    factory: Callable[..., object],
) -> None:
    with (
        pytest.raises(TypeError, match=r"has no argument repositry\. Did you mean repository\?"),
        DAG("d", schedule=None, max_active_runs=1),
    ):
        factory("f", repositry="/r")

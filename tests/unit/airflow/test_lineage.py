"""What OpenLineage hears of an operation, through the real extractor of its provider."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_provider_sparkdeploy.airflow.deploying import Deploying
from airflow_provider_sparkdeploy.airflow.operators import SparkDeployOperator
from airflow_provider_sparkdeploy.airflow.refresh_task import SparkRefreshOperator
from airflow_provider_sparkdeploy.core.operations import Operation
from airflow_provider_sparkdeploy.core.planner import make_plan
from airflow_provider_sparkdeploy.core.repository import open_repository

extractors = pytest.importorskip("airflow.providers.openlineage.extractors.base")
FILES = {
    "a/table/t.sql": "CREATE TABLE ${a}.t (x INT) USING parquet;\n",
    "a/materialized_view/m.sql": "CREATE MATERIALIZED VIEW ${a}.m AS SELECT x FROM ${a}.t;\n",
    "b/view/v.sql": "CREATE VIEW ${b}.v AS SELECT x FROM ${a}.m;\n",
}


@pytest.fixture
def operations(tmp_path: Path) -> dict[str, Operation]:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
    return {item.id: item for item in make_plan(open_repository(tmp_path), {}).plan.operations}


@pytest.mark.parametrize(
    ("made_by", "name", "reads", "writes"),
    [
        (SparkDeployOperator, "setup.a.t", [], "a.t"),
        (SparkDeployOperator, "setup.b.v", ["a.m"], "b.v"),
        (SparkRefreshOperator, "setup.a.m", ["a.t"], "a.m"),
    ],
)
def test_inputs_and_outputs_are_those_of_the_operation(
    operations: dict[str, Operation], made_by: Any, name: str, reads: list[str], writes: str
) -> None:
    task = made_by(deploying=Deploying("d", Path("/")), operation=name, task_id=name)
    task._found, task._environment = operations[name], "prod"
    found = extractors.DefaultExtractor(task).extract_on_complete(None)
    assert [(item.namespace, item.name) for item in found.inputs] == [
        ("sparkdeploy://prod", name) for name in reads
    ]
    assert [(item.namespace, item.name) for item in found.outputs] == [("sparkdeploy://prod", writes)]
    assert found.job_facets["sql"].query == operations[name].sql


def test_nothing_is_told_of_an_operation_that_the_plan_does_not_have() -> None:
    task = SparkDeployOperator(
        deploying=Deploying("d", Path("/")), operation="setup.a.t", task_id="setup.a.t"
    )
    assert task.get_openlineage_facets_on_complete(None) is None

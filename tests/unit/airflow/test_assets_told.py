"""The news of what a task has deployed: once, and surely."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sketch
from airflow.sdk.api.datamodels._generated import AssetEventResponse, AssetResponse
from airflow.sdk.bases.xcom import BaseXCom
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import AssetEventsResult, GetAssetEventByAsset

from airflow_provider_sparkdeploy.airflow.assets import deployed_object
from airflow_provider_sparkdeploy.airflow.deploying import Deploying
from airflow_provider_sparkdeploy.airflow.operation_task import SparkDeployOperator
from airflow_provider_sparkdeploy.airflow.refresh_task import SparkRefreshOperator
from airflow_provider_sparkdeploy.airflow.runlog import Frozen, RunLog
from airflow_provider_sparkdeploy.core.deploylog import Entry
from airflow_provider_sparkdeploy.core.operations import Operation

AT = "2026-11-18T08:00:00+00:00"
NAME = "setup.s.v"
DEPLOYING = Deploying("d", Path("/nowhere"))


class Server:
    """The events of an asset, by DAG, run and task."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []
        self.asked: list[GetAssetEventByAsset] = []

    def send(self, message: Any) -> Any:
        assert isinstance(message, GetAssetEventByAsset)
        self.asked.append(message)
        found = [
            AssetEventResponse(
                id=number,
                timestamp=datetime.now(UTC),
                asset=AssetResponse(name=message.name or "", uri=message.uri or "", group="asset"),
                created_dagruns=[],
                source_dag_id=dag,
                source_run_id=run,
                source_task_id=task,
            )
            for number, (dag, run, task) in enumerate(self.events)
        ]
        return AssetEventsResult(asset_events=found)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    found = Server()
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", found, raising=False)
    return found


@pytest.fixture(autouse=True)
def operation(monkeypatch: pytest.MonkeyPatch) -> Operation:
    """What a run has planned and, by its log, done."""
    found: dict[str, Any] = {}
    monkeypatch.setattr(BaseXCom, "set", lambda key, value, **place: found.update({key: value}))
    monkeypatch.setattr(BaseXCom, "get_one", lambda key, **place: found.get(key))
    [item] = sketch.plan(sketch.healthy({"s/view/v.sql": "CREATE VIEW s.v AS SELECT 1 AS a"})).plan.operations
    log = RunLog(DEPLOYING, "r")
    log.freeze(Frozen("d/r", AT, "1:f", "dev", (item.id,)), [item])
    log.write(item, [Entry("done", "d/r", AT, operation=item.id, effects=item.effects)])
    return item


def tells(kind: type[SparkDeployOperator]) -> list[str]:
    task = kind(deploying=DEPLOYING, operation=NAME, task_id=NAME)
    context: Any = {"run_id": "r"}
    task.render_template_fields(context)
    assert task.execute(context) == {}
    return [asset.uri for asset in task.outlets]


@pytest.mark.parametrize("kind", [SparkDeployOperator, SparkRefreshOperator])
def test_a_task_that_was_done_and_is_cleared_tells_nothing_again(
    server: Server, kind: type[SparkDeployOperator]
) -> None:
    server.events = [("d", "before", NAME), ("d", "r", NAME)]
    assert tells(kind) == []
    [asked] = server.asked
    assert asked.uri == "sparkdeploy://dev/s/v"
    assert asked.after == datetime.fromisoformat(AT)


@pytest.mark.parametrize("kind", [SparkDeployOperator, SparkRefreshOperator])
@pytest.mark.parametrize("events", [[], [("d", "before", NAME), ("other", "r", NAME), ("d", "r", "record")]])
def test_a_task_whose_worker_died_as_soon_as_it_was_done_tells_it(
    server: Server, kind: type[SparkDeployOperator], events: list[tuple[str, str, str]]
) -> None:
    server.events = events
    assert tells(kind) == ["sparkdeploy://dev/s/v"]


@pytest.mark.parametrize("name", ["orders", "lake.sales.orders", "sales orders", ""])
def test_a_name_that_no_object_has_is_an_error_and_no_asset_that_never_has_news(name: str) -> None:
    with pytest.raises(ValueError, match=r"there is no object .*schema\.object"):
        deployed_object(name)


def test_an_object_has_one_asset_however_it_is_spelled() -> None:
    found = {deployed_object(name, environment="Prod").uri for name in ("Sales.Orders", "`sales`.orders")}
    assert found == {"sparkdeploy://prod/sales/orders"}
    assert deployed_object("a_b.c").uri != deployed_object("a.b_c").uri
    assert deployed_object("`a/b`.c").uri == "sparkdeploy://default/a%2Fb/c"

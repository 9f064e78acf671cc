"""The run that a stale one starts: one, not two, and never none."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import ErrorType
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import (
    DagRunStateResult,
    ErrorResponse,
    GetDagRunState,
    OKResponse,
    TriggerDagRun,
)

from airflow_provider_sparkdeploy.airflow.deploying import REPLANS, Deploying, replans_of
from airflow_provider_sparkdeploy.airflow.plan_task import MOST_REPLANS, replan

DEPLOYING = Deploying("d", Path("/nowhere"))


class Server:
    """The runs of an Airflow, by their states, and those that were asked for, with the count in their conf."""

    def __init__(self) -> None:
        self.runs: dict[str, str] = {}
        self.started: list[tuple[str, Any]] = []
        self.refuses = False

    def send(self, msg: Any) -> Any:
        if isinstance(msg, GetDagRunState):
            return DagRunStateResult(state=self.runs[msg.run_id])
        assert isinstance(msg, TriggerDagRun)
        if self.refuses:
            return ErrorResponse(error=ErrorType.GENERIC_ERROR)
        if msg.run_id in self.runs:
            return ErrorResponse(error=ErrorType.DAGRUN_ALREADY_EXISTS)
        self.runs[msg.run_id] = "queued"
        self.started.append((msg.run_id, (msg.conf or {})[REPLANS]))
        return OKResponse(ok=True)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    found = Server()
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", found, raising=False)
    return found


def stale(run: str, **conf: Any) -> str:
    context: Any = {"run_id": run, "dag_run": SimpleNamespace(conf=conf)}
    return replan(DEPLOYING, context)


def test_a_stale_run_starts_another(server: Server) -> None:
    assert stale("manual") == "run replan_1__manual goes on"
    assert stale("replan_1__manual", **{REPLANS: 1}) == "run replan_2__manual goes on"
    assert server.started == [("replan_1__manual", 1), ("replan_2__manual", 2)]


@pytest.mark.parametrize("state", ["queued", "running"])
def test_a_task_that_was_killed_after_it_had_started_a_run_starts_no_other(
    server: Server, state: str
) -> None:
    server.runs = {"replan_1__manual": state}
    assert stale("manual") == "run replan_1__manual goes on"
    assert server.started == []


@pytest.mark.parametrize("state", ["success", "failed"])
def test_a_stale_run_that_is_cleared_starts_another_one_again(server: Server, state: str) -> None:
    server.runs = {"replan_1__manual": state}
    assert stale("manual") == "run replan_1.2__manual goes on"
    assert stale("manual") == "run replan_1.2__manual goes on"
    server.runs["replan_1.2__manual"] = state
    assert stale("manual") == "run replan_1.3__manual goes on"
    assert stale("replan_1.3__manual", **{REPLANS: 1}) == "run replan_2__manual goes on"
    assert [count for _, count in server.started] == [1, 1, 2]


def test_after_three_in_a_row_no_other_is_started(server: Server) -> None:
    assert stale("replan_3.2__manual", **{REPLANS: MOST_REPLANS}).startswith("3 runs in a row")
    assert server.started == []


def test_a_run_that_cannot_be_started_is_told(server: Server) -> None:
    server.refuses = True
    assert stale("manual").startswith("run it again: the next run could not be started (")


RUBBISH = ["two", None, "", [], {}, 1.5, float("inf"), -7]


@pytest.mark.parametrize("count", RUBBISH)
def test_what_people_write_into_a_conf_counts_as_no_run(server: Server, count: Any) -> None:
    assert stale("manual", **{REPLANS: count}) == "run replan_1__manual goes on"
    assert server.started == [("replan_1__manual", 1)]


@pytest.mark.parametrize("conf", [None, *({REPLANS: count} for count in RUBBISH)])
def test_the_page_shows_such_a_run(conf: Any) -> None:
    from airflow_provider_sparkdeploy.airflow.page.reading import _run

    item: Any = SimpleNamespace(
        run_id="r", state="failed", run_type="manual", start_date=None, end_date=None, clear_number=0,
        triggering_user_name=None, conf=conf,
    )  # fmt: skip
    assert _run(item).replans == 0
    assert replans_of({REPLANS: 2}) == 2

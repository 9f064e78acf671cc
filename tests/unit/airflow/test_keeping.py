"""What is kept is read as it is now, or not at all: through Airflow's own client, in front of an API server
that says what a test wants."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.cache import SecretCache
from airflow.sdk.execution_time.comms import (
    ErrorResponse,
    GetVariable,
    GetVariableKeys,
    VariableKeysResult,
    VariableResult,
)

from airflow_provider_sparkdeploy.airflow import keeping
from airflow_provider_sparkdeploy.airflow.keeping import Unreadable, View

KEY = "sparkdeploy.view.d"


class Server:
    """The Variables of an Airflow; a request whose type is in ``broken`` is answered by an error, as often
    as it says there."""

    def __init__(self) -> None:
        self.variables: dict[str, str] = {}
        self.broken: dict[type, int] = {}
        self.asked: list[type] = []

    def send(self, message: Any) -> Any:
        kind = type(message)
        if kind in (GetVariable, GetVariableKeys):
            self.asked.append(kind)
        if left := self.broken.get(kind, 0):
            self.broken[kind] = left - 1
            raise AirflowRuntimeError(ErrorResponse(error=ErrorType.API_SERVER_ERROR))
        if isinstance(message, GetVariable):
            if message.key in self.variables:
                return VariableResult(key=message.key, value=self.variables[message.key])
            return ErrorResponse(error=ErrorType.VARIABLE_NOT_FOUND)
        if isinstance(message, GetVariableKeys):
            found = [key for key in self.variables if key.startswith(message.prefix or "")]
            return VariableKeysResult(keys=found, total_entries=len(found))
        return None


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    found = Server()
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", found, raising=False)
    return found


def keep(server: Server, view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        keeping.Variable, "set", lambda key, value, description=None: server.variables.update({key: value})
    )
    keeping.write_view("d", view)


def test_what_a_run_has_written_is_read_whatever_airflow_has_cached(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``[secrets] use_cache``: the DAG processor keeps what it has read for a quarter of an hour."""
    monkeypatch.setattr(SecretCache, "_cache", {})
    monkeypatch.setattr(SecretCache, "_ttl", timedelta(minutes=15), raising=False)
    for active in ("one", "two"):
        keep(server, View("1:f", active=active), monkeypatch)
        found = keeping.read_view("d")
        assert found is not None
        assert found.active == active


def test_what_is_there_is_read_at_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(server, View("1:f"), monkeypatch)
    assert keeping.read_view("d") == View("1:f")
    assert server.asked == [GetVariable]


def test_where_nothing_is_kept_there_is_nothing(server: Server) -> None:
    server.variables[f"{KEY}_too"] = "of another DAG"
    assert keeping.read_view("d") is None
    assert keeping.recorded_text("d") is None


def test_what_failed_to_be_read_once_is_read_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(server, View("1:f"), monkeypatch)
    server.broken[GetVariable] = 1
    assert keeping.read_view("d") == View("1:f")


@pytest.mark.parametrize("kind", [GetVariable, GetVariableKeys])
@pytest.mark.parametrize("read", [keeping.read_view, keeping.recorded_text, keeping.read_texts])
def test_what_cannot_be_read_is_not_taken_for_nothing(server: Server, kind: type, read: Any) -> None:
    """A parse that guesses would take tasks from a run. One that fails leaves the graph as it is."""
    if kind is GetVariable:
        server.variables = {f"sparkdeploy.{what}.d": "" for what in ("view", "state", "texts")}
    server.broken[kind] = 9
    with pytest.raises(Unreadable, match=r"Variable sparkdeploy\.(view|state|texts)\.d"):
        read("d")


def test_without_an_airflow_to_ask_there_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", None, raising=False)
    assert keeping.read_view("d") is None


def test_a_graph_that_another_version_has_kept_is_of_a_run_that_is_not_closed() -> None:
    data = keeping.encode_view(View("1:f", active="run", closed=1.5, planning=True))
    assert keeping.decode_view(data) == View("1:f", active="run", closed=1.5, planning=True)
    del data["closed"], data["planning"]
    assert keeping.decode_view(data) == View("1:f", active="run")

"""What a run may be asked for."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException

from airflow_provider_sparkdeploy.airflow.plan_task import check_params, request_of


@pytest.mark.parametrize(
    "params",
    [
        {"allow_destructive": "false"},
        {"dry_run": "no"},
        {"dry_run": 1},
        {"select": "app.orders"},
        {"force_schemas": [1]},
        {"force_schemas": {"app": True}},
    ],
)
def test_a_value_that_would_mean_something_else_is_refused(params: dict[str, Any]) -> None:
    with pytest.raises(AirflowFailException, match=f"{next(iter(params))} is .*; it must be"):
        check_params(params)


@pytest.mark.parametrize("nothing", [{}, {"select": None, "force_schemas": [], "dry_run": None}])
def test_nothing_may_be_asked_for(nothing: dict[str, Any]) -> None:
    check_params(nothing)
    assert request_of(nothing).select == ()


def test_all_may_be_asked_for() -> None:
    given = {"select": ["tag:x"], "force_schemas": ["app"], "dry_run": True, "allow_destructive": False}
    check_params(given)
    assert request_of(given).select == ("tag:x",)

"""Many questions: halves of what is refused, and failures that are not refusals."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from airflow_provider_sparkdeploy.spark.asking import by_halves, chunks
from airflow_provider_sparkdeploy.spark.session import SparkFailure


def test_one_that_is_refused_does_not_take_the_others_with_it() -> None:
    asked: list[int] = []

    def ask(some: Sequence[int]) -> dict[int, str]:
        asked.append(len(some))
        if 5 in some:
            raise SparkFailure("no", condition="PARSE_SYNTAX_ERROR")
        return {item: str(item) for item in some}

    found = by_halves(ask, range(64))
    assert found == {item: str(item) for item in range(64) if item != 5}
    assert len(asked) == 13  # two for each halving: not one for each item


def test_a_spark_that_is_away_is_no_refusal() -> None:
    def ask(some: Sequence[int]) -> dict[int, str]:
        raise SparkFailure("away", transient=True)

    with pytest.raises(SparkFailure, match="away"):
        by_halves(ask, [1, 2, 3])


def test_nothing_is_asked_of_nothing() -> None:
    def ask(some: Sequence[int]) -> dict[int, str]:
        raise AssertionError("asked")

    assert by_halves(ask, []) == {}
    assert [list(chunk) for chunk in chunks([1, 2, 3], 2)] == [[1, 2], [3]]

"""Tokens are replaced before anything else looks at the text."""

from __future__ import annotations

import pytest

from airflow_provider_sparkdeploy.core.diagnostics import Diagnostic
from airflow_provider_sparkdeploy.core.tokens import built_in_tokens, substitute

VALUES = {"sales": "prod.sales_eu", "Limit": "10", "empty": ""}


def replaced(text: str) -> str:
    problems: list[Diagnostic] = []
    found = substitute(text, VALUES, "f", problems)
    assert not problems, problems
    return found


def undefined(text: str) -> list[tuple[str, int]]:
    problems: list[Diagnostic] = []
    substitute(text, VALUES, "f", problems)
    return [(item.code, item.line) for item in problems]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FROM ${sales}.orders", "FROM prod.sales_eu.orders"),
        ("${SALES} ${limit} ${Limit} ${ sales }", "prod.sales_eu 10 10 prod.sales_eu"),
        ("'${limit}' `${limit}` \"${limit}\"", "'10' `10` \"10\""),
        ("//// METADATA compute=${limit}", "//// METADATA compute=10"),
        ("a${empty}b", "ab"),
        ("$sales {sales} $ {sales} ${", "$sales {sales} $ {sales} ${"),
        ("{{ sales }} $${limit}", "{{ sales }} $10"),
        ("-- ${sales}", "-- prod.sales_eu"),
    ],
)
def test_a_token_is_replaced_wherever_it_stands(text: str, expected: str) -> None:
    assert replaced(text) == expected


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a\n${nope}", [2]),
        ("${nope}\n${nope2}\n\n${nope}", [1, 2, 4]),
        ("'${nope}'", [1]),
        ("`${nope}`", [1]),
        ("-- //// METADATA compute=${nope}", [1]),
        ("${}", [1]),
        ("it's ${nope}", [1]),
    ],
)
def test_an_undefined_token_is_an_error_with_its_line(text: str, lines: list[int]) -> None:
    assert undefined(text) == [("SD130", line) for line in lines]


@pytest.mark.parametrize("text", ["-- ${nope}\nSELECT 1", "SELECT 1 /* ${nope} */", "SELECT 1 -- ${nope}"])
def test_an_undefined_token_in_a_comment_is_nothing(text: str) -> None:
    assert undefined(text) == []


def test_the_advice_names_the_nearest_token() -> None:
    problems: list[Diagnostic] = []
    substitute("${sale}", VALUES, "f", problems)
    assert "Did you mean sales?" in problems[0].advice


def test_lines_stay_where_they_are() -> None:
    assert replaced("a\n${limit}\nb").count("\n") == 2


@pytest.mark.parametrize(
    ("physical", "value"),
    [
        (("sales",), "sales"),
        (("cat", "sales"), "cat.sales"),
        (("my-schema",), "`my-schema`"),
        # what Spark takes, but neither with reserved words on, nor a parser of standard SQL
        (("select",), "`select`"),
        (("lake", "Order"), "lake.`Order`"),
        (("a.b",), "`a.b`"),
        # what Spark refuses without back quotes
        (("2020",), "`2020`"),
        (("größe",), "`größe`"),
    ],
)
def test_the_token_of_a_folder_is_a_name_that_spark_takes(physical: tuple[str, ...], value: str) -> None:
    assert built_in_tokens({"folder": physical}) == {"folder": value}

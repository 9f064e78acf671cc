"""Names are tuples of parts: they never collide, and they survive quoting."""

from __future__ import annotations

import itertools

import pytest

from airflow_provider_sparkdeploy.core.names import (
    Node,
    ObjectName,
    display,
    object_name,
    parse_name,
    quote,
    quote_literal,
    task_part,
)

HOSTILE_PARTS = ["a", "a.b", "a b", "a`b", "`", "select", "2020_orders", "größe", "a-b", "A", "a;b", "a'b"]


def test_identity_ignores_case() -> None:
    assert object_name("Sales", "ORDERS") == object_name("sales", "orders") == ObjectName("sales", "orders")


def test_names_that_join_to_the_same_text_differ() -> None:
    assert object_name("a_b", "c") != object_name("a", "b_c")
    assert object_name("a.b", "c") != object_name("a", "b.c")
    assert str(object_name("a.b", "c")) != str(object_name("a", "b.c"))


def test_a_node_without_a_change_reads_like_its_object() -> None:
    assert str(Node("s", "t")) == "s.t"
    assert str(Node("s", "t", "init")) == "s.t.init"
    assert Node("s", "t", "init").name == ObjectName("s", "t")


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        (("sales", "orders"), "sales.orders"),
        (("select", "from"), "select.from"),
        (("sales", "2020_orders"), "sales.2020_orders"),
        (("a.b", "c"), "`a.b`.c"),
        (("a`b",), "`a``b`"),
        (("my table",), "`my table`"),
        (("a-b", ""), "`a-b`.``"),
        # Spark takes none of these without back quotes
        (("2020", "orders"), "`2020`.orders"),
        (("größe",), "`größe`"),
        (("1e5", "10L", "2BD"), "`1e5`.`10L`.`2BD`"),
        # but these
        (("1e5_t", "10_L", "d2"), "1e5_t.10_L.d2"),
    ],
)
def test_a_part_is_quoted_only_where_spark_needs_it(parts: tuple[str, ...], shown: str) -> None:
    assert display(parts) == shown


@pytest.mark.parametrize("parts", list(itertools.product(HOSTILE_PARTS, repeat=2)), ids=display)
def test_quoted_and_displayed_names_are_read_back(parts: tuple[str, ...]) -> None:
    assert parse_name(quote(parts)) == parts
    assert parse_name(display(parts)) == parts


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", "a b", "`a", "a`b`", "`a`b", "``", "a .b"])
def test_what_is_not_a_name_is_refused(text: str) -> None:
    assert parse_name(text) is None


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("a", "'a'"),
        ("it's", r"'it\'s'"),
        ("\\", r"'\\'"),
        ("a\nb\r", r"'a\nb\r'"),
        ('"', "'\"'"),
        ("", "''"),
        ("${a}", r"'\u0024{a}'"),
    ],
)
def test_literals_are_escaped_for_spark(text: str, literal: str) -> None:
    assert quote_literal(text) == literal


def test_different_names_have_different_task_ids() -> None:
    parts = [*HOSTILE_PARTS, "a-2e-b", "a_b", "-", "2e", "a-60-b", "ä", "ß", "ss"]
    assert len({task_part(part) for part in parts}) == len(parts)


@pytest.mark.parametrize("part", HOSTILE_PARTS)
def test_a_task_id_has_only_characters_that_airflow_takes(part: str) -> None:
    assert all(char.isascii() and (char.isalnum() or char in "_-") for char in task_part(part))


def test_plain_names_are_their_own_task_ids() -> None:
    assert task_part("add_region_2") == "add_region_2"

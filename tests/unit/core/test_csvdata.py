"""CSV files: rows, types and keys."""

from __future__ import annotations

import pytest

from airflow_provider_sparkdeploy.core.csvdata import DataFile, create_sql, load_sql, read_data
from airflow_provider_sparkdeploy.core.diagnostics import Diagnostic


def read(text: str, keys: tuple[str, ...] = ("k",)) -> DataFile:
    problems: list[Diagnostic] = []
    found = read_data(text, keys, "s/data/d.csv", 1, problems)
    assert not problems, problems
    assert found is not None
    return found


def wrong(text: str, keys: tuple[str, ...] = ("k",), first_line: int = 1) -> list[tuple[str, int]]:
    problems: list[Diagnostic] = []
    assert read_data(text, keys, "s/data/d.csv", first_line, problems) is None
    assert all(item.advice for item in problems)
    return [(item.code, item.line) for item in problems]


@pytest.mark.parametrize(
    ("values", "type"),
    [
        (["1", "-2", "+3", "0"], "bigint"),
        (["1", ""], "bigint"),
        (["999999999999999999"], "bigint"),
        (["9999999999999999999"], "double"),
        (["1.5", "2"], "double"),
        (["1e5", "-2.5E-3"], "double"),
        (["007", "1"], "string"),
        (["true", "FALSE"], "boolean"),
        (["true", "1"], "string"),
        (["2024-01-31"], "date"),
        (["2024-01-31 10:00:00", "2024-01-31T10:00:00.5"], "timestamp"),
        (["2024-01-31", "x"], "string"),
        (["", ""], "string"),
        ([" 1"], "string"),
        (["NaN"], "string"),
        (["1,5"], "string"),
    ],
)
def test_a_column_has_the_narrowest_type_that_fits(values: list[str], type: str) -> None:
    rows = "".join(f'{number},"{value}"\n' for number, value in enumerate(values))
    assert read(f"k,v\n{rows}").definition.columns[1].type == type


def test_the_header_may_declare_types() -> None:
    found = read('k:string," v : decimal(10,2) ",w\n1,2,3\n')
    assert [(column.name, column.type) for column in found.definition.columns] == [
        ("k", "string"), ("v", "decimal(10,2)"), ("w", "bigint"),
    ]  # fmt: skip


def test_cells_keep_what_is_quoted() -> None:
    found = read('k,v\n1,"a, ""b"" \nc"\n\n2,\n')
    assert found.rows == (("1", 'a, "b" \nc'), ("2", ""))


def test_a_file_of_a_header_only_is_an_empty_table() -> None:
    assert read("k,v\n").rows == ()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("k,v\n1,2\n3,4\n", "k,v\n3,4\n1,2\n", True),
        ("k,v\n1,2\n", 'k,v\n"1","2"', True),
        ("k,v\n1,2\n", "k,v\n1,3\n", False),
        ("k,v\n1,2\n", "k,w\n1,2\n", False),
        ("k,v\n1,2\n", "k:string,v\n1,2\n", False),
        ("k,v\n1,\n", "k,v\n1, \n", False),
        ("k,v\n1,2\n", "v,k\n2,1\n", False),
        ("k,v\n1,\n", "k,v\n1,NULL\n", False),
    ],
)
def test_the_hash_is_that_of_the_content(one: str, other: str, same: bool) -> None:
    assert (read(one).hash == read(other).hash) is same


def test_keys_are_case_insensitive_and_count() -> None:
    assert read("K,v\n1,2\n", ("k",)).hash != read("K,v\n1,2\n", ("k", "V")).hash


@pytest.mark.parametrize(
    ("text", "keys", "expected"),
    [
        ("", ("k",), [("SD141", 1)]),
        ("\n\n", ("k",), [("SD141", 1)]),
        ("k,v\n1\n2,3\n4,5,6\n", ("k",), [("SD141", 2), ("SD141", 4)]),
        ("k,K\n1,2\n", ("k",), [("SD141", 1)]),
        ("k,\n1,2\n", ("k",), [("SD141", 1)]),
        ('k,v\n1,"a\n', ("k",), [("SD141", 2)]),
        ('k,v\n1,"a"b\n', ("k",), [("SD141", 2)]),
        ("k,v\n1,2\n", ("x",), [("SD142", 1)]),
        ("k,v\n1,2\n", (), [("SD142", 1)]),
        ("k,v\n1,2\n2,3\n1,4\n", ("k",), [("SD143", 4)]),
        ('k,v\n1,"a\nb"\n1,c\n', ("k",), [("SD143", 4)]),
        ('k,v\n1,x\n1,"a\nb"\n', ("k",), [("SD143", 3)]),
        # NULL is equal to nothing: a row without its key would be added by every load
        ("k,v\n,2\n", ("k",), [("SD143", 2)]),
    ],
)
def test_a_mistake_is_reported_with_its_line(
    text: str, keys: tuple[str, ...], expected: list[tuple[str, int]]
) -> None:
    assert wrong(text, keys) == expected


def test_lines_count_from_where_the_data_begins() -> None:
    assert wrong("k,v\n1\n", first_line=3) == [("SD141", 4)]


def test_two_rows_may_share_a_part_of_their_key() -> None:
    assert len(read("k,l\n1,1\n1,2\n", ("k", "L")).rows) == 2


def test_the_table_is_made_from_quoted_names() -> None:
    found = read("k,a b,`c\n1,x,true\n")
    assert create_sql(("cat", "s", "d"), found.definition) == (
        "CREATE TABLE `cat`.`s`.`d` (`k` bigint, `a b` string, ```c` boolean)"
    )


@pytest.mark.parametrize(
    ("type", "one", "other"),
    [
        ("", "1", "+1"),
        (":int", "1", "01"),
        (":decimal(9,2)", "1.0", "1.00"),
        ("", "TRUE", "true"),
        (":boolean", "true", "t"),
        (":boolean", "1", "Yes"),
        (":boolean", "y", " TRUE "),
        (":boolean", "f", "no"),
        (":boolean", "0", "n"),
        (":date", "2026-01-01", "2026-1-1"),
        (":date", "2026-01-01", "2026"),
        (":date", "2026-01-01", "2026-01-01T10:00:00"),
        ("", "2026-01-01T00:00:00", "2026-01-01 00:00:00"),
        (":timestamp", "2026-01-01", "2026-1-1 0:0:0"),
        (":timestamp", "2026-01-01 00:00:00.5", "2026-01-01 00:00:00.5000009"),
        (":timestamp", "2026-01-01 00:00:00Z", "2026-01-01T01:00:00+01:00"),
        (":timestamp", "2026-01-01 00:00:00 UTC", "2025-12-31 23:30:00GMT-0:30"),
        (":timestamp_ntz", "2026-01-01 00:00:00", "2026-01-01T00:00:00Z"),
        (":char(5)", "a", "a  "),
    ],
)
def test_a_key_is_compared_by_what_it_means(type: str, one: str, other: str) -> None:
    assert wrong(f'"k{type}",v\n{one},x\n{other},y\n') == [("SD143", 3)]


@pytest.mark.parametrize(
    ("type", "one", "other"),
    [
        (":boolean", "true", "false"),
        (":boolean", "maybe", "perhaps"),
        (":date", "2026-01-01", "2026-01-02"),
        (":date", "2026-13-01", "2026-13-1"),  # no dates at all: Spark says so
        (":timestamp", "2026-01-01 00:00:00.1", "2026-01-01 00:00:00.01"),
        (":timestamp", "2026-01-01 00:00:00", "2026-01-01 00:00:00Z"),  # the session decides
        (":timestamp", "2026-01-01 00:00:00Z", "2026-01-01 00:00:00+01:00"),
        (":timestamp", "2026-01-01 00:00:00 Europe/Paris", "2026-01-01 00:00:00 Europe/Berlin"),
        (":char(5)", "a", " a"),
        (":varchar(5)", "a", "a "),
        (":string", "2026-01-01", "2026-1-1"),
        (":string", "true", "t"),
    ],
)
def test_keys_that_mean_different_things_are_two(type: str, one: str, other: str) -> None:
    found = read(f'"k{type}",v\n{one},x\n{other},y\n')
    assert found.rows == ((one, "x"), (other, "y")), "what is loaded is the text"


def test_a_key_of_text_is_compared_as_text() -> None:
    assert len(read("k:string,v\n1,x\n01,y\nA,z\na,w\n").rows) == 4


@pytest.mark.parametrize("type", ["strnig", "decimal(", "1"])
def test_a_type_that_is_none_is_reported(type: str) -> None:
    assert wrong(f"k:{type}\n1\n") == [("SD141", 1)]


def test_a_key_column_named_twice_is_reported() -> None:
    assert wrong("k,v\n1,2\n", ("k", "K")) == [("SD142", 1)]


def test_no_cell_can_pass_for_two() -> None:
    assert read("k,v,w\n1,a\x1eb,c\n").hash != read("k,v,w\n1,a,b\x1ec\n").hash


def test_the_columns_that_are_loaded_are_named_and_not_part_of_the_hash() -> None:
    """Spark inserts by position, and a table keeps the order in which its columns were made."""
    found = read("k,b,a\n1,2,3\n")
    assert load_sql(("s", "d"), found).startswith(
        "INSERT OVERWRITE TABLE `s`.`d` (`k`, `b`, `a`)\nSELECT CAST(`k` AS bigint) AS `k`, "
    )
    assert found.hash == "1:8232131f8b703f9bf82f1c7d4788983b594610ad2a8a8dcff79d6fc2660e05a5"

"""What is suspicious although it can be deployed."""

from __future__ import annotations

import pytest
from sketch import repository

from airflow_provider_sparkdeploy.core.lint import lint

FILES = {"s/table/orders.sql": "CREATE TABLE s.orders (id INT) USING parquet"}


@pytest.mark.parametrize(
    ("read", "told"),
    [
        ("s.ordres", True),
        ("ordres", True),
        ("s.orders_raw", False),  # another name, not a misspelled one
        ("elsewhere.ordres", False),  # nobody here knows what is there
        ("s.orders", False),
    ],
)
def test_a_name_that_is_nearly_one_of_the_repository(read: str, told: bool) -> None:
    found = lint(repository({**FILES, "s/view/v.sql": f"CREATE VIEW s.v AS SELECT id FROM {read}"}))
    assert [(item.code, item.severity) for item in found] == ([("SD224", "warning")] if told else [])
    assert all("Did you mean orders?" in item.advice for item in found)


def test_a_schema_that_is_mapped_is_known_by_its_physical_name() -> None:
    settings = "environments: {dev: {schemas: {s: lake.shop}}}\ndefault_environment: dev\n"
    files = {
        "s/table/orders.sql": "CREATE TABLE ${s}.orders (id INT) USING parquet",
        "s/view/v.sql": "CREATE VIEW ${s}.v AS SELECT id FROM ${s}.ordres",
    }
    assert [item.code for item in lint(repository(files, settings))] == ["SD224"]


@pytest.mark.parametrize(
    ("query", "line", "word"),
    [
        ("SELECT id\nFORM s.orders", 3, "s"),
        ("SELECT\n  id AS one FORM s.orders", 3, "FORM"),
        ("SELECT id FROM s.orders\nWHERE id = = 3", 3, "="),
    ],
)
def test_a_typing_error_in_a_query(query: str, line: int, word: str) -> None:
    found = lint(repository({**FILES, "s/view/v.sql": f"CREATE VIEW s.v AS\n{query}\n"}))
    assert [(item.code, item.severity, item.line) for item in found] == [("SD211", "warning", line)]
    assert found[0].message.endswith(f"near {word}")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT transform(ids, x -> x + 1)[0].b['c'] FROM s.orders",
        "SELECT id::STRING, 1L, 2.0BD, x'1F', `a``b`, id <=> 1, !b, 7 DIV 2 FROM s.orders",
        "SELECT first(id) IGNORE NULLS, count(*) FILTER (WHERE id > 1) FROM s.orders GROUP BY ALL",
        "FROM s.orders |> WHERE id > 1 |> SELECT id",
        "SELECT * FROM my_tvf(TABLE(s.orders) PARTITION BY id ORDER BY id DESC)",
        "SELECT * FROM my_tvf(TABLE s.orders WITH SINGLE PARTITION ORDER BY (id DESC, id), x => 1)",
        "SELECT * FROM my_tvf(TABLE(SELECT id FROM s.orders) DISTRIBUTE BY (id, id) SORT BY id)",
        "SELECT * FROM IDENTIFIER('s.' || 'orders')",
    ],
)
def test_what_spark_takes_is_no_typing_error(query: str) -> None:
    found = lint(repository({**FILES, "s/view/v.sql": f"CREATE VIEW s.v COMMENT 'of it' AS {query}"}))
    assert [item.code for item in found if item.code in ("SD210", "SD211")] == []


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ("dependencies=x,y", []),
        ("dependencies=x", ["SD221"]),  # the second change reads y
        ("dependencies=x,y,z", ["SD220"]),
        ("includeDependencies=y", []),  # it is news to the first change
        ("excludeDependencies=y", []),
        ("excludeDependencies=z", ["SD223"]),
    ],
)
@pytest.mark.parametrize("path", ["s/table/t.sql", "s/table/package-info.txt"])
def test_what_metadata_declares_is_held_against_all_that_it_is_for(
    metadata: str, told: list[str], path: str
) -> None:
    files = {
        **{f"s/view/{name}.sql": f"CREATE VIEW s.{name} AS SELECT 1 AS a" for name in "xyz"},
        "s/table/t.sql": "//// CHANGE name=a\nCREATE TABLE s.t AS SELECT * FROM s.x;\n"
        "//// CHANGE name=b\nINSERT INTO s.t SELECT * FROM s.y",
    }
    files[path] = f"//// METADATA {metadata}\n" + files.get(path, "")
    found = lint(repository(files))
    assert [item.code for item in found] == told
    written = "s/table/t.sql:3" if told == ["SD221"] and path.endswith(".txt") else f"{path}:1"
    assert {item.where for item in found} <= {written}


def test_a_table_whose_name_is_computed_is_told() -> None:
    query = "SELECT * FROM IDENTIFIER(lower('S.ORDERS'))"
    found = lint(repository({**FILES, "s/view/v.sql": f"CREATE VIEW s.v AS\n{query}"}))
    assert [(item.code, item.severity) for item in found] == [("SD210", "warning")]

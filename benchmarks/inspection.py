"""How long it takes to look at what is really in a catalog.

    python benchmarks/inspection.py [N] [--warehouse FOLDER] [--runs 5] [--markdown]

Makes N objects on the embedded server (a third tables, half views, the rest materialized views
and functions), then inspects them all. The same run also asks for the bare SHOW TABLE EXTENDED of
the schema, which is less than anybody needs: its ratio can be compared between machines. With
--warehouse the objects are kept and found again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from table import Line, as_markdown, as_text

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from airflow_provider_sparkdeploy.core.names import ObjectName, object_name
from airflow_provider_sparkdeploy.core.objects import Kind
from airflow_provider_sparkdeploy.spark.catalog import Wanted, inspect
from airflow_provider_sparkdeploy.spark.local import start, stop
from airflow_provider_sparkdeploy.spark.session import Sessions

_TARGET_MS = 2.0
_DATA = "bench_data"
_TABLE = """CREATE TABLE IF NOT EXISTS {name} (
    id BIGINT COMMENT 'the key', name STRING, code VARCHAR(10), price DECIMAL(10,2) COMMENT 'in cents',
    tags ARRAY<STRING>, address STRUCT<street: STRING, town: STRING>, at TIMESTAMP, day DATE
) USING parquet PARTITIONED BY (day) COMMENT 'table {number}'
TBLPROPERTIES ('team' = 'bench', 'sparkdeploy.hash' = '1:{number}')"""


def objects(count: int) -> Iterator[tuple[Kind, str, list[str]]]:
    """Kind, name and statements of every object."""
    tables, views, materialized = count // 3, count // 2, count // 10
    for number in range(count):
        if number < tables:
            name = f"t{number}"
            yield "table", name, [_TABLE.format(name=f"bench.{name}", number=number)]
        elif number < tables + views:
            name = f"v{number}"
            query = f"SELECT id, name, price * {number} AS price FROM bench.t{number % tables}"
            yield "view", name, [f"CREATE VIEW IF NOT EXISTS bench.{name} COMMENT 'view {number}' AS {query}"]
        elif number < tables + views + materialized:
            name = f"m{number}"
            data = f"spark_catalog.{_DATA}.mv_{number}_20260101000000_a"
            mark = f"TBLPROPERTIES ('sparkdeploy.hash' = '1:{number}')"
            yield (
                "materialized_view",
                name,
                [
                    f"CREATE TABLE IF NOT EXISTS {data} (id BIGINT, n BIGINT) USING parquet {mark}",
                    f"CREATE VIEW IF NOT EXISTS bench.{name} AS SELECT * FROM {data}",
                ],
            )
        else:
            name = f"f{number}"
            head = f"CREATE FUNCTION IF NOT EXISTS bench.{name}(x INT) RETURNS INT"
            yield "function", name, [f"{head} RETURN x + {number}"]


def make(sessions: Sessions, count: int) -> dict[ObjectName, Wanted]:
    """Make what is not there yet; tables first, for views need them."""
    found = list(objects(count))

    def run(statements: list[str]) -> None:
        with sessions.open() as spark:
            for statement in statements:
                spark.sql(statement)

    run(["CREATE SCHEMA IF NOT EXISTS bench", f"CREATE SCHEMA IF NOT EXISTS {_DATA}"])
    for kinds in (("table",), ("view", "materialized_view", "function")):
        statements = [text for kind, _, texts in found if kind in kinds for text in texts]
        with ThreadPoolExecutor(4) as threads:
            # one after the other where the order matters: the two statements of a materialized view
            size = 2 * (len(statements) // 8 + 1)
            list(threads.map(run, [statements[at : at + size] for at in range(0, len(statements), size)]))
    return {object_name("bench", name): Wanted(("bench", name), kind) for kind, name, _ in found}


def best(runs: int, measured: Callable[[], object]) -> float:
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        measured()
        times.append(time.perf_counter() - begun)
    return min(times)


def measure(sessions: Sessions, wanted: dict[ObjectName, Wanted], runs: int) -> list[Line]:
    count = len(wanted)
    found = inspect(sessions, wanted, data_schema=_DATA)
    missing = sorted(str(name) for name in wanted if name not in found.objects)
    assert not missing, f"not found: {missing[:5]}"
    with sessions.open() as spark:
        bare = best(runs, lambda: spark.sql("SHOW TABLE EXTENDED IN bench LIKE '*'"))
    whole = best(runs, lambda: inspect(sessions, wanted, data_schema=_DATA))
    each = whole / count * 1000
    return [
        Line(count, "SHOW TABLE EXTENDED", bare, ratio=1.0, note=f"{bare / count * 1000:.2f} ms/object"),
        Line(
            count,
            "inspect",
            whole,
            ratio=whole / bare,
            target=f"<= {_TARGET_MS:.0f} ms/object",
            ok=each <= _TARGET_MS,
            note=f"{each:.2f} ms/object",
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("objects", nargs="?", type=int, default=1000)
    parser.add_argument("--warehouse", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--markdown", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        warehouse = chosen.warehouse or Path(folder)
        sessions = start(warehouse).sessions
        try:
            lines = measure(sessions, make(sessions, chosen.objects), chosen.runs)
        finally:
            stop(warehouse)
    print((as_markdown if chosen.markdown else as_text)(lines))


if __name__ == "__main__":
    main()

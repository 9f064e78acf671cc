"""Every action, killed at every boundary: the next apply reaches what an uninterrupted one does."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from killing import Killer
from services import DRIVER, Configured, Postgres, jdbc_catalog
from world import World, world

from airflow_provider_sparkdeploy.core.state import State, encode_object, fold
from airflow_provider_sparkdeploy.spark.session import ConnectSessions

OPTIONS = "allow_circular: true\npropagation: {schema: false}\non_destructive: allow\n"
ORDERS = """\
-- //// CHANGE name=init
CREATE TABLE ${shop}.orders USING parquet AS SELECT 1 AS id, 10 AS amount;
-- //// CHANGE name=more
INSERT INTO ${shop}.orders VALUES (2, 20);
-- //// CHANGE name=region
ALTER TABLE ${shop}.orders ADD COLUMNS (region STRING);
"""
FIRST = {
    "shop/table/orders.sql": ORDERS,
    "shop/table/regions.sql": "CREATE TABLE ${shop}.regions (code STRING) USING parquet;\n",
    "shop/table/gone.sql": "CREATE TABLE ${shop}.gone (a INT) USING parquet;\n",
    "shop/data/edges.csv": "-- //// METADATA keys=a,b\na:int,b:int\n1,2\n2,3\n",
    "shop/function/twice.sql": "CREATE FUNCTION ${shop}.twice(x INT) RETURNS INT RETURN x * 2;\n",
    "shop/view/large.sql": "CREATE VIEW ${shop}.large AS SELECT id, ${shop}.twice(amount) AS amount FROM ${shop}.orders;\n",
    "shop/materialized_view/daily.sql": "CREATE MATERIALIZED VIEW ${shop}.daily AS SELECT sum(amount) AS total FROM ${shop}.large;\n",
    "shop/materialized_view/old.sql": "CREATE MATERIALIZED VIEW ${shop}.old AS SELECT count(*) AS n FROM ${shop}.orders;\n",
    "shop/materialized_view/reach.sql": "CREATE MATERIALIZED VIEW ${shop}.reach (a INT, b INT) AS SELECT a, b FROM ${shop}.edges UNION SELECT a, b FROM ${shop}.hops;\n",
    "shop/materialized_view/hops.sql": "CREATE MATERIALIZED VIEW ${shop}.hops (a INT, b INT) AS SELECT DISTINCT r.a, e.b FROM ${shop}.reach r JOIN ${shop}.edges e ON r.b = e.a;\n",
    "shop/sink/export.sql": "INSERT INTO ${shop}.regions (code) SELECT CAST(total AS STRING) FROM ${shop}.daily;\n",
}
SECOND: dict[str, str | None] = {
    "shop/table/regions.sql": "CREATE TABLE ${shop}.regions (code STRING COMMENT 'short', name STRING) USING parquet;\n",
    "shop/table/gone.sql": "-- //// METADATA DROP_TABLE\nCREATE TABLE ${shop}.gone (a INT) USING parquet;\n",
    "shop/data/edges.csv": "-- //// METADATA keys=a,b\na:int,b:int\n1,2\n2,3\n3,4\n",
    "shop/function/twice.sql": "CREATE FUNCTION ${shop}.twice(x INT) RETURNS INT RETURN x + x + 1;\n",
    "shop/materialized_view/old.sql": None,
}
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Result:
    """Everything that must be the same, however often it was interrupted."""

    catalog: dict[str, Any]
    log: dict[str, Any]
    history: dict[str, Any]
    done: Counter[str]
    recorded: Counter[str]
    data_tables: int


def result_of(made: World) -> Result:
    recorded = [item.entry for item in made.history()]
    entries = made.content().entries
    assert made.pending() == []
    assert made.marks() == {}
    left = made.sql(f"SHOW TABLES IN {made.prefix}_data LIKE '*old*'")
    return Result(
        made.relations(),
        _neutral(made, made.content().state),
        _neutral(made, fold((effect, "", "") for entry in recorded for effect in entry.effects)),
        _done(entries),
        _done(recorded),
        len(left),
    )


def _done(entries: Any) -> Counter[str]:
    return Counter(entry.operation for entry in entries if entry.type == "done")


def _neutral(made: World, state: State) -> dict[str, Any]:
    return {
        str(name): made.neutral(repr(encode_object(replace(record, hash="", digest="", changes=()))))
        + repr([(change.name, len(change.statements), change.total) for change in record.changes])
        for name, record in state.items()
    }


def new_world(sessions: ConnectSessions, folder: Path) -> AbstractContextManager[World]:
    return world(folder / "repository", sessions, f"k{os.getpid()}_{next(_numbers)}", OPTIONS)


@pytest.fixture(scope="module")
def uninterrupted(sessions: ConnectSessions, tmp_path_factory: pytest.TempPathFactory) -> Result:
    with new_world(sessions, tmp_path_factory.mktemp("uninterrupted")) as made:
        made.write(FIRST).deploy()
        made.write(SECOND).deploy()
        return result_of(made)


@pytest.fixture
def shop(sessions: ConnectSessions, tmp_path: Path) -> Iterator[World]:
    with new_world(sessions, tmp_path) as made:
        yield made


def decide(made: World, operation: str) -> str:
    """What a person finds out about a free-form statement."""
    if operation == "setup.shop.orders.more.1":
        return "applied" if made.rows("SELECT * FROM {shop}.orders WHERE id = 2") else "rerun"
    assert operation == "export.shop.export.1"
    expected = made.rows("SELECT CAST(total AS STRING) FROM {shop}.daily")
    return "applied" if expected[0] in made.rows("SELECT code FROM {shop}.regions") else "rerun"


BOUNDARIES = ("before intent", "after intent", "sent", "after statement", "after outcome")


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_killed_at(boundary: str, killer: Killer, shop: World, uninterrupted: Result) -> None:
    for files in (FIRST, SECOND):
        planned = [operation.id for operation in shop.write(files).plan().plan.operations]
        died = killer.deploy_dying(shop, boundary, decide=decide)
        assert sorted(died) == sorted(planned)
    assert result_of(shop) == uninterrupted


# Indexes, which the built-in catalog does not have


def test_an_index_is_made_and_dropped_by_clients_killed_at_every_boundary(
    killer: Killer, sessions: ConnectSessions, database: Postgres, tmp_path: Path
) -> None:
    """Each index takes the place of the one before it: one is dropped, and one is made."""
    prefix = f"k{os.getpid()}_{next(_numbers)}"
    settings = jdbc_catalog("pg", f"{database.url}&currentSchema={prefix}_shop")
    database.sql(f"CREATE SCHEMA {prefix}_shop")
    options = f"{OPTIONS}catalogs: {{pg: jdbc}}\n"
    text = "-- //// CHANGE name=init\nCREATE TABLE ${{shop}}.t (a INT, b INT);\n-- //// CHANGE name=row\nINSERT INTO ${{shop}}.t VALUES (1, 2);\n-- //// INDEX name={0}\nCREATE INDEX {0} ON ${{shop}}.t (a);\n"
    with world(tmp_path / "repository", sessions, prefix, options) as made:
        made.catalog, made.sessions = "pg", Configured(sessions, settings, (DRIVER,))
        made.configure(options)
        made.write({"shop/table/t.sql": text.format("first")}).deploy()
        expected = Counter(["setup.shop.t.init.1", "setup.shop.t.row.1", "setup.shop.t.first.index"])
        assert made.rows("SELECT * FROM {shop}.t") == [(1, 2)]
        assert made.marks() == {}, "they are ours, and not in that catalog"
        name = "first"
        for boundary in BOUNDARIES:
            before, name = name, f"{prefix}_{boundary.replace(' ', '_')}"
            made.write({"shop/table/t.sql": text.format(name)})
            died = killer.deploy_dying(
                made, boundary, catalog="pg", settings=settings, jars=[str(DRIVER)], pattern="INDEX"
            )
            steps = [f"teardown.shop.t.{before}.index", f"setup.shop.t.{name}.index"]
            assert died == steps
            expected.update(steps)
            listed = made.rows(
                f"SELECT indexname FROM pg.pg_catalog.pg_indexes WHERE schemaname = '{prefix}_shop'"
            )
            assert listed == [(name,)]
            assert made.pending() == []
        assert _done(made.content().entries) == expected
        assert _done(item.entry for item in made.history()) == expected
    database.sql(f"DROP SCHEMA {prefix}_shop CASCADE")

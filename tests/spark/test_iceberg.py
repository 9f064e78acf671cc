"""Iceberg: the conformance suite on a catalog of its own, and a shop; on Spark 3.5, through spark-submit."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from conformance import Place, RenamingConformance, T, table
from services import iceberg, iceberg_catalog, oldest_spark
from sketch import ids
from test_catalog import columns
from test_submit import settings
from world import World

from airflow_provider_sparkdeploy.core.settings import Settings
from airflow_provider_sparkdeploy.spark.importing import read_schema
from airflow_provider_sparkdeploy.spark.submit import SubmitSessions

_TYPES = """
    TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL, DECIMAL(20,3), BOOLEAN, STRING, VARCHAR(12), CHAR(4), BINARY,
    DATE, TIMESTAMP, TIMESTAMP_NTZ, ARRAY<INT>, ARRAY<VARCHAR(3)>, MAP<STRING,BIGINT>,
    STRUCT<A:INT,b:STRUCT<c:STRING COMMENT 'inside',d:ARRAY<DECIMAL(10)>>>, STRUCT<`x y`:INT,`a,b`:STRING>
"""
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def sessions_on_ice(
    spark_machine: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SubmitSessions]:
    folder = tmp_path_factory.mktemp("iceberg")
    conf = {**settings(folder), **iceberg(), **iceberg_catalog("ice", folder / "ice")}
    python = {"PYSPARK_PYTHON": sys.executable}
    with SubmitSessions("local[1]", conf=conf, spark_home=oldest_spark(), environment=python) as found:
        yield found


class TestIceberg(RenamingConformance):
    """A catalog of Iceberg's own."""

    tables: ClassVar = {
        "types": f"CREATE TABLE ${{s}}.t ({columns(_TYPES)}) USING iceberg",
        "no provider": "CREATE TABLE ${s}.t (a INT)",
        "a file format": "CREATE TABLE ${s}.t (a INT) USING parquet",
        "not null": "CREATE TABLE ${s}.t (a INT NOT NULL, b STRUCT<c: INT NOT NULL>) USING iceberg",
        "column comments": "CREATE TABLE ${s}.t (a INT COMMENT 'it\\'s, \\\\ and \"this\"', b INT COMMENT 'two\\nlines', c INT COMMENT '') USING iceberg",
        "odd columns": "CREATE TABLE ${s}.t (`a b` INT, `Käse` INT, `x.y` INT, `q``q` INT, `select` INT, `#` INT, MiXed INT) USING iceberg",
        "comment": "CREATE TABLE ${s}.t (a INT) USING iceberg COMMENT 'plain; with -- everything, [k=v]'",
        "properties": "CREATE TABLE ${s}.t (a INT) USING iceberg TBLPROPERTIES ('k' = 'v', 'A.b' = 'C, d=e', 'format-version' = '2', 'write.format.default' = 'orc')",
        "partitions": "CREATE TABLE ${s}.t (a INT, d DATE, t TIMESTAMP, s STRING, i BIGINT) USING iceberg "
        "PARTITIONED BY (a, years(d), months(t), bucket(8, i), truncate(4, s))",
        "more partitions": "CREATE TABLE ${s}.t (`a b` INT, d DATE, t TIMESTAMP) USING iceberg PARTITIONED BY (`a b`, days(d), hours(t))",
        "if not exists": "CREATE TABLE IF NOT EXISTS ${s}.t (a INTEGER, b DEC) USING iceberg",
    }
    alterations: ClassVar = {
        "a column": (
            "CREATE TABLE ${s}.t (a INT)",
            "CREATE TABLE ${s}.t (b VARCHAR(3) COMMENT 'new', a INT)",
        ),
        "no column": ("CREATE TABLE ${s}.t (a INT, `B b` INT)", "CREATE TABLE ${s}.t (a INT)"),
        "another order": (
            "CREATE TABLE ${s}.t (a INT, b INT, c INT)",
            "CREATE TABLE ${s}.t (c INT, a INT, b INT)",
        ),
        "wider": (
            "CREATE TABLE ${s}.t (a INT, b FLOAT, c DECIMAL(5,2))",
            "CREATE TABLE ${s}.t (a BIGINT, b DOUBLE, c DECIMAL(9,2))",
        ),
        "fields of a struct": (
            "CREATE TABLE ${s}.t (a STRUCT<x: INT, y: STRING, z: STRUCT<q: INT>>, b ARRAY<STRUCT<v: INT>>)",
            "CREATE TABLE ${s}.t (a STRUCT<x: BIGINT, z: STRUCT<q: INT, r: DATE>, n: STRING COMMENT 'new'>, b ARRAY<STRUCT<v: INT, w: INT>>)",
        ),
        "nullable": ("CREATE TABLE ${s}.t (a INT NOT NULL, b INT)", "CREATE TABLE ${s}.t (a INT, b INT)"),
        "comments": (
            "CREATE TABLE ${s}.t (a INT, b INT COMMENT 'old') COMMENT 'old'",
            "CREATE TABLE ${s}.t (a INT COMMENT 'new', b INT) COMMENT 'two\\nlines'",
        ),
        "no comment": ("CREATE TABLE ${s}.t (a INT) COMMENT 'old'", "CREATE TABLE ${s}.t (a INT)"),
        "properties": (
            "CREATE TABLE ${s}.t (a INT) TBLPROPERTIES ('k' = 'v', 'gone' = '1')",
            "CREATE TABLE ${s}.t (a INT) TBLPROPERTIES ('k' = 'v, w', 'new' = 'x')",
        ),
        "partitions": (
            "CREATE TABLE ${s}.t (a INT, d DATE) PARTITIONED BY (a, days(d))",
            "CREATE TABLE ${s}.t (a INT, d DATE) PARTITIONED BY (months(d), bucket(4, a))",
        ),
        "a column that a partition needs": (
            "CREATE TABLE ${s}.t (a INT, d DATE) PARTITIONED BY (days(d))",
            "CREATE TABLE ${s}.t (a INT)",
        ),
    }

    @pytest.fixture
    def place(self, sessions_on_ice: SubmitSessions) -> Iterator[Place]:
        schema = f"s_{os.getpid()}_{next(_numbers)}"
        with sessions_on_ice.open() as spark:
            spark.sql(f"CREATE SCHEMA ice.{schema}")
            yield Place(sessions_on_ice, ("ice", schema), "iceberg")
            for row in spark.sql(f"SHOW TABLES IN ice.{schema}"):
                spark.sql(f"DROP TABLE ice.{schema}.`{row['tableName']}`")
            spark.sql(f"DROP SCHEMA ice.{schema}")
            spark.sql(f"DROP SCHEMA IF EXISTS {schema}_data CASCADE")

    def test_drift_is_named(self, place: Place) -> None:
        files = table(
            "CREATE TABLE ${s}.t (a INT COMMENT 'c', p INT) USING iceberg PARTITIONED BY (p) COMMENT 'c' TBLPROPERTIES ('k' = 'v')"
        )
        state = place.deploy(files)
        place.by_hand("ALTER TABLE t SET TBLPROPERTIES ('k' = 'w')", "COMMENT ON TABLE t IS 'other'")
        place.by_hand(
            "ALTER TABLE t ALTER COLUMN a COMMENT 'other'", "ALTER TABLE t ADD PARTITION FIELD bucket(4, a)"
        )
        assert place.drift(files, state) == {
            T: "comment_column.a, drop_partition.bucket-28-4-2c-a-29-, properties, comment"
        }
        state = place.deploy(files, state)
        assert ids(place.plan(files, state)) == []

    def test_a_write_is_no_drift(self, place: Place) -> None:
        files = table("CREATE TABLE ${s}.t (a INT) USING iceberg")
        state = place.deploy(files)
        place.by_hand("INSERT INTO t VALUES (1)", "ALTER TABLE t WRITE ORDERED BY a")
        assert place.drift(files, state) == {}
        assert ids(place.plan(files, state)) == []


SHOP = {
    "shop/table/orders.sql": """\
-- //// CHANGE name=init
CREATE TABLE ${shop}.orders (id BIGINT, customer BIGINT, day DATE, amount DECIMAL(9, 2)) USING iceberg PARTITIONED BY (days(day));
-- //// CHANGE name=buckets
ALTER TABLE ${shop}.orders ADD PARTITION FIELD bucket(4, id);
ALTER TABLE ${shop}.orders WRITE ORDERED BY day;
-- //// CHANGE name=rows
INSERT INTO ${shop}.orders VALUES (1, 1, DATE'2024-01-01', 10), (2, 1, DATE'2024-01-02', 20);
""",
    "shop/table/customers.sql": "CREATE TABLE ${shop}.customers (id INT NOT NULL, name VARCHAR(20), home STRUCT<city: STRING>) USING iceberg PARTITIONED BY (bucket(4, id));\n",
    "shop/data/countries.csv": "-- //// METADATA keys=code\ncode,name\nAT,Austria\nCH,Switzerland\n",
    "mart/view/recent.sql": "CREATE VIEW ${mart}.recent AS SELECT id, amount FROM ${shop}.orders WHERE day > DATE'2024-01-01';\n",
    "mart/materialized_view/total.sql": "CREATE MATERIALIZED VIEW ${mart}.total AS SELECT sum(amount) AS amount FROM ${shop}.orders;\n",
}


def test_a_shop_is_deployed_changed_and_healed(sessions_on_ice: SubmitSessions, tmp_path: Path) -> None:
    """Tables in Iceberg, views in the session catalog. The first deployment makes the schemas, and every one
    after it does what is left."""
    options = "catalogs: {ice: iceberg}\non_destructive: allow\npropagation: {schema: false}\n"
    shop = World(tmp_path, sessions_on_ice, "berg", options, catalog="ice")
    shop.write(SHOP).deploy()
    assert shop.pending() == []
    assert shop.rows("SELECT * FROM {mart}.total") == [(30,)]

    customers = "CREATE TABLE ${shop}.customers (name VARCHAR(20), id BIGINT, since DATE) USING iceberg PARTITIONED BY (bucket(8, id));\n"
    shop.write({"shop/table/customers.sql": customers})
    changes = shop.plan().plan.operations
    assert {item.action for item in changes} == {"alter"}, "the table and its rows stay"
    assert [item.id for item in changes if item.destructive] == ["teardown.shop.customers.drop_column.home"]
    shop.deploy()
    assert shop.pending() == []

    shop.sql("ALTER TABLE {shop}.orders RENAME COLUMN customer TO who")
    shop.sql("ALTER TABLE {shop}.orders DROP PARTITION FIELD days(day)")
    shop.sql("DROP TABLE {shop}.countries")
    shop.deploy()
    assert shop.pending() == []
    assert shop.rows("SELECT code FROM {shop}.countries") == [("AT",), ("CH",)]
    assert shop.rows("SELECT id FROM {mart}.recent") == [(2,)]

    shop.write({"shop/table/customers.sql": None}).deploy()
    assert shop.relations_names() == {"orders", "countries"}
    done = [item.entry.operation for item in shop.history() if item.entry.type == "done"]
    assert {"setup.shop.orders.buckets.1", "teardown.shop.customers"} <= set(done)
    assert shop.marks() == {}


def test_after_an_import_there_is_nothing_to_do(sessions_on_ice: SubmitSessions, tmp_path: Path) -> None:
    with sessions_on_ice.open() as spark:
        spark.sql("CREATE SCHEMA ice.found")
        spark.sql(
            "CREATE TABLE ice.found.orders (id BIGINT NOT NULL COMMENT 'it\\'s', day DATE, s STRUCT<x: INT>) USING iceberg "
            "PARTITIONED BY (days(day), bucket(4, id)) COMMENT 'two\\nlines' TBLPROPERTIES ('k' = 'v, w')"
        )
        spark.sql("INSERT INTO ice.found.orders VALUES (1, DATE'2024-01-01', struct(1))")
        spark.sql("CREATE TABLE ice.found.plain (a INT)")
    place = Place(sessions_on_ice, ("ice", "found"), "iceberg")
    found = read_schema(sessions_on_ice, "s", place.schema, Settings(catalogs={"ice": "iceberg"}))
    assert found.left_out == ()
    files = {f"s/{draft.kind}/{draft.file}.sql": draft.statement for draft in found.drafts}
    planned = place.plan(files, {}).plan
    assert (planned.errors, planned.operations, len(files)) == ((), (), 2)

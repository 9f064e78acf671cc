"""The oldest Spark that spark-submit is to work with: one driver, and everything that is asked of it."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conformance import Files, Place, data_goes_into_the_columns_of_its_header
from services import DRIVER, OLDEST_SPARK, Postgres, jdbc_catalog, oldest_spark
from sketch import ids, name
from test_apply import ADD_REGION, CODES, CYCLE, CYCLES, DAILY, DOUBLE, EXPORTED, LARGE, ORDERS, REGIONS, SHOP
from test_catalog import Builtin
from test_submit import settings
from world import World

from airflow_provider_sparkdeploy.core.settings import Settings
from airflow_provider_sparkdeploy.spark.catalog import Wanted, inspect
from airflow_provider_sparkdeploy.spark.importing import read_schema
from airflow_provider_sparkdeploy.spark.session import SparkFailure
from airflow_provider_sparkdeploy.spark.submit import SubmitSessions

TABLES = {
    about: text.replace("it''s", "it\\'s")  # where two literals side by side are no syntax
    for about, text in Builtin.tables.items()
    if about not in ("types", "nested types", "default collation", "clusters")
} | {
    "types": "CREATE TABLE ${s}.t (a TINYINT, b SHORT, c INTEGER, d LONG, e REAL, f DOUBLE, g DEC(5), h NUMERIC(20,3), "
    "i BOOLEAN, j VARCHAR(12), k CHAR(4), l BINARY, m DATE, n TIMESTAMP_LTZ, o TIMESTAMP_NTZ, p ARRAY<VARCHAR(3)>) USING parquet",
    "nested types": "CREATE TABLE ${s}.t (a MAP<STRING,BIGINT>, b STRUCT<A:INT,b:STRUCT<c:STRING COMMENT 'in',d:ARRAY<DEC>>>, "
    "c STRUCT<`x y`:INT>, d MAP<INT,STRUCT<v:VARCHAR(3)>>, e INTERVAL DAY TO SECOND) USING parquet",
    "types of Hive": "CREATE TABLE ${s}.t (a TINYINT, b DECIMAL(20,3), c VARCHAR(12), d CHAR(4), e TIMESTAMP, f ARRAY<INT>)",
}
ALTERATIONS = {about: pair for about, pair in Builtin.alterations.items() if about != "clusters"}
CLASS = "CREATE FUNCTION ${shop}.code AS 'org.apache.hadoop.hive.ql.udf.UDFAscii';\n"
PLAIN = LARGE.replace("${shop}.twice(amount)", "amount * 2")

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def oldest(
    spark_machine: None, database: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SubmitSessions]:
    database.sql("CREATE SCHEMA oldest")
    conf = settings(tmp_path_factory.mktemp("oldest"))
    conf |= jdbc_catalog("pg", f"{database.url}&currentSchema=oldest")
    conf |= jdbc_catalog("narrow", database.url.replace("user=tester", "user=oldest_guest"))
    conf["spark.driver.extraClassPath"] = str(DRIVER)
    python = {"PYSPARK_PYTHON": sys.executable}
    with SubmitSessions("local[1]", conf=conf, spark_home=oldest_spark(), environment=python) as found:
        yield found


@pytest.fixture
def place(oldest: SubmitSessions) -> Place:
    schema = f"s_{os.getpid()}_{next(_numbers)}"
    with oldest.open() as spark:
        spark.sql(f"CREATE SCHEMA {schema}")
    return Place(oldest, (schema,))


def many(texts: list[str]) -> Files:
    """A table of each of these texts."""
    named = [
        text.replace("${s}.t ", f"${{s}}.t{n} ").replace("${s}.T ", f"${{s}}.T{n} ")
        for n, text in enumerate(texts)
    ]
    return {f"s/table/t{n}.sql": text for n, text in enumerate(named)}


def test_a_session(oldest: SubmitSessions) -> None:
    with oldest.open() as spark:
        (row,) = spark.sql(
            "SELECT version() AS v, array(named_struct('x', 1)) AS s, TIMESTAMP'2024-07-01 10:00:00' AS t"
        )
        assert row["v"].startswith(OLDEST_SPARK)
        assert row["s"] == [{"x": 1}]
        (field,) = spark.schema("SELECT CAST('a' AS STRING) AS a")["fields"]
        assert field["type"] == "string"
        for text, condition in (
            ("SELECT * FROM no_such_table", "TABLE_OR_VIEW_NOT_FOUND"),
            ("SELEC", "PARSE_SYNTAX_ERROR"),
            ("USE no_such_schema", "SCHEMA_NOT_FOUND"),
            ("SELECT raise_error('no') FROM range(3)", ""),
        ):
            with pytest.raises(SparkFailure) as caught:
                spark.sql(text)
            assert (caught.value.condition, caught.value.transient) == (condition, False)
        bad = "SELECT java_method('java.lang.Integer', 'parseInt', 'x') AS a FROM range(1)"
        with pytest.raises(SparkFailure, match='For input string: "x"'):
            spark.sql(f"CREATE TABLE bad USING parquet AS {bad}")


def test_planning_right_after_deploying_is_empty(place: Place) -> None:
    files = many(list(TABLES.values())) | {
        "s/view/v.sql": "CREATE VIEW ${s}.v (x COMMENT 'of x') COMMENT 'x\nView Text: no' AS\nSELECT a -- why\n  FROM ${s}.t1\n",
    }
    state = place.deploy(files)
    assert len(state) == len(files)
    assert ids(place.plan(files, state)) == []
    found = place.plan(files, {}).plan
    assert (found.errors, found.operations) == ((), ()), "what is there is adopted"
    place.by_hand("ALTER VIEW v AS SELECT 1 AS x", "ALTER TABLE t1 ADD COLUMNS (by_hand INT)")
    assert place.drift(files, state).keys() == {name("s.v"), name("s.t1")}


def test_alterations_lead_to_what_is_declared(place: Place) -> None:
    before, after = (many([pair[n] for pair in ALTERATIONS.values()]) for n in (0, 1))
    state = place.deploy(before)
    planned = place.plan(after, state)
    assert {item.action for item in planned.plan.operations} == {"alter"}
    state = place.deploy(after, state)
    assert ids(place.plan(after, state)) == []


def test_data_goes_into_the_columns_of_its_header(place: Place) -> None:
    data_goes_into_the_columns_of_its_header(place)


def test_every_kind_is_deployed_changed_healed_and_resumed(oldest: SubmitSessions, tmp_path: Path) -> None:
    shop = World(tmp_path, oldest, f"o{os.getpid()}", CYCLES + "on_destructive: allow\n")
    shop.write({key: text for key, text in (SHOP | CYCLE).items() if "/function/" not in key})
    shop.write({"shop/view/large.sql": PLAIN, "shop/function/code.sql": CLASS})
    done = shop.deploy()
    assert shop.pending() == []
    assert shop.rows("SELECT * FROM {shop}.daily") == [(1, 40)]
    assert shop.rows("SELECT * FROM {shop}.reach") == [(1, 2), (1, 3), (2, 3)]
    assert shop.rows("SELECT * FROM {shop}.exported") == [(1,)]
    assert shop.rows("SELECT {shop}.code('a')") == [(97,)]
    recorded = [item.entry.operation for item in shop.history() if item.entry.type == "done"]
    assert sorted(recorded) == sorted(done)

    shop.write(
        {
            "shop/table/orders.sql": ORDERS + ADD_REGION,
            "shop/table/regions.sql": REGIONS.replace("name STRING", "name STRING, zone INT"),
            "shop/table/exported.sql": EXPORTED.replace("n BIGINT", "n BIGINT COMMENT 'rows'"),
            "shop/data/codes.csv": CODES.replace("b,Beta", "c,Gamma"),
            "shop/view/large.sql": PLAIN.replace("> 10", ">= 10"),
            "shop/materialized_view/daily.sql": DAILY.replace("count(*)", "count(*) + 100"),
            "shop/function/code.sql": CLASS.replace("UDFAscii", "UDFHex"),
            "shop/function/twice.sql": DOUBLE,
            "shop/view/calls.sql": "CREATE VIEW ${shop}.calls AS SELECT ${shop}.twice(id) AS x FROM ${shop}.orders;\n",
        }
    )
    report = shop.apply().report
    ((operation, why),) = report.failed
    assert operation.id == "setup.shop.twice"
    assert (
        f"SD807 {shop.schema}.twice is written in SQL, and Spark {OLDEST_SPARK} has no such functions" in why
    )
    assert "setup.shop.calls" in [item.id for item in report.left]
    shop.write({"shop/function/twice.sql": None, "shop/view/calls.sql": None}).deploy()
    assert shop.pending() == []
    assert shop.rows("SELECT * FROM {shop}.daily") == [(102, 60)]
    assert shop.rows("SELECT code FROM {shop}.codes") == [("a",), ("c",)]
    assert shop.rows("SELECT {shop}.code('a')") == [("61",)]
    assert shop.marks() == {}

    shop.sql("ALTER TABLE {shop}.regions SET TBLPROPERTIES ('k' = 'by hand')")
    shop.sql("ALTER VIEW {shop}.large AS SELECT 1 AS id, 2 AS amount")
    shop.sql("DROP TABLE {shop}.codes")
    assert {"setup.shop.codes.create", "setup.shop.codes.load", "setup.shop.large"} <= set(shop.deploy())
    assert shop.pending() == []


def test_after_an_import_there_is_nothing_to_do(place: Place, tmp_path: Path) -> None:
    place.by_hand(
        "CREATE TABLE kinds (id BIGINT, `a b` STRING COMMENT 'it\\'s', c DECIMAL(12, 2) DEFAULT 3, d DATE) "
        "USING parquet PARTITIONED BY (d) COMMENT 'two\\nlines' TBLPROPERTIES ('k' = 'v, w')",
        "CREATE TABLE bucketed (a INT, b INT) USING parquet CLUSTERED BY (a) SORTED BY (b) INTO 4 BUCKETS",
        "CREATE TABLE delimited (a INT, b STRING) USING csv OPTIONS (header 'true', sep ';')",
        "CREATE TABLE hive_parts (a INT) PARTITIONED BY (p STRING COMMENT 'part') STORED AS ORC",
        "CREATE VIEW first AS SELECT id, c -- why\n FROM kinds",
        "CREATE VIEW second (x COMMENT 'of x', `y z`) COMMENT 'c' AS SELECT id, c FROM first",
        "CREATE FUNCTION code AS 'org.apache.hadoop.hive.ql.udf.UDFAscii'",
    )
    found = read_schema(place.sessions, "s", place.schema, Settings())
    assert [(item.name, item.why) for item in found.left_out] == [("s.code", "it is not written in SQL")]
    files = {f"s/{draft.kind}/{draft.file}.sql": draft.statement for draft in found.drafts}
    assert len(files) == 6
    assert "OPTIONS ('header' = 'true', 'sep' = ';')" in files["s/table/delimited.sql"]
    assert "INTO 4 BUCKETS" in files["s/table/bucketed.sql"]
    assert "(x COMMENT 'of x', `y z`)" in files["s/view/second.sql"]
    assert files["s/view/first.sql"].startswith("CREATE VIEW ${s}.first AS\nSELECT")
    planned = place.plan(files, {}).plan
    assert (planned.errors, planned.operations) == ((), ())


def test_a_database(oldest: SubmitSessions, database: Postgres) -> None:
    place = Place(oldest, ("pg", "oldest"), "jdbc")
    files = {
        "s/table/t.sql": "CREATE TABLE ${s}.t (a INT, b VARCHAR(3));\n-- //// INDEX name=by_a\nCREATE INDEX by_a ON ${s}.t (a);",
        "s/table/u.sql": "CREATE TABLE ${s}.u (a INT)",
    }
    state = place.deploy(files)
    assert ids(place.plan(files, state)) == []
    files["s/table/t.sql"] = files["s/table/t.sql"].replace("b VARCHAR(3)", "c BIGINT")
    state = place.deploy(files, state)
    assert ids(place.plan(files, state)) == []
    wanted = {name("s.v"): Wanted(("pg", "oldest", "v"), "view", "jdbc")}
    assert inspect(oldest, wanted, data_schema=place.data_schema).objects == {}, "it has no views"
    database.sql("CREATE ROLE oldest_guest LOGIN; GRANT USAGE ON SCHEMA oldest TO oldest_guest")
    database.sql("GRANT SELECT ON oldest.u TO oldest_guest")
    narrow = Place(oldest, ("narrow", "oldest"), "jdbc")
    found = narrow.look(narrow.repository(files), {}).objects
    assert {key: item.readable for key, item in found.items()} == {name("s.t"): False, name("s.u"): True}

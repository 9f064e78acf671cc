"""Inspection of real catalogs: the conformance suite, and what is special about each of them."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar

import pytest
from conformance import CatalogConformance, Place, RenamingConformance, T, table
from services import DRIVER, Configured, Postgres, hive_metastore, jdbc_catalog
from sketch import ids, name

from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError
from airflow_provider_sparkdeploy.core.names import ObjectName, quote_part
from airflow_provider_sparkdeploy.core.objects import Kind
from airflow_provider_sparkdeploy.core.reconcile import reconcile
from airflow_provider_sparkdeploy.spark import metastore as bulk
from airflow_provider_sparkdeploy.spark.catalog import Wanted, inspect
from airflow_provider_sparkdeploy.spark.local import start
from airflow_provider_sparkdeploy.spark.lock import Lock
from airflow_provider_sparkdeploy.spark.session import ConnectSessions, Sessions, SparkFailure

_TYPES = """
    TINYINT, BYTE, SMALLINT, SHORT, INT, INTEGER, BIGINT, LONG, FLOAT, REAL, DOUBLE, DECIMAL, DEC(5), NUMERIC(20,3),
    BOOLEAN, STRING, VARCHAR(12), CHAR(4), CHARACTER(5), BINARY, DATE, TIMESTAMP, TIMESTAMP_LTZ, TIMESTAMP_NTZ,
    ARRAY<INT>, ARRAY<VARCHAR(3)>, ARRAY<ARRAY<DECIMAL(5)>>
"""
_NESTED = """
    MAP<STRING,BIGINT>, STRUCT<A:INT,b:STRUCT<c:STRING COMMENT 'inside',d:ARRAY<DEC>>>, STRUCT<`x y`:INT,`a,b`:STRING>,
    MAP<INT,STRUCT<v:VARCHAR(3),w:CHAR(2)>>, VARIANT, INTERVAL DAY TO SECOND, INTERVAL YEAR, STRING COLLATE UNICODE_CI,
    ARRAY<STRING COLLATE UTF8_LCASE>, STRUCT<a:STRING COLLATE UNICODE_CI>
"""


def columns(types: str) -> str:
    """One column for each of the types, which are divided by commas outside brackets."""
    found, depth = [""], 0
    for char in types:
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(char, 0)
        if char == "," and not depth:
            found.append("")
        else:
            found[-1] += char
    return ", ".join(f"c{number} {text.strip()}" for number, text in enumerate(found))


class Builtin(CatalogConformance):
    """Spark's own tables, wherever the metastore keeps them."""

    tables: ClassVar = {
        "types": f"CREATE TABLE ${{s}}.t ({columns(_TYPES)})",
        "nested types": f"CREATE TABLE ${{s}}.t ({columns(_NESTED)}) USING parquet",
        "default collation": "CREATE TABLE ${s}.t (a STRING, b INT) USING parquet DEFAULT COLLATION UNICODE_CI",
        "not null, default": "CREATE TABLE ${s}.t (a INT NOT NULL, b INT DEFAULT 7, c STRING DEFAULT 'x, y') USING parquet",
        "column comments": "CREATE TABLE ${s}.t (a INT COMMENT 'it''s, \\\\ and \"this\"', b INT COMMENT 'two\\nlines', c INT COMMENT '')",
        "odd columns": "CREATE TABLE ${s}.t (`a b` INT, `Käse` INT, `x.y` INT, `q``q` INT, `select` INT, `#` INT, MiXed INT)",
        "mixed case name": "CREATE TABLE ${s}.T (A INT)",
        "comment": "CREATE TABLE ${s}.t (a INT) COMMENT 'plain; with -- everything, [k=v]'",
        "comment that looks like an entry": "CREATE TABLE ${s}.t (a INT) COMMENT 'x\\nTable Properties: [a=b]\\nLocation: here'",
        "properties": "CREATE TABLE ${s}.t (a INT) TBLPROPERTIES ('k' = 'v', 'A.b' = 'C', 'n' = 1, flag = true)",
        "properties with commas": "CREATE TABLE ${s}.t (a INT) TBLPROPERTIES ('k' = 'a, b=c', 'x' = 'y', 'z' = ', ')",
        "property with lines": "CREATE TABLE ${s}.t (a INT) TBLPROPERTIES ('k' = 'a]\\nLocation: x\\n', 'e' = '')",
        "secret properties": "CREATE TABLE ${s}.t (a INT) TBLPROPERTIES ('source_url' = 'http://x', 'password' = 'p')",
        "reserved property": "CREATE TABLE ${s}.t (a INT) TBLPROPERTIES ('transient_lastDdlTime' = '1', 'numRows' = '3')",
        "partitions": "CREATE TABLE ${s}.t (P STRING, a INT, q DATE COMMENT 'day', b INT) USING parquet PARTITIONED BY (q, p)",
        "partitions of Hive": "CREATE TABLE ${s}.t (a INT) PARTITIONED BY (p STRING COMMENT 'part', q INT)",
        "stored as": "CREATE TABLE ${s}.t (a INT, b STRING) PARTITIONED BY (p STRING) STORED AS ORC",
        "row format": "CREATE TABLE ${s}.t (a INT) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' STORED AS TEXTFILE",
        "buckets": "CREATE TABLE ${s}.t (A INT, b STRING, c INT) USING parquet PARTITIONED BY (c) CLUSTERED BY (a, B) SORTED BY (b) INTO 4 BUCKETS",
        "clusters": "CREATE TABLE ${s}.t (a INT, B STRING) USING parquet CLUSTER BY (b, a)",
        "provider": "CREATE TABLE ${s}.t (a INT) USING ORC",
        "options": "CREATE TABLE ${s}.t (a INT, b STRING) USING csv OPTIONS (header 'true', sep ';')",
        "if not exists": "CREATE TABLE IF NOT EXISTS ${s}.t (a INTEGER, b DEC)",
    }
    alterations: ClassVar = {
        "a column": (
            "CREATE TABLE ${s}.t (a INT)",
            "CREATE TABLE ${s}.t (b VARCHAR(3) COMMENT 'new', a INT)",
        ),
        "a column before partitions": (
            "CREATE TABLE ${s}.t (a INT, p INT) USING parquet PARTITIONED BY (p)",
            "CREATE TABLE ${s}.t (a INT, p INT, `B b` STRUCT<x:INT>) USING parquet PARTITIONED BY (p)",
        ),
        "comments": (
            "CREATE TABLE ${s}.t (a INT, b INT COMMENT 'old') COMMENT 'old'",
            "CREATE TABLE ${s}.t (a INT COMMENT 'new', b INT) COMMENT 'two\\nlines'",
        ),
        "no comment": ("CREATE TABLE ${s}.t (a INT) COMMENT 'old'", "CREATE TABLE ${s}.t (a INT)"),
        "properties": (
            "CREATE TABLE ${s}.t (a INT) TBLPROPERTIES ('k' = 'v', 'gone' = '1')",
            "CREATE TABLE ${s}.t (a INT) TBLPROPERTIES ('k' = 'v, w', 'new' = '')",
        ),
        "clusters": (
            "CREATE TABLE ${s}.t (a INT, b INT) USING parquet CLUSTER BY (a)",
            "CREATE TABLE ${s}.t (a INT, b INT) USING parquet CLUSTER BY (b)",
        ),
    }

    def test_a_view_is_its_text(self, place: Place) -> None:
        files = {
            "s/table/t.sql": "CREATE TABLE ${s}.t (a INT)",
            "s/view/v.sql": "CREATE VIEW ${s}.v (x COMMENT 'of x') COMMENT 'c' AS\nSELECT a -- why\n  FROM ${s}.t\n",
        }
        state = place.deploy(files)
        assert ids(place.plan(files, state)) == []
        assert ids(place.plan(files, {})) == []
        place.by_hand("ALTER VIEW v AS SELECT a + 1 AS a FROM t")
        assert place.drift(files, state) == {name("s.v"): "its query was changed"}

    def test_text_that_looks_like_an_entry(self, place: Place) -> None:
        query = "SELECT 'a\nView Original Text: x\nType: MANAGED\nView Schema Mode: y' AS a"
        files = {"s/view/v.sql": f"CREATE VIEW ${{s}}.v COMMENT 'x\nView Text: SELECT 2\nz' AS {query}"}
        state = place.deploy(files)
        assert ids(place.plan(files, state)) == []
        assert place.look(place.repository(files), state).objects[name("s.v")].text == query

    def test_a_view_over_a_dropped_table_is_there(self, place: Place) -> None:
        files = {"s/view/v.sql": "CREATE VIEW ${s}.v AS SELECT a FROM ${s}.gone"}
        place.by_hand("CREATE TABLE gone (a INT)")
        state = place.deploy(files)
        place.by_hand("DROP TABLE gone")
        found = place.look(place.repository(files), state).objects[name("s.v")]
        assert (found.kind, found.readable) == ("view", True)
        assert ids(place.plan(files, state)) == []

    def test_a_function_is_its_body(self, place: Place) -> None:
        files = {
            "s/function/f.sql": "CREATE FUNCTION ${s}.f(x INT COMMENT 'Body: no') RETURNS INT COMMENT 'c\nBody: 1'\nRETURN x + 1 -- why",
            "s/function/g.sql": "CREATE FUNCTION ${s}.g(x INT) RETURNS TABLE (y INT) RETURN SELECT x AS y\nUNION ALL SELECT 2",
        }
        state = place.deploy(files)
        assert ids(place.plan(files, state)) == []
        assert ids(place.plan(files, {})) == []
        place.by_hand("DROP FUNCTION g", "CREATE OR REPLACE FUNCTION f(x INT) RETURNS INT RETURN x + 2")
        assert place.drift(files, state) == {
            name("s.f"): "its body was changed",
            name("s.g"): "missing in the catalog",
        }

    def test_a_table_does_not_stand_in_for_a_function_of_its_name(self, place: Place) -> None:
        place.by_hand("CREATE TABLE f (a INT)")
        repository = place.repository({"s/function/f.sql": "CREATE FUNCTION ${s}.f() RETURNS INT RETURN 1"})
        assert place.look(repository, {}).objects == {}

    def test_a_materialized_view_is_marked_behind(self, place: Place) -> None:
        mv = name("s.m")
        files = {"s/materialized_view/m.sql": "CREATE MATERIALIZED VIEW ${s}.m AS SELECT 1 AS a"}
        state = place.deploy(files)
        found = place.look(place.repository(files), state).objects[mv]
        assert (found.kind, found.marker) == ("materialized_view", state[mv].hash)
        assert ids(place.plan(files, state)) == []
        assert ids(place.plan(files, {})) == []
        with place.sessions.open() as spark:
            for row in spark.sql(f"SHOW TABLES IN {quote_part(place.data_schema)}"):
                spark.sql(f"DROP TABLE {quote_part(place.data_schema)}.{row['tableName']}")
        assert place.drift(files, state) == {mv: "its marker differs"}
        place.by_hand("ALTER VIEW m AS SELECT 2 AS a")
        assert place.drift(files, state) == {mv: "is a view in the catalog"}

    def test_what_was_made_of_another_kind(self, place: Place) -> None:
        files = table("CREATE TABLE ${s}.t (a INT)")
        state = place.deploy(files)
        place.by_hand("DROP TABLE t", "CREATE VIEW t AS SELECT 1 AS a")
        assert place.drift(files, state) == {T: "is a view in the catalog"}

    def test_drift_is_named(self, place: Place) -> None:
        files = table(
            "CREATE TABLE ${s}.t (a INT COMMENT 'c', p INT) USING parquet PARTITIONED BY (p) COMMENT 'c' TBLPROPERTIES ('k' = 'v')"
        )
        state = place.deploy(files)
        place.by_hand("ALTER TABLE t SET TBLPROPERTIES ('k' = 'w')", "COMMENT ON TABLE t IS 'other'")
        place.by_hand("ALTER TABLE t ALTER COLUMN a COMMENT 'other'")
        assert place.drift(files, state) == {T: "comment_column.a, properties, comment"}
        place.by_hand("DROP TABLE t", "CREATE TABLE t (a BIGINT, p INT) USING orc")
        drift = place.drift(files, state)[T]
        assert "the provider from orc to parquet" in drift
        assert "the type of a from bigint to int" in drift
        assert "the partitioning from () to (p)" in drift

    def test_many_objects_and_one_that_cannot_be_read(self, place: Place) -> None:
        """Spark makes this table, and then cannot read its own description of it; nor could it
        describe a schema in one answer from then on."""
        count = 60
        files = {f"s/table/t{n}.sql": f"CREATE TABLE ${{s}}.t{n} (a INT, b{n} STRING)" for n in range(count)}
        files |= {f"s/view/v{n}.sql": f"CREATE VIEW ${{s}}.v{n} AS SELECT {n} AS n" for n in range(9)}
        state = place.deploy(files)
        place.by_hand("DROP TABLE t33", "CREATE TABLE t33 (a STRUCT<`x y`: VARCHAR(3)>) USING parquet")
        found = place.look(place.repository(files), state)
        assert {key for key, item in found.objects.items() if not item.readable} == {name("s.t33")}
        assert len(found.objects) == count + 9
        reconciled = reconcile(place.repository(files), state, found)
        assert reconciled.drift == {}
        assert [(item.code, item.object) for item in reconciled.problems] == [("SD421", "s.t33")]

    def test_a_schema_that_cannot_be_listed_is_not_empty(self, place: Place) -> None:
        wanted = {T: Wanted(("no_such_catalog", "s", "t"), "table", "iceberg")}
        with pytest.raises(SparkFailure):
            inspect(place.sessions, wanted, data_schema=place.data_schema)


class TestBuiltinInHive(Builtin):
    """The embedded server: Hive's metastore on Derby."""

    @pytest.fixture
    def place(self, sessions: Sessions, schema: str) -> Iterator[Place]:
        yield Place(sessions, (schema,))
        with sessions.open() as spark:
            spark.sql(f"DROP SCHEMA IF EXISTS {schema}_data CASCADE")


def test_the_metastore_says_what_spark_says(
    sessions: ConnectSessions, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The embedded server's own database is read where many objects are wanted: the answer is the same."""
    wide = ", ".join(f"`column number {n} of a table that is wide` STRING COMMENT 'c{n}'" for n in range(90))
    long = " + ".join(["x"] * 1500)
    nested = f"{schema}_data.mv_x_20260101000000_a"
    tables = {
        f"t{n}": re.sub(r"\$\{s\}\.t\b", f"t{n}", text, flags=re.I)
        for n, text in enumerate(Builtin.tables.values())
    }
    tables |= {
        "wide": f"CREATE TABLE wide ({wide}) USING parquet",
        "marked": "CREATE TABLE marked (a INT) USING json TBLPROPERTIES ('sparkdeploy.hash' = '1:ab')",
        "odd": "CREATE TABLE odd (a STRUCT<`x y`: VARCHAR(3)>) USING parquet",  # Spark cannot read it again
        "dotted": "CREATE TABLE dotted (a STRUCT<`x.y`: INT, `1`: INT>) USING orc",
    }
    views = {
        "v1": "CREATE VIEW v1 AS SELECT 'a\nView Text: x' AS a, 1 AS b -- why",
        "v2": "CREATE VIEW v2 (x COMMENT 'of x', `y``z`) COMMENT 'two\nlines' TBLPROPERTIES ('k' = 'a, b=c', 'api_token' = 'x') AS SELECT 1 AS a, 2 AS b",
        "v3": "CREATE VIEW v3 AS SELECT named_struct('x y', CAST('a' AS VARCHAR(3))) AS s",
        "v4": f"CREATE VIEW v4 AS SELECT * FROM wide WHERE {' AND '.join(f'{n} = {n}' for n in range(2000))}",
        "m": f"CREATE VIEW m AS SELECT * FROM spark_catalog.{nested}",
        "empty": "CREATE VIEW empty AS SELECT * FROM spark_catalog." + nested.replace("_a", "_b"),
    }
    functions = {
        "f1": "CREATE FUNCTION f1(x INT COMMENT 'Body: no') RETURNS INT COMMENT 'c\nBody: 1' RETURN x + 1 -- why",
        "f2": "CREATE FUNCTION f2(x INT) RETURNS TABLE (y INT) RETURN SELECT x AS y\nUNION ALL SELECT 2",
        "f3": f"CREATE FUNCTION f3(x BIGINT) RETURNS BIGINT RETURN {long}",
        "f4": "CREATE FUNCTION f4 AS 'org.apache.hadoop.hive.ql.udf.generic.GenericUDFAbs'",
    }
    with sessions.open() as spark:
        spark.sql(f"CREATE SCHEMA {schema}_data")
        spark.sql(f"USE {schema}")
        for end in "ab":
            data = nested.replace("_a", f"_{end}")
            spark.sql(
                f"CREATE TABLE {data} (a INT) USING parquet TBLPROPERTIES ('sparkdeploy.hash' = '1:cd')"
            )
        for statement in (*tables.values(), *views.values(), *functions.values()):
            spark.sql(statement)
        spark.sql(f"DROP TABLE {nested.replace('_a', '_b')}")
    kinds: list[tuple[Kind, dict[str, str]]] = [("table", tables), ("view", views), ("function", functions)]
    wanted = {
        ObjectName("s", key): Wanted((schema, key), kind)
        for kind, items in kinds
        for key in (*items, "gone" + kind)
    }
    read: list[object] = []
    monkeypatch.setattr(bulk, "read", lambda *args, by=bulk.read: read.append(by(*args)) or read[-1])
    seen = inspect(sessions, wanted, data_schema=f"{schema}_data")
    assert len(read) == 1
    assert isinstance(read[0], bulk.Metastore)
    known = {key for place, key in read[0].relations if place == schema and read[0].relations[place, key]}
    assert {"wide", "marked", "v1", "v2", "v4", "m"} <= known
    assert "odd" not in known
    asked = inspect(ConnectSessions(sessions.address), wanted, data_schema=f"{schema}_data")
    assert len(read) == 1
    different = {key for key in wanted if seen.objects.get(key) != asked.objects.get(key)}
    assert (
        "\n".join(f"{key}: {seen.objects.get(key)} {asked.objects.get(key)}" for key in sorted(different))
        == ""
    )
    assert len(seen.objects) == len(wanted) - 3
    with sessions.open() as spark:
        spark.sql(f"DROP SCHEMA {schema}_data CASCADE")


_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def metastore(database: Postgres) -> str:
    """A database for the metastore that servers share."""
    name = f"metastore_{os.getpid()}"
    database.sql(f"CREATE DATABASE {name}")
    return database.at(name)


@pytest.fixture(scope="session")
def server_on_postgres(
    watched: Callable[[Path], AbstractContextManager[None]],
    metastore: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Sessions]:
    warehouse = tmp_path_factory.mktemp("warehouse-on-postgres")
    with watched(warehouse):
        yield start(warehouse, extra=hive_metastore(metastore)).sessions


class TestBuiltinInHiveOnPostgres(Builtin):
    """A metastore that several servers can share."""

    @pytest.fixture
    def place(self, server_on_postgres: Sessions) -> Iterator[Place]:
        schema = f"s_{next(_numbers)}"
        with server_on_postgres.open() as spark:
            spark.sql(f"CREATE SCHEMA {schema}")
            yield Place(server_on_postgres, (schema,))
            for name in (schema, f"{schema}_data"):
                spark.sql(f"DROP SCHEMA IF EXISTS {name} CASCADE")

    def test_two_servers_share_it(
        self,
        place: Place,
        watched: Callable[[Path], AbstractContextManager[None]],
        metastore: str,
        tmp_path: Path,
    ) -> None:
        """What one server deploys the other finds; what somebody does on one drifts on the other; and
        the lock of one excludes the other."""
        files = table("CREATE TABLE ${s}.t (a INT)")
        state = place.deploy(files)
        with watched(tmp_path / "second"):
            second = start(tmp_path / "second", extra=hive_metastore(metastore)).sessions
            there = Place(second, place.schema)
            assert ids(there.plan(files, state)) == []
            there.by_hand("ALTER TABLE t ADD COLUMNS (b INT)")
            assert T in place.drift(files, state)
            log = place.data_schema  # dropped with the place
            here, elsewhere = Lock(place.sessions, log, "here"), Lock(second, log, "there")
            with here, elsewhere:
                here.acquire()
                with pytest.raises(SparkDeployError, match=r"SD801.*run here"):
                    elsewhere.acquire()
                here.release()
                elsewhere.acquire()
                with pytest.raises(SparkDeployError, match=r"SD801.*run there"):
                    here.acquire()


class TestJdbcOnPostgres(RenamingConformance):
    """A v2 catalog over JDBC, which knows columns, their types, and indexes; no more."""

    tables: ClassVar = {
        "types": f"CREATE TABLE ${{s}}.t ({columns(_TYPES)})",
        "not null": "CREATE TABLE ${s}.t (a INT NOT NULL, b STRING)",
        "comments": "CREATE TABLE ${s}.t (a INT COMMENT 'of a') COMMENT 'of the table'",
        "odd columns": "CREATE TABLE ${s}.t (`a b` INT, `Käse` INT, `x.y` INT, `select` INT, MiXed INT)",
    }
    alterations: ClassVar = {
        "a column": (
            "CREATE TABLE ${s}.t (a INT)",
            "CREATE TABLE ${s}.t (b VARCHAR(3) COMMENT 'new', a INT)",
        ),
        "no column": ("CREATE TABLE ${s}.t (a INT, `B b` INT)", "CREATE TABLE ${s}.t (a INT)"),
        "another name": ("CREATE TABLE ${s}.t (a INT, b INT)", "CREATE TABLE ${s}.t (a INT, c INT)"),
        "wider": (
            "CREATE TABLE ${s}.t (a INT, b VARCHAR(3))",
            "CREATE TABLE ${s}.t (a BIGINT, b VARCHAR(9))",
        ),
    }

    @pytest.fixture
    def place(self, sessions: Sessions, database: Postgres) -> Iterator[Place]:
        schema = f"s_{os.getpid()}_{next(_numbers)}"
        settings = jdbc_catalog("pg", f"{database.url}&currentSchema={schema}")
        configured = Configured(sessions, settings, (DRIVER,))
        database.sql(f"CREATE SCHEMA {schema}")
        yield Place(configured, ("pg", schema), "jdbc")
        database.sql(f"DROP SCHEMA {schema} CASCADE")
        with sessions.open() as spark:
            spark.sql(f"DROP SCHEMA IF EXISTS {schema}_data CASCADE")

    def test_names_differ_by_case(self, place: Place) -> None:
        files = {
            f"s/table/{n}.sql": f"CREATE TABLE ${{s}}.{quote_part(n)} (a INT)"
            for n in ("Upper", "x.y z", "Ü")
        }
        state = place.deploy(files)
        assert ids(place.plan(files, state)) == []
        place.by_hand("DROP TABLE `Upper`", "CREATE TABLE upper (a INT)")
        assert place.drift(files, state) == {name("s.upper"): "missing in the catalog"}

    def test_indexes_are_seen(self, place: Place) -> None:
        files = table(
            "CREATE TABLE ${s}.t (a INT, b INT);\n-- //// INDEX name=by_a\nCREATE INDEX by_a ON ${s}.t (a);\n"
            "-- //// INDEX name=By_B\nCREATE INDEX By_B ON ${s}.t (b, a);"
        )
        state = place.deploy(files)
        assert ids(place.plan(files, state)) == []
        place.by_hand("DROP INDEX by_a ON t")
        planned = place.plan(files, state)
        assert [(item.action, item.index) for item in planned.plan.operations] == [("index", "by_a")]
        state = place.deploy(files, state)
        assert ids(place.plan(files, state)) == []

    def test_a_table_without_permission_is_there(self, place: Place, database: Postgres) -> None:
        files = table("CREATE TABLE ${s}.t (a INT)") | {"s/table/u.sql": "CREATE TABLE ${s}.u (a INT)"}
        state = place.deploy(files)
        schema = place.schema[-1]
        guest = f"guest_{schema}"
        database.sql(f"CREATE ROLE {guest} LOGIN; GRANT USAGE ON SCHEMA {schema} TO {guest}")
        database.sql(f"GRANT SELECT ON {schema}.u TO {guest}")
        try:
            settings = jdbc_catalog("pg", database.url.replace("user=tester", f"user={guest}"))
            narrow = Place(Configured(place.sessions, settings), place.schema, "jdbc")
            found = narrow.look(place.repository(files), state).objects
            assert {key: item.readable for key, item in found.items()} == {T: False, name("s.u"): True}
        finally:
            database.sql(f"DROP OWNED BY {guest}; DROP ROLE {guest}")

    def test_a_database_that_is_away_is_not_empty(self, place: Place) -> None:
        settings = jdbc_catalog("pg", "jdbc:postgresql://127.0.0.1:1/postgres?user=nobody")
        away = Place(Configured(place.sessions, settings), place.schema, "jdbc")
        with pytest.raises(SparkFailure, match="FAILED_JDBC"):
            away.look(place.repository(table("CREATE TABLE ${s}.t (a INT)")), {})

    def test_a_view_in_a_catalog_without_views_is_missing(self, place: Place) -> None:
        wanted = {ObjectName("s", "v"): Wanted((*place.schema, "v"), "view", "jdbc")}
        assert inspect(place.sessions, wanted, data_schema=place.data_schema).objects == {}

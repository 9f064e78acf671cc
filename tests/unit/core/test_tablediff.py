from __future__ import annotations

import pytest

from airflow_provider_sparkdeploy.core.lexer import tokens
from airflow_provider_sparkdeploy.core.objects import TableDef
from airflow_provider_sparkdeploy.core.tabledef import table_definition
from airflow_provider_sparkdeploy.core.tablediff import Alteration, Recreate, provider_family, table_changes

NAME = ("lake", "sales", "orders")
TABLE = "`lake`.`sales`.`orders`"


def define(rest: str) -> TableDef:
    found = table_definition(tokens(f"CREATE TABLE t {rest}"))
    assert found is not None
    return found


def changes(old: str, new: str, family: str) -> tuple[Alteration, ...]:
    found = table_changes(NAME, define(old), define(new), family)
    assert not isinstance(found, Recreate), found
    return found


def statements(old: str, new: str, family: str) -> list[str]:
    return [alteration.sql.replace(TABLE, "t") for alteration in changes(old, new, family)]


def refused(old: str, new: str, family: str) -> str:
    found = table_changes(NAME, define(old), define(new), family)
    assert isinstance(found, Recreate), found
    return found.reason


@pytest.mark.parametrize(
    ("family", "old", "new", "expected"),
    [
        ("builtin", "(a INT)", "(a INT, b STRING)", ["ALTER TABLE t ADD COLUMNS (`b` string)"]),
        (
            "builtin",
            "(a INT)",
            "(`x.y` STRUCT<`q r`: INT> COMMENT 'it''s', a INT)",
            ["ALTER TABLE t ADD COLUMNS (`x.y` struct<`q r`:int> COMMENT 'it\\'s')"],
        ),
        ("builtin", "(a INT)", "(a INT, b INT NOT NULL)", ["ALTER TABLE t ADD COLUMNS (`b` int)"]),
        ("builtin", "(a INT)", "(a INT COMMENT 'x')", ["ALTER TABLE t ALTER COLUMN `a` COMMENT 'x'"]),
        ("builtin", "(a INT COMMENT 'x')", "(a INT)", ["ALTER TABLE t ALTER COLUMN `a` COMMENT ''"]),
        ("builtin", "(a INT) COMMENT 'x'", "(a INT) COMMENT 'y{}'", ["COMMENT ON TABLE t IS 'y{}'"]),
        ("builtin", "(a INT) COMMENT 'x'", "(a INT)", ["COMMENT ON TABLE t IS ''"]),
        (
            "builtin",
            "(a INT) TBLPROPERTIES (a=1, b=2, c=3)",
            "(a INT) TBLPROPERTIES (b=2, c=4, d=5)",
            [
                "ALTER TABLE t SET TBLPROPERTIES ('c' = '4', 'd' = '5')",
                "ALTER TABLE t UNSET TBLPROPERTIES IF EXISTS ('a')",
            ],
        ),
        ("builtin", "(a INT) CLUSTER BY (a)", "(a INT)", ["ALTER TABLE t CLUSTER BY NONE"]),
        ("delta", "(a INT, b INT)", "(a INT, b INT) CLUSTER BY (a, b)", ["ALTER TABLE t CLUSTER BY (a,b)"]),
        ("delta", "(a INT NOT NULL)", "(a INT)", ["ALTER TABLE t ALTER COLUMN `a` DROP NOT NULL"]),
        (
            "delta",
            "(a INT, b INT) TBLPROPERTIES (delta.columnMapping.mode = 'name')",
            "(a INT)",
            ["ALTER TABLE t DROP COLUMN `b`"],
        ),
        ("iceberg", "(a INT, b INT)", "(a INT)", ["ALTER TABLE t DROP COLUMN `b`"]),
        ("iceberg", "(a INT)", "(b INT, a INT)", ["ALTER TABLE t ADD COLUMNS (`b` int FIRST)"]),
        (
            "iceberg",
            "(a INT, c INT)",
            "(a INT, b INT, c INT)",
            ["ALTER TABLE t ADD COLUMNS (`b` int AFTER `a`)"],
        ),
        ("iceberg", "(a INT)", "(a INT, b INT)", ["ALTER TABLE t ADD COLUMNS (`b` int)"]),
        (
            "iceberg",
            "(a INT, b INT, c INT)",
            "(a INT, c INT, b INT)",
            ["ALTER TABLE t ALTER COLUMN `c` AFTER `a`"],
        ),
        ("iceberg", "(a INT, b INT)", "(b INT, a INT)", ["ALTER TABLE t ALTER COLUMN `b` FIRST"]),
        ("iceberg", "(a INT)", "(a BIGINT)", ["ALTER TABLE t ALTER COLUMN `a` TYPE bigint"]),
        ("iceberg", "(a FLOAT)", "(a DOUBLE)", ["ALTER TABLE t ALTER COLUMN `a` TYPE double"]),
        (
            "iceberg",
            "(a DECIMAL(9,2))",
            "(a DECIMAL(12,2))",
            ["ALTER TABLE t ALTER COLUMN `a` TYPE decimal(12,2)"],
        ),
        ("iceberg", "(a INT NOT NULL)", "(a INT)", ["ALTER TABLE t ALTER COLUMN `a` DROP NOT NULL"]),
        (
            "iceberg",
            "(p STRUCT<x: INT, z: INT>)",
            "(p STRUCT<x: INT, `y y`: STRING COMMENT 'not compared', z: INT>)",
            ["ALTER TABLE t ADD COLUMNS (`p`.`y y` string AFTER `x`)"],
        ),
        (
            "iceberg",
            "(p STRUCT<x: INT, z: INT>)",
            "(p STRUCT<z: BIGINT, X: INT>)",
            ["ALTER TABLE t ALTER COLUMN `p`.`z` FIRST", "ALTER TABLE t ALTER COLUMN `p`.`z` TYPE bigint"],
        ),
        (
            "iceberg",
            "(p STRUCT<x: INT, z: INT>)",
            "(p STRUCT<z: INT>)",
            ["ALTER TABLE t DROP COLUMN `p`.`x`"],
        ),
        (
            "iceberg",
            "(a ARRAY<STRUCT<x: INT>>, m MAP<STRING, STRUCT<x: INT>>)",
            "(a ARRAY<STRUCT<x: INT, y: INT>>, m MAP<STRING, STRUCT<x: INT, y: INT>>)",
            [
                "ALTER TABLE t ADD COLUMNS (`a`.`element`.`y` int)",
                "ALTER TABLE t ADD COLUMNS (`m`.`value`.`y` int)",
            ],
        ),
        (
            "iceberg",
            "(p STRUCT<x: INT, xx: INT, q: STRUCT<d: DATE, e: INT>>) PARTITIONED BY (p.xx, months(p.q.d))",
            "(p STRUCT<xx: INT, q: STRUCT<e: INT>>) PARTITIONED BY (p.xx)",
            [
                "ALTER TABLE t DROP PARTITION FIELD months(p.q.d)",
                "ALTER TABLE t DROP COLUMN `p`.`x`",
                "ALTER TABLE t DROP COLUMN `p`.`q`.`d`",
            ],
        ),
        (
            "iceberg",
            "(id INT, ts TIMESTAMP) PARTITIONED BY (days(ts))",
            "(id INT, ts TIMESTAMP) PARTITIONED BY (hours(ts), bucket(16, id))",
            [
                "ALTER TABLE t DROP PARTITION FIELD days(ts)",
                "ALTER TABLE t ADD PARTITION FIELD hours(ts)",
                "ALTER TABLE t ADD PARTITION FIELD bucket(16,id)",
            ],
        ),
        (
            "iceberg",
            "(id INT, a INT, aa INT) PARTITIONED BY (aa, bucket(16, a))",
            "(id INT, aa INT) PARTITIONED BY (id)",
            [
                "ALTER TABLE t DROP PARTITION FIELD bucket(16,a)",
                "ALTER TABLE t DROP COLUMN `a`",
                "ALTER TABLE t DROP PARTITION FIELD aa",
                "ALTER TABLE t ADD PARTITION FIELD id",
            ],
        ),
        (
            "jdbc",
            "(a INT, b INT)",
            "(a INT, c INT COMMENT 'x')",
            [
                "ALTER TABLE t DROP COLUMN `b`",
                "ALTER TABLE t ADD COLUMNS (`c` int)",
            ],
        ),
        ("jdbc", "(a INT)", "(a DOUBLE)", ["ALTER TABLE t ALTER COLUMN `a` TYPE double"]),
        ("jdbc", "(a BIGINT)", "(a DECIMAL(22,2))", ["ALTER TABLE t ALTER COLUMN `a` TYPE decimal(22,2)"]),
        ("jdbc", "(a VARCHAR(5))", "(a VARCHAR(9))", ["ALTER TABLE t ALTER COLUMN `a` TYPE varchar(9)"]),
        ("jdbc", "(a DATE)", "(a STRING)", ["ALTER TABLE t ALTER COLUMN `a` TYPE string"]),
        ("jdbc", "(a INT NOT NULL)", "(a INT)", ["ALTER TABLE t ALTER COLUMN `a` DROP NOT NULL"]),
        ("jdbc", "(a INT)", "(a INT, b INT NOT NULL)", ["ALTER TABLE t ADD COLUMNS (`b` int)"]),
    ],
)
def test_statements(family: str, old: str, new: str, expected: list[str]) -> None:
    assert statements(old, new, family) == expected


@pytest.mark.parametrize(
    ("family", "catalog", "declared"),
    [
        # what the catalog says of a table that was just created from the declaration
        ("builtin", "(a INT, b INT, dt DATE)", "(dt DATE, B INT NOT NULL, A INT)"),
        (
            "builtin",
            "(a INT) USING parquet TBLPROPERTIES (x=1, transient_lastDdlTime=5)",
            "(a INT) TBLPROPERTIES (x=1)",
        ),
        ("builtin", "(a INT) USING PARQUET", "(a INT) USING parquet"),
        ("builtin", "(s STRUCT<a: INT>)", "(s STRUCT<A: INT>)"),
        ("builtin", "(a INT, Dt DATE) PARTITIONED BY (Dt)", "(dT DATE, a INT) PARTITIONED BY (dt)"),
        (
            "builtin",
            "(a INT, b INT) PARTITIONED BY (b, bucket(4, a))",
            "(a INT, b INT) CLUSTERED BY (a) INTO 4 BUCKETS PARTITIONED BY (b)",
        ),
        ("builtin", "(a INT) TBLPROPERTIES (sparkdeploy.hash='x', delta.minReaderVersion=1)", "(a INT)"),
        ("builtin", "(a INT)", "(a INT) TBLPROPERTIES (comment='x', owner='me')"),
        (
            "iceberg",
            "(a INT, b STRING, c INT, s STRUCT<x: STRING>)",
            "(a SMALLINT, b VARCHAR(9), c TINYINT, s STRUCT<x: CHAR(3)>)",
        ),
        ("iceberg", "(a INT) USING iceberg", "(a INT) USING parquet"),
        ("iceberg", "(a INT, b INT) PARTITIONED BY (a, b)", "(a INT, b INT) PARTITIONED BY (b, identity(A))"),
        ("delta", "(b INT, a INT) TBLPROPERTIES (delta.minReaderVersion=1)", "(a INT, b INT)"),
        (
            "jdbc",
            "(a INT, b STRING, t TIMESTAMP)",
            "(a SMALLINT NOT NULL, b CHAR(3) COMMENT 'x', t TIMESTAMP_NTZ) COMMENT 'y'",
        ),
        ("jdbc", "(a SMALLINT)", "(a TINYINT)"),
    ],
)
def test_no_difference(family: str, catalog: str, declared: str) -> None:
    assert statements(catalog, declared, family) == []


@pytest.mark.parametrize(
    ("family", "old", "new", "reason"),
    [
        ("builtin", "(a INT, b INT)", "(a INT)", "builtin: ALTER cannot drop column b"),
        ("builtin", "(a INT)", "(a BIGINT)", "builtin: ALTER cannot change the type of a from int to bigint"),
        (
            "builtin",
            "(a INT, b INT) USING parquet",
            "(a BIGINT, c INT) USING orc",
            "orc: ALTER cannot change the provider from parquet to orc, drop column b,"
            " change the type of a from int to bigint",
        ),
        (
            "builtin",
            "(a INT, b INT) PARTITIONED BY (a)",
            "(a INT, b INT)",
            "builtin: ALTER cannot change the partitioning from (a) to ()",
        ),
        (
            "builtin",
            "(a INT, b INT) PARTITIONED BY (a, b)",
            "(a INT, b INT) PARTITIONED BY (b, a)",
            "builtin: ALTER cannot change the partitioning from (a, b) to (b, a)",
        ),
        (
            "builtin",
            "(a INT, b INT) PARTITIONED BY (a)",
            "(a INT COMMENT 'x', b INT) PARTITIONED BY (a)",
            "builtin: ALTER cannot comment on the partition column a",
        ),
        (
            "delta",
            "(a INT, b INT)",
            "(a INT)",
            "delta: ALTER cannot drop column b (without delta.columnMapping.mode = name)",
        ),
        ("delta", "(a INT)", "(a BIGINT)", "delta: ALTER cannot change the type of a from int to bigint"),
        ("delta", "(a INT)", "(a INT, b INT NOT NULL)", "delta: ALTER cannot add column b as NOT NULL"),
        ("iceberg", "(a INT)", "(a INT NOT NULL)", "iceberg: ALTER cannot make a NOT NULL"),
        ("iceberg", "(a BIGINT)", "(a INT)", "iceberg: ALTER cannot change the type of a from bigint to int"),
        (
            "iceberg",
            "(a DECIMAL(9,2))",
            "(a DECIMAL(12,3))",
            "iceberg: ALTER cannot change the type of a from decimal(9,2) to decimal(12,3)",
        ),
        ("iceberg", "(a INT)", "(b INT)", "iceberg: ALTER cannot replace all columns"),
        (
            "iceberg",
            "(a STRUCT<x: INT>)",
            "(a STRUCT<y: INT>)",
            "iceberg: ALTER cannot change the type of a from struct<x:int> to struct<y:int>",
        ),
        (
            "iceberg",
            "(a STRUCT<x: INT, y: STRING>)",
            "(a STRUCT<x: INT, y: INT, z: INT>)",
            "iceberg: ALTER cannot change the type of a from struct<x:int,y:string>"
            " to struct<x:int,y:int,z:int>",
        ),
        (
            "iceberg",
            "(a MAP<STRUCT<x: INT>, INT>)",
            "(a MAP<STRUCT<x: INT, y: INT>, INT>)",
            "iceberg: ALTER cannot change the type of a from map<struct<x:int>,int>"
            " to map<struct<x:int,y:int>,int>",
        ),
        (
            "builtin",
            "(a STRUCT<x: INT>)",
            "(a STRUCT<x: INT, y: INT>)",
            "builtin: ALTER cannot change the type of a from struct<x:int> to struct<x:int,y:int>",
        ),
        ("jdbc", "(a BIGINT)", "(a INT)", "jdbc: ALTER cannot change the type of a from bigint to int"),
        (
            "jdbc",
            "(a INT)",
            "(a DECIMAL(10,2))",
            "jdbc: ALTER cannot change the type of a from int to decimal(10,2)",
        ),
        (
            "jdbc",
            "(a VARCHAR(9))",
            "(a VARCHAR(5))",
            "jdbc: ALTER cannot change the type of a from varchar(9) to varchar(5)",
        ),
    ],
)
def test_recreate_names_all_that_cannot_be_altered(family: str, old: str, new: str, reason: str) -> None:
    assert refused(old, new, family) == reason


def test_order_phases_and_flags() -> None:
    found = changes(
        "(a INT NOT NULL, b INT, c INT) TBLPROPERTIES (p=1)",
        "(d INT, c BIGINT COMMENT 'x', a INT) PARTITIONED BY (c) COMMENT 'y' TBLPROPERTIES (q=1)",
        "iceberg",
    )
    assert [(alteration.phase, alteration.slug) for alteration in found] == [
        ("teardown", "drop_column.b"),
        ("setup", "add_column.d"),
        ("setup", "move_column.c"),
        ("setup", "alter_type.c"),
        ("setup", "drop_not_null.a"),
        ("setup", "comment_column.c"),
        ("setup", "add_partition.c"),
        ("setup", "properties"),
        ("setup", "unset_properties"),
        ("setup", "comment"),
    ]
    assert [alteration.slug for alteration in found if alteration.destructive] == ["drop_column.b"]
    assert [alteration.slug for alteration in found if alteration.narrows] == ["drop_column.b"]
    assert all(
        alteration.sql.split(TABLE)[0] in ("ALTER TABLE ", "COMMENT ON TABLE ") for alteration in found
    )


def test_slugs_tell_odd_names_apart() -> None:
    found = changes("(z INT)", "(z INT, `a b` INT, `a-b` INT, ab INT, `a``b` INT)", "builtin")
    assert len({alteration.slug for alteration in found}) == 4


def test_a_new_column_is_before_the_partition_columns() -> None:
    (added,) = changes(
        "(a INT, dt DATE) PARTITIONED BY (dt)", "(dt DATE, b INT, a INT) PARTITIONED BY (dt)", "builtin"
    )
    assert [column.name for column in added.after.columns] == ["a", "b", "dt"]


def test_unknown_columns_do_not_cost_the_table() -> None:
    found = table_changes(NAME, TableDef(), define("(a INT)"), "builtin")
    assert not isinstance(found, Recreate)
    assert [alteration.slug for alteration in found] == ["add_column.a"]


@pytest.mark.parametrize(
    ("using", "catalog", "family"),
    [
        ("", None, "builtin"),
        ("", "builtin", "builtin"),
        ("USING parquet", "builtin", "builtin"),
        ("STORED AS orc", "hive", "builtin"),
        ("USING delta", None, "delta"),
        ("USING Iceberg", "builtin", "iceberg"),
        ("", "iceberg", "iceberg"),
        ("USING parquet", "iceberg", "iceberg"),
        ("USING parquet", "org.apache.iceberg.spark.SparkSessionCatalog", "builtin"),
        ("", "org.apache.iceberg.spark.SparkSessionCatalog", "iceberg"),
        ("", "delta", "delta"),
        ("USING csv", "delta", "builtin"),
        ("", "jdbc", "jdbc"),
        ("", "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog", "jdbc"),
    ],
)
def test_families(using: str, catalog: str | None, family: str) -> None:
    assert provider_family(define(f"(a INT) {using}"), catalog) == family

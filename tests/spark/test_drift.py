"""Somebody altered a table by hand: one that is declared, and one that a script has made."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from world import World, world

from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError
from airflow_provider_sparkdeploy.spark.session import ConnectSessions

SCRIPT = """\
-- //// CHANGE name=init
CREATE TABLE ${shop}.orders (id BIGINT COMMENT 'number', amount DECIMAL(10,2)) USING parquet
COMMENT 'All orders' TBLPROPERTIES ('team.owner' = 'sales');
-- //// CHANGE name=first
INSERT INTO ${shop}.orders VALUES (1, 10);
"""
DECLARED = "CREATE TABLE ${shop}.regions (code STRING COMMENT 'short') USING parquet COMMENT 'All regions';\n"
BOTH = {"shop/table/orders.sql": SCRIPT, "shop/table/regions.sql": DECLARED}
BY_HAND = (
    "ALTER TABLE {shop}.orders ALTER COLUMN id COMMENT 'somebody wrote this'",
    "ALTER TABLE {shop}.orders SET TBLPROPERTIES ('team.owner' = 'somebody', 'new' = 'not ours')",
    "COMMENT ON TABLE {shop}.regions IS 'somebody wrote this'",
)
HEALED = [
    "setup.shop.orders.comment_column.id",
    "setup.shop.orders.properties",
    "setup.shop.regions.comment",
]
_numbers = itertools.count(1)


@pytest.fixture
def shop(sessions: ConnectSessions, tmp_path: Path) -> Iterator[World]:
    prefix = f"d{os.getpid()}_{next(_numbers)}"
    with world(tmp_path / "repository", sessions, prefix, "propagation: {schema: false}") as made:
        yield made


def test_rows_and_statistics_are_no_drift(shop: World) -> None:
    orc = "-- //// CHANGE name=init\nCREATE TABLE ${shop}.old (a INT) PARTITIONED BY (p INT) STORED AS ORC;\n"
    ctas = (
        "-- //// CHANGE name=init\nCREATE TABLE ${shop}.copy USING parquet AS SELECT * FROM ${shop}.orders;\n"
    )
    shop.write({**BOTH, "shop/table/old.sql": orc, "shop/table/copy.sql": ctas}).deploy()
    assert shop.pending() == []
    for table, row in {"orders": "2, 20", "old": "1, 1", "copy": "3, 30", "regions": "'x'"}.items():
        shop.sql(f"INSERT INTO {{shop}}.{table} VALUES ({row})")
        shop.sql(f"ANALYZE TABLE {{shop}}.{table} COMPUTE STATISTICS FOR ALL COLUMNS")
    assert shop.pending() == []
    assert "No drift" in shop.cli("drift")


def test_heal(shop: World) -> None:
    shop.write(BOTH).deploy()
    before = shop.relations()
    for statement in BY_HAND:
        shop.sql(statement)
    said = shop.cli("drift")
    assert "shop.orders" in said
    assert "comment_column.id" in said
    assert "shop.regions" in said
    assert sorted(shop.deploy()) == HEALED
    assert shop.relations() == before
    assert shop.pending() == []


def test_adopt(shop: World) -> None:
    shop.write(BOTH).deploy()
    shop.configure("on_drift: adopt\npropagation: {schema: false}")
    for statement in (*BY_HAND, "ALTER TABLE {shop}.orders ADD COLUMNS (more INT)"):
        shop.sql(statement)
    assert shop.deploy() == []
    assert shop.pending() == []
    shop.configure("on_drift: fail\npropagation: {schema: false}")
    assert shop.pending() == [], "what was adopted has not drifted"


def test_warn(shop: World) -> None:
    shop.write(BOTH).deploy()
    shop.configure("on_drift: warn\npropagation: {schema: false}")
    for statement in BY_HAND:
        shop.sql(statement)
    for _ in range(2):
        plan = shop.plan().plan
        assert [(item.code, item.object) for item in plan.warnings] == [
            ("SD430", "shop.orders"),
            ("SD430", "shop.regions"),
        ]
        assert shop.deploy() == []


def test_fail(shop: World) -> None:
    shop.write(BOTH).deploy()
    shop.configure("on_drift: fail\npropagation: {schema: false}")
    for statement in BY_HAND:
        shop.sql(statement)
    with pytest.raises(SparkDeployError, match=r"(?s)SD430.*shop\.orders.*SD430.*shop\.regions"):
        shop.apply()


def test_what_cannot_be_altered_back_is_an_error_that_says_what_to_do(shop: World) -> None:
    shop.write(BOTH).deploy()
    shop.sql("ALTER TABLE {shop}.orders ADD COLUMNS (more INT)")
    with pytest.raises(SparkDeployError, match=r"SD432.*drop column more"):
        shop.apply()


def test_a_script_that_goes_on_is_looked_up_again(shop: World) -> None:
    """The next change, a migration over the table, and a rollback: none of them is drift."""
    shop.write(BOTH).deploy()
    more = "-- //// CHANGE name=more\nALTER TABLE ${shop}.orders ADD COLUMNS (region STRING);\n"
    undo = "-- // ROLLBACK\nALTER TABLE ${shop}.orders UNSET TBLPROPERTIES ('team.owner');\n"
    migration = (
        "-- //// CHANGE name=one\nALTER TABLE ${shop}.orders SET TBLPROPERTIES ('team.owner' = 'web');\n"
    )
    shop.write({"shop/table/orders.sql": SCRIPT + more, "shop/migration/m.sql": migration + undo}).deploy()
    assert shop.pending() == []
    shop.sql("COMMENT ON TABLE {shop}.orders IS 'by hand'")
    assert shop.deploy() == ["setup.shop.orders.comment"]
    shop.write({"shop/migration/m.sql": None})
    assert shop.deploy(rollback=True) == ["teardown.shop.m.one.rollback.1"]
    assert shop.pending() == []


def test_a_view_that_lost_its_list_of_columns(shop: World) -> None:
    """ALTER VIEW forgets the list, and the text in the catalog is as before."""
    shop.write({"shop/view/v.sql": "CREATE VIEW ${shop}.v (`no 1`, b) AS SELECT 1 AS x, 2 AS b;\n"}).deploy()
    before = shop.relations()
    assert shop.pending() == []
    shop.sql("ALTER VIEW {shop}.v AS SELECT 1 AS x, 2 AS b")
    assert "its columns were changed" in shop.cli("drift")
    assert shop.deploy() == ["setup.shop.v"]
    assert shop.relations() == before
    assert shop.pending() == []


def test_a_materialized_view_dropped_by_hand_leaves_no_data_tables_once_its_file_is_gone(shop: World) -> None:
    path = "shop/materialized_view/m.sql"
    shop.write({path: "CREATE MATERIALIZED VIEW ${shop}.m AS SELECT 1 AS a;\n"}).deploy()
    shop.sql("DROP VIEW {shop}.m")
    assert shop.sql(f"SHOW TABLES IN {shop.prefix}_data")
    assert shop.write({path: None}).deploy() == ["teardown.shop.m"]
    assert shop.sql(f"SHOW TABLES IN {shop.prefix}_data") == []
    assert shop.pending() == []

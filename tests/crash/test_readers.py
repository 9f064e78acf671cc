"""A reader that queries in a loop never fails, and never sees less than a whole result, also while texts
are deployed anew by clients that die. (While materialized views are refreshed: ``test_crashes``.)"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from killing import Killer
from reader import Rows, reading
from world import World, world

from airflow_provider_sparkdeploy.spark.session import ConnectSessions

OPTIONS = "propagation: {schema: false}\n"
FIRST = {
    "shop/data/edges.csv": "-- //// METADATA keys=a,b\na:int,b:int\n1,2\n2,3\n",
    "shop/materialized_view/total.sql": "CREATE MATERIALIZED VIEW ${shop}.total AS SELECT a, 1 AS version FROM ${shop}.edges;\n",
    "shop/view/plain.sql": "CREATE VIEW ${shop}.plain COMMENT 'one' TBLPROPERTIES ('a' = '1', 'b' = '1') AS SELECT a, 1 AS version FROM ${shop}.edges;\n",
}
TEXTS = {
    "the query": {
        "shop/materialized_view/total.sql": "CREATE MATERIALIZED VIEW ${shop}.total AS SELECT a, 2 AS version FROM ${shop}.edges;\n",
        "shop/view/plain.sql": "CREATE VIEW ${shop}.plain COMMENT 'one' TBLPROPERTIES ('a' = '1', 'b' = '1') AS SELECT a, 2 AS version FROM ${shop}.edges;\n",
    },
    "more": {
        "shop/materialized_view/total.sql": "-- //// METADATA comment=three\nCREATE MATERIALIZED VIEW ${shop}.total (a BIGINT COMMENT 'from', version BIGINT) AS SELECT a, 3 AS version FROM ${shop}.edges;\n",
        "shop/view/plain.sql": "CREATE VIEW ${shop}.plain COMMENT 'three' TBLPROPERTIES ('b' = '2', 'c' = '3') AS SELECT a, 3 AS version FROM ${shop}.edges;\n",
    },
    "the header": {
        "shop/materialized_view/total.sql": "CREATE MATERIALIZED VIEW ${shop}.total (a BIGINT, version STRING) COMMENT 'four' AS SELECT a, 4 AS version FROM ${shop}.edges;\n",
        "shop/view/plain.sql": "-- //// METADATA comment=four\nCREATE VIEW ${shop}.plain WITH SCHEMA EVOLUTION AS SELECT a, 3 AS version FROM ${shop}.edges;\n",
    },
}
_numbers = itertools.count(1)


@pytest.fixture
def shop(sessions: ConnectSessions, tmp_path: Path) -> Iterator[World]:
    with world(tmp_path / "repository", sessions, f"r{os.getpid()}_{next(_numbers)}", OPTIONS) as made:
        made.write(FIRST).deploy()
        yield made


def queries(shop: World, *names: str) -> dict[str, str]:
    return {name: f"SELECT * FROM {shop.schema}.{name}" for name in names}


def test_while_texts_are_deployed_anew_by_clients_that_die(
    killer: Killer, shop: World, sessions: ConnectSessions, tmp_path: Path
) -> None:
    with reading(sessions.address, tmp_path, queries(shop, "total", "plain")) as reader:
        for files, boundary, turn in zip(
            TEXTS.values(), ("returned", "sent", "returned"), (0, 0, 1), strict=True
        ):
            planned = [operation.id for operation in shop.write(files).plan().plan.operations]
            spared = planned[1 - turn :: 2]  # half of them die, and so the others are begun by somebody else
            died = killer.deploy_dying(shop, boundary, spared=spared)
            assert sorted(died) == sorted(set(planned) - set(spared))
        reader.sees("total", ((1, "4"), (2, "4")))
        reader.sees("plain", ((1, 3), (2, 3)))
        assert shop.pending() == []
    assert _is_part_of(reader.seen("total"), [((1, n), (2, n)) for n in (1, 2, 3, "4")])
    assert _is_part_of(reader.seen("plain"), [((1, n), (2, n)) for n in (1, 2, 3)])
    properties = {row["key"]: row["value"] for row in shop.sql("SHOW TBLPROPERTIES {shop}.plain")}
    assert {key for key in properties if len(key) == 1} == set(), "all of them were taken away"
    for name in ("total", "plain"):
        told = {
            row["col_name"]: row["data_type"] for row in shop.sql(f"DESCRIBE TABLE EXTENDED {{shop}}.{name}")
        }
        assert told["Comment"] == "four"


def _is_part_of(seen: list[Rows], whole: list[Rows]) -> bool:
    """Whether what was seen came in this order, and nothing else did."""
    left = iter(whole)
    return all(any(rows == item for item in left) for rows in seen)

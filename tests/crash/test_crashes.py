"""Crashes that are not at a boundary: in a statement, of the server, of the disk, of two at once."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from killing import Killer, resolve
from reader import reading
from world import World, world

from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError
from airflow_provider_sparkdeploy.spark.local import start
from airflow_provider_sparkdeploy.spark.session import ConnectSessions, SparkFailure

OPTIONS = "allow_circular: true\npropagation: {schema: false}\non_destructive: allow\n"
ORDERS = """\
-- //// CHANGE name=init
CREATE TABLE ${shop}.orders (id INT) USING parquet;
-- //// CHANGE name=first
INSERT INTO ${shop}.orders VALUES (1);
"""
TOTAL = "CREATE MATERIALIZED VIEW ${shop}.total AS SELECT count(*) AS n FROM ${shop}.orders;\n"
CYCLE = {
    "shop/data/edges.csv": "-- //// METADATA keys=a,b\na:int,b:int\n1,2\n2,3\n",
    "shop/materialized_view/reach.sql": "CREATE MATERIALIZED VIEW ${shop}.reach (a INT, b INT) AS SELECT a, b FROM ${shop}.edges UNION SELECT a, b FROM ${shop}.hops;\n",
    "shop/materialized_view/hops.sql": "CREATE MATERIALIZED VIEW ${shop}.hops (a INT, b INT) AS SELECT DISTINCT r.a, e.b FROM ${shop}.reach r JOIN ${shop}.edges e ON r.b = e.a;\n",
}
_SLEEP = "java_method('java.lang.Thread', 'sleep', 500L)"
_numbers = itertools.count(1)


def slow(name: str, seconds: int) -> str:
    """A CTAS of a scripted table, in steps that can be interrupted."""
    rows = f"SELECT id, {_SLEEP} AS slept FROM range(0, {seconds * 2}, 1, 1)"
    return f"-- //// CHANGE name=init\nCREATE TABLE ${{shop}}.{name} USING parquet AS {rows};\n"


@pytest.fixture
def shop(sessions: ConnectSessions, tmp_path: Path) -> Iterator[World]:
    with world(tmp_path / "repository", sessions, f"c{os.getpid()}_{next(_numbers)}", OPTIONS) as made:
        yield made


def until(seen: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not seen():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)


def begun(made: World, operation: str) -> bool:
    """Whether the intent of an operation is the last that the log says."""
    path = made.log.path
    return path.exists() and operation in (path.read_text().splitlines() or [""])[-1]


# In a statement


def test_a_slow_statement_of_a_killed_client_is_stopped_and_never_runs_twice(
    killer: Killer, shop: World, shared_warehouse: Path
) -> None:
    shop.write({"shop/table/slow.sql": slow("slow", 30)})
    at_work = (str(shared_warehouse), f"{shop.schema}.db/slow/_temporary/**/part-*")
    crash = killer.deploy(shop, "sent", pattern="CREATE TABLE.* AS SELECT", awaited=at_work)
    assert crash.at == "setup.shop.slow.init.1"
    shop.write({"shop/table/slow.sql": slow("slow", 1)})
    assert shop.deploy() == ["setup.shop.slow.init.1"]
    assert shop.rows("SELECT count(*) FROM {shop}.slow") == [(2,)]
    assert shop.pending() == []


def test_a_statement_that_ended_although_its_client_was_killed_is_not_run_again(
    killer: Killer, shop: World
) -> None:
    shop.write({"shop/table/slow.sql": slow("slow", 1)})
    killer.deploy(shop, "sent", pattern="CREATE TABLE.* AS SELECT", pause=0.5)
    until(lambda: "slow" in shop.relations_names())
    assert shop.deploy() == []
    assert shop.rows("SELECT count(*) FROM {shop}.slow") == [(2,)]


@pytest.mark.parametrize("verdict", ["applied", "rerun"])
def test_a_free_form_statement_that_was_sent_is_uncertain_until_somebody_decides(
    verdict: str, killer: Killer, shop: World
) -> None:
    shop.write({"shop/table/orders.sql": ORDERS})
    insert = "setup.shop.orders.first.1"
    assert killer.deploy(shop, "returned", pattern="INSERT INTO").at == insert
    for _ in range(2):
        with pytest.raises(SparkDeployError, match=rf"SD810 {insert} is uncertain"):
            shop.apply()
    assert "SD811" in shop.cli("resolve", "setup.shop.orders.init.1", "--applied", code=1)
    resolve(shop, insert, verdict)
    if verdict == "rerun":  # the mark of the first attempt says nothing of the second
        assert killer.deploy(shop, "after intent").at == insert
    shop.deploy()
    assert shop.rows("SELECT * FROM {shop}.orders") == [(1,)] * (1 if verdict == "applied" else 2)
    assert shop.marks() == {}
    assert shop.pending() == []


def test_a_lost_log_does_not_hide_what_is_uncertain(killer: Killer, shop: World) -> None:
    shop.write({"shop/table/orders.sql": ORDERS.split("-- //// CHANGE name=first")[0]}).deploy()
    shop.write({"shop/table/orders.sql": ORDERS})
    killer.deploy(shop, "returned", pattern="INSERT INTO")
    shop.log.path.unlink()
    assert "Begun and never reported: setup.shop.orders.first.1" in shop.cli("recover")
    with pytest.raises(SparkDeployError, match="SD810"):
        shop.apply()
    resolve(shop, "setup.shop.orders.first.1", "applied")
    assert shop.deploy() == []
    assert shop.rows("SELECT * FROM {shop}.orders") == [(1,)]


@pytest.mark.parametrize("how", ["sent", "returned"])
def test_a_refresh_may_die_in_any_of_its_statements_and_no_reader_notices(
    how: str, killer: Killer, shop: World, sessions: ConnectSessions, tmp_path: Path
) -> None:
    shop.write({"shop/table/orders.sql": ORDERS, "shop/materialized_view/total.sql": TOTAL}).deploy()
    values = 1
    with reading(sessions.address, tmp_path, {"total": f"SELECT n FROM {shop.schema}.total"}) as reader:
        for nth in range(1, 12):
            values += 1
            more = f"-- //// CHANGE name=n{nth}\nINSERT INTO ${{shop}}.orders VALUES ({values});\n"
            path = shop.folder / "shop/table/orders.sql"
            path.write_text(path.read_text() + more)
            crash = killer.deploy(shop, how, nth=nth, spared=[f"setup.shop.orders.n{nth}.1"])
            assert shop.rows("SELECT n FROM {shop}.total")[0][0] in (values - 1, values)
            if crash.at is None:
                break
            assert crash.at == "setup.shop.total"
            shop.deploy()
            assert shop.rows("SELECT n FROM {shop}.total") == [(values,)]
        assert nth > 4
        reader.sees("total", ((values,),))
    seen = reader.seen("total")
    assert set(seen) <= {((n,),) for n in range(1, values + 1)}, "one row, which was right once"
    assert seen == sorted(seen), "and nobody saw it go back"
    assert shop.pending() == []


def test_a_fixpoint_that_dies_between_two_swaps_is_completed_and_no_reader_notices(
    killer: Killer, shop: World, sessions: ConnectSessions, tmp_path: Path
) -> None:
    shop.write(CYCLE).deploy(parallel=2)
    edges = CYCLE["shop/data/edges.csv"]
    shop.write({"shop/data/edges.csv": edges + "3,4\n"})
    queries = {name: f"SELECT * FROM {shop.schema}.{name}" for name in ("hops", "reach")}
    with reading(sessions.address, tmp_path, queries) as reader:
        crash = killer.deploy(shop, "returned", pattern="ALTER VIEW", nth=1)
        assert crash.at == "setup.shop.hops.fixpoint"
        reader.sees("hops", ((1, 3), (1, 4), (2, 4)))
        assert (1, 4) not in shop.rows("SELECT * FROM {shop}.reach")
        assert shop.deploy() == []
        reader.sees("reach", ((1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)))
    assert reader.seen("hops")[:-1] == [((1, 3),)], "the whole of before, and then the whole of after"
    assert reader.seen("reach")[:-1] == [((1, 2), (1, 3), (2, 3))]
    assert shop.pending() == []


@pytest.mark.parametrize("boundary", ["before record", "sent", "after append", "after record"])
def test_the_history_is_complete_however_its_writing_ended(
    boundary: str, killer: Killer, shop: World
) -> None:
    shop.write({"shop/table/orders.sql": ORDERS})
    crash = killer.deploy(shop, boundary, recording=True, pattern="INSERT INTO .*deploy_log")
    assert crash.at == ("record" if boundary == "sent" else "")
    assert shop.deploy() == []
    done = [item.entry.operation for item in shop.history() if item.entry.type == "done"]
    assert done == ["setup.shop.orders.init.1", "setup.shop.orders.first.1"]
    assert shop.marks() == {}
    shop.log.path.unlink()
    shop.cli("recover")
    assert shop.pending() == []


def test_who_writes_the_history_stops_one_that_was_killed_while_it_did(killer: Killer, shop: World) -> None:
    """There is one writer: two INSERTs at once lose rows."""
    shop.write({"shop/table/orders.sql": ORDERS})
    assert killer.deploy(shop, "before record").at == ""
    run = shop.content().entries[0].run
    with shop.sessions.open(f"{run}/record") as other, ThreadPoolExecutor(1) as threads:
        other.sql("SELECT 1")
        waiting = threads.submit(other.sql, f"SELECT {_SLEEP} FROM range(0, 400, 1, 1)")
        time.sleep(1)
        assert shop.deploy() == []
        with pytest.raises(SparkFailure, match=r"(?i)cancel"):
            waiting.result(60)
    assert len([item for item in shop.history() if item.entry.type == "done"]) == 2


def test_a_lost_log_of_a_run_that_was_killed_is_rebuilt_from_markers_and_marks(
    killer: Killer, shop: World
) -> None:
    """Neither the log nor the history tells of it: the tables themselves do, and the marks."""
    more = "-- //// CHANGE name=second\nINSERT INTO ${shop}.orders VALUES (2);\nINSERT INTO ${shop}.orders VALUES (3);\n"
    empty = "-- //// CHANGE name=init\nCREATE TABLE ${shop}.empty (a INT) USING parquet;\n"
    shop.write({"shop/table/orders.sql": ORDERS + more, "shop/table/empty.sql": empty})
    assert killer.deploy(shop, "before record").at == ""
    shop.log.path.unlink()
    with pytest.raises(SparkDeployError, match=r"SD431.*(?s:.*)sparkdeploy recover"):
        shop.apply()
    assert "Recovered 2 objects" in shop.cli("recover")
    assert shop.deploy() == []
    assert shop.rows("SELECT * FROM {shop}.orders") == [(1,), (2,), (3,)]
    assert shop.pending() == []
    assert shop.marks() == {}


def test_of_a_lost_log_at_most_one_statement_of_a_script_is_uncertain(killer: Killer, shop: World) -> None:
    more = "-- //// CHANGE name=region\nALTER TABLE ${shop}.orders ADD COLUMNS (region STRING);\n"
    shop.write({"shop/table/orders.sql": ORDERS + more})
    assert killer.deploy(shop, "before record").at == ""
    shop.log.path.unlink()
    assert "Begun and never reported: setup.shop.orders.region.1" in shop.cli("recover")
    with pytest.raises(SparkDeployError, match=r"SD810.*orders\.region\.1"):
        shop.apply()
    resolve(shop, "setup.shop.orders.region.1", "applied")
    assert shop.deploy() == []
    assert shop.pending() == []


# The disk


def test_a_full_disk_stops_the_run_before_the_next_statement(killer: Killer, shop: World) -> None:
    more = {f"shop/view/v{n}.sql": f"CREATE VIEW ${{shop}}.v{n} AS SELECT {n} AS a;\n" for n in range(6)}
    shop.write({"shop/table/orders.sql": ORDERS, **more})
    crash = killer.deploy(shop, "never", full=6000)
    told = str(crash.answer)
    assert "SD603" in told, told
    there = shop.relations_names()
    assert len(there) < 7
    shop.deploy()
    assert shop.rows("SELECT * FROM {shop}.orders") == [(1,)]
    assert shop.pending() == []


# Two at once


def test_of_two_deployments_with_one_log_the_second_is_refused(killer: Killer, shop: World) -> None:
    shop.write({"shop/table/slow.sql": slow("slow", 4)})
    pid = killer.start(shop, "never")
    until(lambda: begun(shop, "slow"))
    said = shop.cli("apply", code=1)
    assert "SD604" in said
    assert f"process {pid} on" in said
    assert killer.wait().answer["done"] == ["setup.shop.slow.init.1"]
    assert shop.rows("SELECT count(*) FROM {shop}.slow") == [(8,)]


def test_of_two_deployments_with_two_logs_the_second_is_refused(
    killer: Killer, shop: World, tmp_path: Path
) -> None:
    shop.write({"shop/table/slow.sql": slow("slow", 4)})
    pid = killer.start(shop, "never")
    until(lambda: begun(shop, "slow"))
    said = shop.cli("apply", "--log", str(tmp_path / "other.jsonl"), code=1)
    assert "SD801" in said
    assert f"(process {pid})" in said
    assert killer.wait().answer["done"] == ["setup.shop.slow.init.1"]


def test_a_paused_holder_whose_lock_was_taken_over_stops_before_its_next_statement(
    killer: Killer, shop: World, tmp_path: Path
) -> None:
    shop.write({"shop/view/a.sql": "CREATE VIEW ${shop}.a AS SELECT 1 AS a;\n"})
    pid = killer.start(shop, "before intent", signal=int(signal.SIGSTOP), ttl=3)
    until(lambda: (tmp_path / "note").exists())
    shutil.copytree(shop.folder, tmp_path / "other", ignore=shutil.ignore_patterns(".sparkdeploy"))
    other = World(tmp_path / "other", shop.sessions, shop.prefix, OPTIONS)
    until(lambda: _takes_over(other))
    os.kill(pid, signal.SIGCONT)
    answer = killer.wait().answer
    assert answer["done"] == []
    assert "SD802" in answer["failed"][0][1]
    assert shop.relations_names() == {"a"}


def _takes_over(other: World) -> bool:
    try:
        return other.deploy() == ["setup.shop.a"]
    except SparkDeployError as error:
        if "SD801" not in str(error):
            raise
        return False


# The server


def test_a_server_that_is_killed_in_a_ctas_is_started_again_and_its_files_are_named(
    watched: Callable[[Path], AbstractContextManager[None]], tmp_path: Path
) -> None:
    warehouse = tmp_path / "own"
    with watched(warehouse):
        server = start(warehouse)
        shop = World(tmp_path / "repository", server.sessions, "own", OPTIONS)
        shop.write({"shop/table/orders.sql": ORDERS, "shop/table/slow.sql": slow("slow", 60)})
        cli = (sys.executable, "-m", "airflow_provider_sparkdeploy.cli")
        place = ("--repository", str(shop.folder), "--warehouse", str(warehouse))
        first = subprocess.Popen(
            [*cli, "apply", *place, "--parallel", "1"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        until(lambda: begun(shop, "slow.init"))
        until(lambda: any((warehouse / "tables" / "own_shop.db" / "slow").rglob("*.parquet*")))
        for pid in server.pids:
            os.kill(pid, signal.SIGKILL)
        said, _ = first.communicate(timeout=180)
        assert first.returncode == 1, said
        assert "cannot reach Spark" in said

        def apply(code: int) -> str:
            done = subprocess.run([*cli, "apply", *place], capture_output=True, text=True, timeout=300)
            assert done.returncode == code, done.stdout + done.stderr
            return done.stdout + done.stderr

        said = apply(1)
        assert "SD804" in said
        location = warehouse / "tables" / "own_shop.db" / "slow"
        assert f"rm -r {location}" in said
        shutil.rmtree(location)
        shop.write({"shop/table/slow.sql": slow("slow", 1)})
        assert "Done" in apply(0)
        assert "Nothing to do" in apply(0) or "nothing" in apply(0).lower()
        with start(warehouse).sessions.open() as spark:
            assert spark.sql("SELECT * FROM own_shop.orders") == [{"id": 1}]
            assert spark.sql("SELECT count(*) AS n FROM own_shop.slow") == [{"n": 2}]

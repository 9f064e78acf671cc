"""Deployments on a real catalog, from beginning to end."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from world import World, world

from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError
from airflow_provider_sparkdeploy.spark import matview
from airflow_provider_sparkdeploy.spark.session import ConnectSessions, SparkFailure

ORDERS = """\
-- //// CHANGE name=init
CREATE TABLE ${shop}.orders (id BIGINT, amount INT) USING parquet;
-- // ROLLBACK
DROP TABLE ${shop}.orders;
-- //// CHANGE name=first
INSERT INTO ${shop}.orders VALUES (1, 10), (2, 20);
-- // ROLLBACK
TRUNCATE TABLE ${shop}.orders;
"""
ADD_REGION = """\
-- //// CHANGE name=add_region
ALTER TABLE ${shop}.orders ADD COLUMNS (region STRING);
"""
REGIONS = "CREATE TABLE ${shop}.regions (code STRING COMMENT 'short', name STRING) USING parquet;\n"
CODES = "-- //// METADATA keys=code\ncode:string,label:string\na,Alpha\nb,Beta\n"
DOUBLE = "CREATE FUNCTION ${shop}.twice(x INT) RETURNS INT RETURN x * 2;\n"
LARGE = "CREATE VIEW ${shop}.large AS SELECT id, ${shop}.twice(amount) AS amount FROM ${shop}.orders WHERE amount > 10;\n"
DAILY = "CREATE MATERIALIZED VIEW ${shop}.daily AS SELECT count(*) AS n, sum(amount) AS total FROM ${shop}.large;\n"
EDGES = "-- //// METADATA keys=a,b\na:int,b:int\n1,2\n2,3\n"
REACH = """\
CREATE MATERIALIZED VIEW ${shop}.reach (a INT, b INT) AS
SELECT a, b FROM ${shop}.edges UNION SELECT r.a, e.b FROM ${shop}.hops r JOIN ${shop}.edges e ON r.b = e.a;
"""
HOPS = "CREATE MATERIALIZED VIEW ${shop}.hops (a INT, b INT) AS SELECT DISTINCT a, b FROM ${shop}.reach;\n"
EXPORT = "INSERT INTO ${shop}.exported SELECT n FROM ${shop}.daily;\n"
EXPORTED = "CREATE TABLE ${shop}.exported (n BIGINT) USING parquet;\n"
SHOP = {
    "shop/table/orders.sql": ORDERS,
    "shop/table/regions.sql": REGIONS,
    "shop/table/exported.sql": EXPORTED,
    "shop/data/codes.csv": CODES,
    "shop/function/twice.sql": DOUBLE,
    "shop/view/large.sql": LARGE,
    "shop/materialized_view/daily.sql": DAILY,
    "shop/sink/export.sql": EXPORT,
}
CYCLE = {
    "shop/data/edges.csv": EDGES,
    "shop/materialized_view/reach.sql": REACH,
    "shop/materialized_view/hops.sql": HOPS,
}
CYCLES = "allow_circular: true\npropagation: {schema: false}\n"
_numbers = itertools.count(1)


@pytest.fixture
def shop(sessions: ConnectSessions, tmp_path: Path) -> Iterator[World]:
    with world(tmp_path / "repository", sessions, f"a{os.getpid()}_{next(_numbers)}", CYCLES) as made:
        yield made


# Every action


def test_a_first_deployment_makes_everything_and_leaves_nothing_to_do(shop: World) -> None:
    shop.write(SHOP | CYCLE)
    done = shop.deploy(parallel=4)
    assert shop.pending() == []
    assert shop.rows("SELECT * FROM {shop}.large") == [(2, 40)]
    assert shop.rows("SELECT * FROM {shop}.daily") == [(1, 40)]
    assert shop.rows("SELECT * FROM {shop}.codes") == [("a", "Alpha"), ("b", "Beta")]
    assert shop.rows("SELECT * FROM {shop}.reach") == [(1, 2), (1, 3), (2, 3)]
    assert shop.rows("SELECT * FROM {shop}.hops") == [(1, 2), (1, 3), (2, 3)]
    assert shop.rows("SELECT * FROM {shop}.exported") == [(1,)]
    assert done.index("setup.shop.orders.init.1") < done.index("setup.shop.large")
    assert done.index("setup.shop.daily") < done.index("export.shop.export.1")
    assert shop.marks() == {}
    recorded = [item.entry.operation for item in shop.history() if item.entry.type == "done"]
    assert sorted(recorded) == sorted(done)


def test_every_change_is_brought_to_the_catalog(shop: World) -> None:
    shop.write(SHOP | CYCLE).deploy(parallel=4)
    shop.write(
        {
            "shop/table/orders.sql": ORDERS + ADD_REGION,
            "shop/table/regions.sql": REGIONS.replace("name STRING", "name STRING, zone INT"),
            "shop/data/codes.csv": CODES.replace("b,Beta", "c,Gamma"),
            "shop/data/edges.csv": EDGES + "3,4\n",
            "shop/function/twice.sql": DOUBLE.replace("x * 2", "x + x + 1"),
            "shop/view/large.sql": LARGE.replace("> 10", ">= 10"),
            "shop/materialized_view/daily.sql": DAILY.replace("count(*)", "count(*) + 100"),
            "shop/table/exported.sql": EXPORTED.replace("n BIGINT", "n BIGINT COMMENT 'rows'"),
        }
    )
    done = shop.deploy(parallel=4)
    assert {"setup.shop.orders.add_region.1", "setup.shop.regions.add_column.zone"} <= set(done)
    assert shop.pending() == []
    assert shop.rows("SELECT * FROM {shop}.large") == [(1, 21), (2, 41)]
    assert shop.rows("SELECT * FROM {shop}.daily") == [(102, 62)]
    assert shop.rows("SELECT code FROM {shop}.codes") == [("a",), ("c",)]
    assert (1, 4) in shop.rows("SELECT * FROM {shop}.reach")
    assert shop.rows("SELECT * FROM {shop}.regions") == []
    shop.write(
        {"shop/materialized_view/daily.sql": None, "shop/sink/export.sql": None, "shop/data/codes.csv": None}
    )
    assert {"teardown.shop.daily", "teardown.shop.codes"} <= set(shop.deploy())
    assert shop.pending() == []
    left = [row[0] for row in shop.rows(f"SHOW TABLES IN {shop.prefix}_data LIKE '*daily*'")]
    assert left == []


def test_both_redeploy_strategies_end_in_the_same_catalog(shop: World) -> None:
    shop.write(SHOP).deploy(parallel=4)
    edit = {
        "shop/view/large.sql": LARGE.replace("> 10", "> 5"),
        "shop/function/twice.sql": DOUBLE.replace("2;", "3;"),
    }
    shop.write(edit).deploy()
    replaced = shop.relations()
    shop.configure(CYCLES + "redeploy: recreate\n")
    shop.write({"shop/view/large.sql": LARGE, "shop/function/twice.sql": DOUBLE}).deploy()
    done = shop.write(edit).deploy()
    assert "teardown.shop.large" in done
    assert shop.relations() | {"exported": ""} == replaced | {"exported": ""}  # a sink is run again


def test_a_refresh_computes_views_anew_and_says_that_it_was_asked_for(shop: World) -> None:
    shop.write(SHOP).deploy(parallel=4)
    shop.sql("INSERT INTO {shop}.orders VALUES (3, 30)")
    said = shop.cli("refresh")
    assert "--force-schema" not in said
    assert shop.rows("SELECT * FROM {shop}.daily") == [(2, 100)]
    assert shop.pending() == []


def test_a_comment_in_a_header_is_set_and_taken_away(shop: World) -> None:
    plain = {"shop/view/one.sql": "CREATE VIEW ${shop}.one AS SELECT 1 AS a;\n"}
    shop.write(plain).deploy()
    shop.write(
        {"shop/view/one.sql": '-- //// METADATA comment="the one"\n' + plain["shop/view/one.sql"]}
    ).deploy()
    assert shop.pending() == []
    described = dict(shop.rows("SHOW TBLPROPERTIES {shop}.one"))
    assert described.get("comment") == "the one" or "the one" in repr(shop.relations()["one"])
    shop.write(plain).deploy()
    assert shop.pending() == []


# What fails


def test_a_failure_takes_only_its_dependents(shop: World) -> None:
    shop.write(
        {
            "shop/view/bad.sql": "CREATE VIEW ${shop}.bad AS SELECT nothing FROM ${shop}.regions;\n",
            "shop/view/on_bad.sql": "CREATE VIEW ${shop}.on_bad AS SELECT * FROM ${shop}.bad;\n",
            "shop/view/good.sql": "CREATE VIEW ${shop}.good AS SELECT * FROM ${shop}.regions;\n",
            "shop/table/regions.sql": REGIONS,
        }
    )
    outcome = shop.apply(parallel=2)
    assert [operation.id for operation, _ in outcome.report.failed] == ["setup.shop.bad"]
    assert [operation.id for operation in outcome.report.left] == ["setup.shop.on_bad"]
    assert shop.pending() == ["setup.shop.bad", "setup.shop.on_bad"]
    said = shop.cli("apply", code=1)
    assert "shop/view/bad.sql:1" in said
    assert "UNRESOLVED_COLUMN" in said
    assert "JVM" not in said
    shop.write({"shop/view/bad.sql": "CREATE VIEW ${shop}.bad AS SELECT name FROM ${shop}.regions;\n"})
    assert shop.deploy() == ["setup.shop.bad", "setup.shop.on_bad"]


def test_a_failed_teardown_stops_all_setup(shop: World) -> None:
    shop.write({"shop/view/old.sql": "CREATE VIEW ${shop}.old AS SELECT 1 AS a;\n"}).deploy()
    shop.write(
        {"shop/view/old.sql": None, "shop/view/new.sql": "CREATE VIEW ${shop}.new AS SELECT 2 AS a;\n"}
    )
    found = shop.plan()
    shop.sql("DROP VIEW {shop}.old")
    shop.sql("CREATE TABLE {shop}.old (a INT) USING parquet")  # after the plan was made
    with shop.log as log:
        from airflow_provider_sparkdeploy.core.deploylog import new_run
        from airflow_provider_sparkdeploy.spark.deployment import Deployment, make_runner
        from airflow_provider_sparkdeploy.spark.lock import Lock

        with Lock(shop.sessions, f"{shop.prefix}_log", run := new_run("apply")) as lock:
            outcome = Deployment(
                found.repository, make_runner(shop.sessions, log, lock, found.repository, run)
            ).run(found)
    assert [operation.id for operation, _ in outcome.report.failed] == ["teardown.shop.old"]
    assert [operation.id for operation in outcome.report.left] == ["setup.shop.new"]


def test_a_load_that_fails_is_not_taken_for_the_old_rows(shop: World) -> None:
    shop.write(
        {
            "shop/data/codes.csv": CODES.replace("label:string", "label:int")
            .replace("Alpha", "1")
            .replace("Beta", "2")
        }
    )
    shop.deploy()
    good = (shop.folder / "shop/data/codes.csv").read_text()
    shop.write({"shop/data/codes.csv": good.replace("b,2", "b,two")})
    assert shop.apply().report.failed
    shop.write({"shop/data/codes.csv": good})
    shop.deploy()
    assert shop.rows("SELECT * FROM {shop}.codes") == [("a", 1), ("b", 2)]
    assert shop.pending() == []


def test_a_view_that_a_change_breaks_is_reported_by_name(shop: World) -> None:
    one = "CREATE VIEW ${shop}.one AS SELECT 1 AS a;\n"
    two = "CREATE VIEW ${mart}.two AS SELECT a FROM ${shop}.one;\n"
    shop.write({"shop/view/one.sql": one, "mart/view/two.sql": two}).deploy()
    shop.write({"shop/view/one.sql": one.replace("AS a", "AS b")})
    outcome = shop.apply(select=("shop.one",))
    assert outcome.report.succeeded
    assert not outcome.succeeded
    assert [(item.code, item.object, item.file) for item in outcome.problems] == [
        ("SD830", "mart.two", "mart/view/two.sql")
    ]
    assert shop.pending() == ["setup.mart.two"]  # it was not selected, and is remembered


def test_what_a_migration_breaks_is_reported_by_name(shop: World) -> None:
    shop.write(
        {
            "shop/table/orders.sql": ORDERS,
            "shop/view/amounts.sql": "CREATE VIEW ${shop}.amounts AS SELECT amount FROM ${shop}.orders;\n",
        }
    ).deploy()
    anew = "ALTER TABLE ${shop}.orders RENAME TO ${shop}.orders_before;\nCREATE TABLE ${shop}.orders (id BIGINT) USING parquet;\n"
    shop.write({"shop/migration/anew.sql": f"-- //// CHANGE name=one\n{anew}"})
    [problem] = shop.apply().problems
    assert problem.code == "SD830"
    assert "amounts" in problem.message


def test_a_materialized_view_that_can_no_longer_be_computed_is_reported(shop: World) -> None:
    """Readers see the rows of the last refresh; the next one would fail."""
    shop.write(
        {
            "shop/table/orders.sql": ORDERS,
            "shop/view/large.sql": "-- //// METADATA replacement=true\nCREATE VIEW ${shop}.large AS SELECT id, amount FROM ${shop}.orders;\n",
        }
    )
    shop.write(
        {
            "mart/materialized_view/daily.sql": "CREATE MATERIALIZED VIEW ${mart}.daily AS SELECT sum(amount) AS total FROM ${shop}.large;\n"
        }
    ).deploy()
    shop.write(
        {
            "shop/view/large.sql": "-- //// METADATA replacement=true\nCREATE VIEW ${shop}.large AS SELECT id FROM ${shop}.orders;\n"
        }
    )
    [problem] = shop.apply().problems
    assert "mart.daily can no longer be computed" in problem.message


def test_a_lock_that_is_lost_in_the_middle_of_an_operation_stops_it(shop: World) -> None:
    """Its rows are written when somebody takes the lock: readers do not get them."""
    shop.write(
        {
            "shop/table/orders.sql": ORDERS,
            "shop/materialized_view/daily.sql": "CREATE MATERIALIZED VIEW ${shop}.daily AS SELECT count(*) AS n FROM ${shop}.orders;\n",
        }
    ).deploy()
    nap = "SELECT count(*) AS n FROM ${shop}.orders WHERE java_method('java.lang.Thread', 'sleep', 4000L) IS NOT NULL"
    shop.write({"shop/materialized_view/daily.sql": f"CREATE MATERIALIZED VIEW ${{shop}}.daily AS {nap};\n"})
    shop.sql("INSERT INTO {shop}.orders VALUES (3, 30)")
    taken = threading.Timer(3.0, lambda: shop.cli("unlock", "--yes"))
    taken.start()
    outcome = shop.apply()
    taken.join()
    assert [message for _, message in outcome.report.failed if "SD802" in message]
    assert shop.rows("SELECT * FROM {shop}.daily") == [(2,)]
    shop.deploy()
    assert shop.rows("SELECT * FROM {shop}.daily") == [(3,)]


def test_a_component_that_is_published_by_half_is_finished_by_the_next_apply(
    shop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.write(CYCLE).deploy()
    shop.write({"shop/data/edges.csv": EDGES + "3,4\n"})
    swap, calls = matview.swap, itertools.count()

    def refused(*arguments: Any, **options: Any) -> matview.Published:
        if next(calls) == 1:
            raise SparkFailure("the metastore says no")
        return swap(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(matview, "swap", refused)
        assert not shop.apply().succeeded
    shop.deploy()
    assert shop.rows("SELECT count(*) FROM {shop}.reach") == [(6,)]
    assert shop.rows("SELECT count(*) FROM {shop}.hops") == [(6,)]
    assert shop.pending() == []


def test_what_one_environment_recovers_is_not_of_another(shop: World) -> None:
    one, two = f"one: {{schemas: {{shop: {shop.schema}}}}}", f"two: {{schemas: {{shop: {shop.schema}_two}}}}"
    shop.configure(f"environments:\n  {one}\n  {two}\ndefault_environment: one\n")
    shop.write({"shop/table/regions.sql": REGIONS})
    for name in ("one", "two"):
        shop.cli("apply", "--env", name)
    (shop.folder / ".sparkdeploy" / "one.jsonl").unlink()
    assert "Recovered 1 object of 1 run" in shop.cli("recover", "--env", "one")
    assert "Nothing to do" in shop.cli("apply", "--env", "one")
    shop.sql("DROP SCHEMA {shop}_two CASCADE")


def test_a_view_that_is_not_deployed_yet_is_not_broken(shop: World) -> None:
    one = "CREATE VIEW ${shop}.one AS SELECT 1 AS a;\n"
    two = "CREATE VIEW ${mart}.two AS SELECT a FROM ${shop}.one;\n"
    shop.write({"shop/view/one.sql": one, "mart/view/two.sql": two})
    assert shop.deploy(select=("shop.one",)) == ["setup.shop.one"]
    assert shop.pending() == ["setup.mart.two"]


# The four stories


def test_somebody_altered_a_table_by_hand(shop: World) -> None:
    shop.write(SHOP).deploy(parallel=4)
    before = shop.relations()
    shop.sql("ALTER TABLE {shop}.regions ADD COLUMNS (extra INT)")
    shop.sql("ALTER TABLE {shop}.regions CHANGE COLUMN name name STRING COMMENT 'by hand'")
    shop.sql("ALTER VIEW {shop}.large AS SELECT 0 AS id, 0 AS amount")
    said = shop.cli("drift", "--detailed-exitcode", code=2)
    assert "shop.regions" in said
    assert "shop.large" in said
    assert "No drift" not in shop.cli("status")
    shop.cli("apply", "--allow-destructive")
    assert shop.pending() == []
    assert shop.relations() | {"exported": ""} == before | {"exported": ""}
    assert "No drift" in shop.cli("drift", "--detailed-exitcode")


def test_a_run_failed_halfway_and_is_resumed(shop: World) -> None:
    files = SHOP | {"shop/view/large.sql": LARGE.replace("amount > 10", "amont > 10")}
    outcome = shop.write(files).apply(parallel=4)
    assert [operation.id for operation, _ in outcome.report.failed] == ["setup.shop.large"]
    left = {operation.id for operation in outcome.report.left}
    assert left == {"setup.shop.daily", "export.shop.export.1"}
    done = shop.write(SHOP).deploy()
    assert done == ["setup.shop.large", "setup.shop.daily", "export.shop.export.1"]
    assert shop.pending() == []
    assert shop.rows("SELECT * FROM {shop}.orders") == [(1, 10), (2, 20)]
    assert shop.rows("SELECT * FROM {shop}.daily") == [(1, 40)]


def test_somebody_dropped_a_table(shop: World) -> None:
    shop.write(SHOP).deploy(parallel=4)
    before = shop.relations()
    for name in ("orders", "regions", "codes"):
        shop.sql(f"DROP TABLE {{shop}}.{name}")
    shop.sql("DROP VIEW {shop}.large")
    done = shop.deploy(parallel=4)
    assert "setup.shop.orders.first.1" in done
    assert shop.pending() == []
    assert shop.relations() | {"exported": ""} == before | {"exported": ""}


def test_teardown_ran_and_setup_did_not(shop: World) -> None:
    shop.configure(CYCLES + "redeploy: recreate\n")
    shop.write(SHOP).deploy(parallel=4)

    class Stopped(BaseException):
        pass

    def at(boundary: str, operation: str) -> None:
        if boundary == "before intent" and operation.startswith("setup."):
            raise Stopped

    shop.write({"shop/view/large.sql": LARGE.replace("> 10", ">= 10")})
    shop.at = at
    with pytest.raises(Stopped):
        shop.apply()
    shop.at = lambda boundary, operation: None
    assert "large" not in shop.relations_names()
    done = shop.deploy()
    assert not any(operation.startswith("teardown.") for operation in done)
    assert shop.pending() == []
    assert shop.rows("SELECT * FROM {shop}.large") == [(1, 20), (2, 40)]
    assert shop.rows("SELECT * FROM {shop}.daily") == [(2, 60)]


# The command line


def test_ctrl_c_ends_after_the_running_statement_and_apply_goes_on(shop: World) -> None:
    slow = "-- //// CHANGE name=slow\nINSERT INTO ${shop}.orders SELECT 3, 30 WHERE java_method('java.lang.Thread', 'sleep', 3000L) IS NOT NULL;\n"
    shop.write(SHOP | {"shop/table/orders.sql": ORDERS + slow})
    process = subprocess.Popen(
        shop.command("apply", "--parallel", "1"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    _until(lambda: "orders.slow" in _tail(shop))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, out + err
    assert "Stopping after the running statements" in err
    assert "orders.slow" in out
    assert shop.rows("SELECT * FROM {shop}.orders") == [(1, 10), (2, 20), (3, 30)]
    shop.deploy(parallel=4)
    assert shop.pending() == []
    assert shop.rows("SELECT * FROM {shop}.orders") == [(1, 10), (2, 20), (3, 30)]


def test_a_second_ctrl_c_stops_the_statement_too(shop: World) -> None:
    slow = "CREATE TABLE ${shop}.slow USING parquet AS SELECT java_method('java.lang.Thread', 'sleep', 900000L) AS a"
    shop.write({"shop/table/slow.sql": f"-- //// CHANGE name=init\n{slow};\n"})
    process = subprocess.Popen(
        shop.command("apply"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    _until(lambda: "slow" in _tail(shop))
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert any("Ctrl-C again" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)  # the statement alone takes longer
    assert process.returncode == 1, out + err
    shop.write(
        {
            "shop/table/slow.sql": "-- //// CHANGE name=init\nCREATE TABLE ${shop}.slow (a INT) USING parquet;\n"
        }
    )
    shop.deploy()
    assert shop.rows("SELECT * FROM {shop}.slow") == []


def test_a_lost_log_is_recovered_from_the_catalog(shop: World) -> None:
    shop.write(SHOP).deploy(parallel=4)
    shop.write(
        {
            "shop/table/orders.sql": ORDERS + ADD_REGION,
            "shop/view/large.sql": None,
            "shop/materialized_view/daily.sql": None,
            "shop/sink/export.sql": None,
        }
    ).deploy()
    state = shop.content().state
    shop.log.path.unlink()
    said = shop.cli("recover")
    assert "Recovered" in said
    assert shop.content().state == state
    assert shop.pending() == []
    assert "Nothing to do" in shop.cli("apply")
    assert "kept as" in shop.cli("recover")


@pytest.mark.parametrize("how", ["DROP SCHEMA {log} CASCADE", "TRUNCATE TABLE {log}.deploy_log"])
def test_a_lost_history_is_written_again_by_the_next_apply(how: str, shop: World) -> None:
    shop.write({"shop/table/orders.sql": ORDERS}).deploy()
    before = [item.entry for item in shop.history()]
    shop.sql(how.replace("{log}", f"{shop.prefix}_log"))
    assert shop.history() == []
    assert shop.deploy() == []
    assert [item.entry for item in shop.history()][: len(before)] == before
    shop.log.path.unlink()
    shop.cli("recover")
    assert shop.pending() == []


def test_recover_without_a_history_says_what_to_do(shop: World) -> None:
    shop.write({"shop/table/regions.sql": REGIONS})
    assert "baseline" in shop.cli("recover", code=1)


def test_rollback_goes_back_with_the_texts_that_the_log_kept(shop: World) -> None:
    shop.write({"shop/table/orders.sql": ORDERS}).deploy()
    init = ORDERS.split("-- //// CHANGE name=first")[0]
    shop.write({"shop/table/orders.sql": init})
    with pytest.raises(SparkDeployError):
        shop.apply()
    shop.cli("rollback", "--yes")
    assert shop.rows("SELECT * FROM {shop}.orders") == []
    assert shop.pending() == []


def test_unlock_and_status_name_the_holder(shop: World) -> None:
    from airflow_provider_sparkdeploy.spark.lock import Lock

    shop.write({"shop/table/regions.sql": REGIONS})
    assert "The lock is free" in shop.cli("unlock")
    with Lock(shop.sessions, f"{shop.prefix}_log", "other-run") as lock:
        lock.acquire()
        assert "run other-run of" in shop.cli("status")
        assert "SD801" in shop.cli("apply", code=1)
        assert "run other-run of" in shop.cli("unlock", "--yes")
        shop.cli("apply")
        with shop.sessions.open() as spark, pytest.raises(SparkDeployError, match="SD802"):
            lock.check(spark)


def test_what_loses_data_is_refused_where_nobody_can_be_asked(shop: World) -> None:
    shop.write({"shop/table/regions.sql": REGIONS}).deploy()
    shop.write({"shop/table/regions.sql": REGIONS.replace("name STRING", "name INT")})
    assert "SD805" in shop.cli("apply", code=1)
    shop.cli("apply", "--allow-destructive")
    assert shop.pending() == []


def test_an_address_with_a_token_is_never_shown(shop: World) -> None:
    shop.write({"shop/table/regions.sql": REGIONS})
    command = [*shop.command("apply")[:-1], "sc://127.0.0.1:1/;token=s3cret"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "s3cret" not in done.stdout + done.stderr + (
        shop.log.path.read_text() if shop.log.path.exists() else ""
    )


def _tail(shop: World) -> str:
    """The last line of the log."""
    return (
        shop.log.path.read_text().splitlines()[-1]
        if shop.log.path.exists() and shop.log.path.stat().st_size
        else ""
    )


def _until(seen: object, seconds: float = 90) -> None:
    assert callable(seen)
    until = time.monotonic() + seconds
    while not seen():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.05)

"""How fast a fixpoint is: ours, beside naive evaluation and beside a loop written by hand.

    python benchmarks/fixpoint.py [--levels 50] [--chains 2000] [--runs 1] [--remote sc://host:port]

A transitive closure over chains, as long as there are levels. All three start from the same
table, end with a table that holds the closure, and are checked against its size:

- ours: ``run_fixpoint``, with its final full pass, its data table and its view;
- naive: the same query over the last contents, until a pass adds nothing, as tables in SQL;
- by hand: a semi-naive loop in PySpark's DataFrame API that cuts the lineage of each pass by
  ``localCheckpoint``, as one who knows Spark would write it.

They are measured in one run, one after the other in each round, on a server that has done the same on a
few rows before, so the ratios can be compared even where the times cannot. A missed target is shown, never an error.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from airflow_provider_sparkdeploy.core.names import ObjectName
from airflow_provider_sparkdeploy.core.objects import Column
from airflow_provider_sparkdeploy.spark.fixpoint import Member, run_fixpoint
from airflow_provider_sparkdeploy.spark.local import start, stop
from airflow_provider_sparkdeploy.spark.session import ConnectSessions, Spark

_FASTER_THAN_NAIVE = 3.0
_SLOWER_THAN_HAND = 1.5
_SCHEMA = "fixpoint_bench"
_DATA = "fixpoint_bench_data"
_QUERY = "SELECT a, b FROM edge UNION SELECT c.a, e.b FROM closure c JOIN edge e ON c.b = e.a"
_COLUMNS = (Column("a", "bigint"), Column("b", "bigint"))


def ours(spark: Spark, levels: int) -> None:
    member = Member(ObjectName(_SCHEMA, "closure"), (_SCHEMA, "closure"), _QUERY, _COLUMNS, "benchmark")
    attempt = f"{datetime.now(UTC):%Y%m%d%H%M%S}_{os.urandom(3).hex()}"
    result = run_fixpoint(
        spark, [member], data_schema=_DATA, max_iterations=levels + 1, attempt=attempt, retention=0
    )
    assert (result.iterations, result.late) == (levels + 1, 0), result


def naive(spark: Spark, levels: int) -> None:
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW contents AS SELECT a, b FROM edge WHERE false")
    passes, old = 0, "contents"
    while True:
        passes += 1
        new = f"naive_{passes}"
        spark.sql(f"CREATE TABLE {new} USING parquet AS {_QUERY.replace('closure', old)}")
        added = spark.sql(f"SELECT count(*) AS n FROM (SELECT * FROM {new} EXCEPT SELECT * FROM {old})")
        if old != "contents":
            spark.sql(f"DROP TABLE {old}")
        old = new
        if added[0]["n"] == 0:
            break
    assert passes == levels + 1, passes
    spark.sql("DROP TABLE IF EXISTS closure_naive")
    spark.sql(f"ALTER TABLE {old} RENAME TO closure_naive")


def by_hand(url: str, levels: int) -> None:
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    spark = SparkSession.builder.remote(url).create()
    spark.sql(f"USE {_SCHEMA}")
    edge = spark.table("edge").select("a", "b")
    step = edge.withColumnsRenamed({"a": "via", "b": "to"})
    delta = edge.distinct().localCheckpoint()
    total, passes = delta, 1
    while True:
        passes += 1
        found = delta.join(step, f.col("b") == f.col("via")).select("a", f.col("to").alias("b"))
        delta = found.subtract(total).localCheckpoint()
        if delta.isEmpty():
            break
        total = total.union(delta)
        if passes % 10 == 0:  # else each pass plans all that came before it
            total = total.localCheckpoint()
    assert passes == levels + 1, passes
    total.write.mode("overwrite").format("parquet").saveAsTable("closure_by_hand")
    spark.stop()


def measure(url: str, levels: int, chains: int, runs: int) -> dict[str, float]:
    """The best time of each, in seconds."""
    best: dict[str, float] = {}
    with ConnectSessions(url).open() as spark:
        for schema in (_SCHEMA, _DATA):
            spark.sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
            spark.sql(f"CREATE SCHEMA {schema}")
        spark.sql(f"USE {_SCHEMA}")
        spark.sql(
            "CREATE TABLE edge USING parquet AS SELECT chain.id * 100000 + node.id AS a, "
            f"chain.id * 100000 + node.id + 1 AS b FROM range({chains}) chain, range({levels}) node"
        )
        contestants: dict[str, tuple[str, Callable[[], None]]] = {
            "ours": ("closure", lambda: ours(spark, levels)),
            "by hand": ("closure_by_hand", lambda: by_hand(url, levels)),
            "naive": ("closure_naive", lambda: naive(spark, levels)),
        }
        expected = chains * levels * (levels + 1) // 2
        for _ in range(runs):
            for name, (table, run) in contestants.items():
                begin = time.perf_counter()
                run()
                seconds = time.perf_counter() - begin
                best[name] = min(best.get(name, seconds), seconds)
                spark.sql(f"REFRESH TABLE {_SCHEMA}.{table}")  # another session may have written it
                [row] = spark.sql(f"SELECT count(*) AS n FROM (SELECT DISTINCT * FROM {_SCHEMA}.{table})")
                assert row["n"] == expected, (name, row["n"], expected)
                print(f"{chains} chains: {name:8} {seconds:7.1f} s", file=sys.stderr, flush=True)
        for schema in (_SCHEMA, _DATA):
            spark.sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
    return best


def report(best: dict[str, float], levels: int, chains: int) -> str:
    faster = best["naive"] / best["ours"]
    slower = best["ours"] / best["by hand"]
    lines = [f"transitive closure, {levels} levels, {chains * levels * (levels + 1) // 2:,} rows"]
    lines += [f"  {name:8} {seconds:7.1f} s" for name, seconds in best.items()]
    lines += [
        f"  {faster:.1f}x faster than naive (target: at least {_FASTER_THAN_NAIVE:g}x)"
        f"{'' if faster >= _FASTER_THAN_NAIVE else '  MISSED'}",
        f"  {slower:.2f}x the time of the loop by hand (target: at most {_SLOWER_THAN_HAND:g}x)"
        f"{'' if slower <= _SLOWER_THAN_HAND else '  MISSED'}",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--levels", type=int, default=50)
    parser.add_argument("--chains", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument(
        "--remote", default="", help="a Connect server; without one, an embedded one is started"
    )
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the server is stopped
    with tempfile.TemporaryDirectory() as folder:
        warehouse = Path(folder) / "warehouse"
        url = given.remote or start(warehouse).address
        try:
            measure(url, 10, 10, 1)  # Spark compiles at the first use
            best = measure(url, given.levels, given.chains, given.runs)
        finally:
            if not given.remote:
                stop(warehouse)
    print(report(best, given.levels, given.chains))


if __name__ == "__main__":
    main()

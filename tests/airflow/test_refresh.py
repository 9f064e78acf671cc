"""Materialized views refreshed on their schedules, in a real Airflow."""

from __future__ import annotations

import urllib.parse
from typing import Any

import pytest
from deployments import Deployed

from airflow_provider_sparkdeploy.spark import history
from airflow_provider_sparkdeploy.spark.lock import read_lock
from airflow_provider_sparkdeploy.spark.matview import data_table_of, describe

pytestmark = pytest.mark.timeout(1200)  # a real Airflow on a machine that others use, too
EDGES = """\
-- //// CHANGE name=init
CREATE TABLE ${app}.edges (x INT, y INT) USING parquet;
-- //// CHANGE name=rows
INSERT INTO ${app}.edges VALUES (1, 2), (2, 3);
"""
FILES = {
    "app/table/edges.sql": EDGES,
    "app/materialized_view/base.sql": '-- //// METADATA schedule="* * * * *"\n'
    "CREATE MATERIALIZED VIEW ${app}.base AS SELECT DISTINCT x, y FROM ${app}.edges;\n",
    "app/materialized_view/reach.sql": '-- //// METADATA schedule="0 2 1 1 *"\n'
    "CREATE MATERIALIZED VIEW ${app}.reach (x INT, y INT) AS\n"
    "SELECT x, y FROM ${app}.base UNION SELECT x, y FROM ${app}.hop;\n",
    "app/materialized_view/hop.sql": '-- //// METADATA schedule="* * * * *"\n'
    "CREATE MATERIALIZED VIEW ${app}.hop (x INT, y INT) AS\n"
    "SELECT DISTINCT b.x, r.y FROM ${app}.base b JOIN ${app}.reach r ON r.x = b.y;\n",
    "app/materialized_view/total.sql": '-- //// METADATA schedule="* * * * *"\n'
    "CREATE MATERIALIZED VIEW ${app}.total AS SELECT count(*) AS n FROM ${app}.reach;\n",
    "app/materialized_view/yearly.sql": '-- //// METADATA schedule="0 2 1 1 *"\n'
    "CREATE MATERIALIZED VIEW ${app}.yearly AS SELECT count(*) AS n FROM ${app}.base;\n",
    "app/materialized_view/never.sql": "CREATE MATERIALIZED VIEW ${app}.never AS SELECT count(*) AS n FROM ${app}.base;\n",
}
BASE, CYCLE, TOTAL = "setup.app.base", "setup.app.hop.fixpoint", "setup.app.total"
YEARLY, NEVER = "setup.app.yearly", "setup.app.never"
UNITS = {BASE, CYCLE, TOTAL, YEARLY, NEVER}


class Refreshing:
    """The refresh DAG of a deployed repository. Nobody runs it by the clock here."""

    def __init__(self, deployed: Deployed, **arguments: Any) -> None:
        self.deployed, self.airflow, self.dag_id = deployed, deployed.airflow, f"refresh_{deployed.name}"
        given = {"repository": str(deployed.folder), "schedule": None, "retries": 0, **arguments}
        listed = ", ".join(f"{key}={value!r}" for key, value in given.items())
        self.airflow.write_dag(
            self.dag_id,
            f"from airflow_provider_sparkdeploy import SparkRefreshDag\n\nSparkRefreshDag({self.dag_id!r}, {listed})\n",
        )

    def __enter__(self) -> Refreshing:
        self.airflow.parsed(self.dag_id)
        return self

    def __exit__(self, *_: object) -> None:
        (self.airflow.dags / f"{self.dag_id}.py").unlink()

    def run(self, ends: str = "success", **conf: Any) -> dict[str, str | None]:
        run = self.airflow.trigger(self.dag_id, **conf)
        assert self.airflow.ended(self.dag_id, run) == ends, self.airflow.why(self.dag_id, run)
        self.last = run
        return {name: state for name, state in self.airflow.states(self.dag_id, run).items() if "." in name}

    def parsed_at(self) -> str:
        return str(self.airflow.api("GET", f"dags/{self.dag_id}")["last_parsed_time"])

    def age(self, *views: str) -> None:
        """As if they had been computed a year and a half ago."""
        side = f"data_{self.deployed.name}"
        for view in views:
            with self.deployed.sessions.open() as spark:
                text = (describe(spark, f"{self.deployed.schema}.{view}") or {})["View Text"]
            table = (data_table_of(text) or ("",))[-1]
            stem, _, end = table.rsplit("_", 2)
            old = f"{stem}_20250101000000_{end}"
            self.deployed.sql(f"ALTER TABLE {side}.{table} RENAME TO {side}.{old}")
            self.deployed.sql(f"ALTER VIEW {{app}}.{view} AS SELECT * FROM spark_catalog.{side}.{old}")


def test_what_is_due_is_refreshed_in_order_and_nothing_else(deployed: Deployed) -> None:
    deployed.set(allow_circular=True)
    deployed.write(FILES)
    deployed.add_dag()
    deployed.deploy()
    assert deployed.sql("SELECT n FROM {app}.total") == [(3,)]
    deployed.sql("INSERT INTO {app}.edges VALUES (3, 4)")
    with Refreshing(deployed) as refreshing:
        assert refreshing.airflow.parsed(refreshing.dag_id) == {"plan", "record", *UNITS}
        refreshing.age("base", "hop", "total", "never")  # `reach` is young: the oldest member decides

        states = refreshing.run()
        assert states == {
            BASE: "success",
            CYCLE: "success",
            TOTAL: "success",
            YEARLY: "skipped",
            NEVER: "skipped",
        }
        assert deployed.sql("SELECT n FROM {app}.total") == [(6,)]  # each after what it reads
        assert deployed.sql("SELECT n FROM {app}.yearly") == [(2,)]
        assert deployed.left() == []  # and the history knows

        states = refreshing.run(select=["yearly", "never"])
        assert states == {
            BASE: "skipped",
            CYCLE: "skipped",
            TOTAL: "skipped",
            YEARLY: "success",
            NEVER: "success",
        }
        assert deployed.sql("SELECT n FROM {app}.yearly") == [(3,)]

        states = refreshing.run(refresh_all=True)
        assert set(states.values()) == {"success"}
        quoted = urllib.parse.quote(refreshing.last)
        events = refreshing.airflow.api(
            "GET", f"assets/events?source_dag_id={refreshing.dag_id}&source_run_id={quoted}"
        )["asset_events"]
        views = ("base", "hop", "never", "reach", "total", "yearly")
        assert sorted(item["uri"] for item in events) == [
            f"sparkdeploy://default/app/{view}" for view in views
        ]
    with deployed.sessions.open() as spark:
        holder = read_lock(spark, f"log_{deployed.name}")
        entries = [item.entry for item in history.read(spark, f"log_{deployed.name}", "default")]
    assert {entry.detail.get("kind") for entry in entries if entry.run.startswith("refresh_")} == {
        "refresh",
        None,
    }
    assert holder is not None
    assert holder.released
    refreshed = [entry for entry in entries if entry.type == "done" and entry.run.startswith("refresh_")]
    assert [entry.operation for entry in refreshed[:3]] == [BASE, CYCLE, TOTAL]
    assert refreshed[1].detail["iterations"] > 1
    deployed.assert_settled()


def test_a_failure_stops_only_what_reads_it(deployed: Deployed) -> None:
    deployed.set(allow_circular=True)
    deployed.write(
        {
            "app/table/numbers.sql": "-- //// CHANGE name=init\nCREATE TABLE ${app}.numbers AS SELECT '1' AS n;\n",
            "app/materialized_view/first.sql": "CREATE MATERIALIZED VIEW ${app}.first AS SELECT CAST(n AS INT) AS n FROM ${app}.numbers;\n",
            "app/view/middle.sql": "CREATE VIEW ${app}.middle AS SELECT * FROM ${app}.first;\n",
            "app/materialized_view/second.sql": "CREATE MATERIALIZED VIEW ${app}.second AS SELECT * FROM ${app}.middle;\n",
            "app/materialized_view/other.sql": "CREATE MATERIALIZED VIEW ${app}.other AS SELECT 1 AS one;\n",
            "app/materialized_view/typo.sql": "-- //// METADATA schedule=dayly\nCREATE MATERIALIZED VIEW ${app}.typo AS SELECT 2 AS two;\n",
        }
    )
    deployed.add_dag()
    deployed.deploy()
    deployed.sql("INSERT INTO {app}.numbers VALUES ('not a number')")
    with Refreshing(deployed) as refreshing:
        states = refreshing.run("failed", refresh_all=True)
        assert states == {
            "setup.app.first": "failed",
            "setup.app.second": "upstream_failed",
            "setup.app.other": "success",
            "setup.app.typo": "failed",
        }
        airflow, run = refreshing.airflow, refreshing.last
        assert "typo.sql:2: the schedule of app.typo" in airflow.log(refreshing.dag_id, run, "setup.app.typo")
        assert "setup.app.second: its task is upstream_failed" in airflow.log(
            refreshing.dag_id, run, "record"
        )
        assert deployed.sql("SELECT * FROM {app}.second") == [(1,)]  # what readers had before
        deployed.sql("INSERT OVERWRITE {app}.numbers VALUES ('7')")
        deployed.write(
            {"app/materialized_view/typo.sql": "CREATE MATERIALIZED VIEW ${app}.typo AS SELECT 2 AS two;\n"}
        )
        states = refreshing.run(select=["first+"])
        assert states["setup.app.second"] == "success"
        assert deployed.sql("SELECT * FROM {app}.second") == [(7,)]


def test_by_default_it_looks_whenever_a_schedule_comes_round(deployed: Deployed) -> None:
    deployed.set(allow_circular=True)
    deployed.write(FILES)
    with Refreshing(deployed, schedule="views") as refreshing:
        shown = refreshing.airflow.api("GET", f"dags/{refreshing.dag_id}")
        assert "* * * * *" in shown["timetable_summary"]


NAP = "java_method('java.lang.Thread', 'sleep', 20000L)"
FIRST, SECOND, OTHER = "setup.app.first", "setup.app.second", "setup.app.other"
EVERY_MINUTE = '-- //// METADATA schedule="* * * * *"\n'
CHAIN = {
    f"app/materialized_view/{name}.sql": f"{EVERY_MINUTE}CREATE MATERIALIZED VIEW ${{app}}.{name} AS SELECT {query};\n"
    for name, query in (("first", f"{NAP} AS nap"), ("second", "* FROM ${app}.first"), ("other", "1 AS one"))
}


def _failed(runs: list[dict[str, Any]]) -> list[str]:
    return [run["dag_run_id"] for run in runs if run["state"] == "failed"]


def test_broken_files_take_nothing_from_a_run_and_do_not_end_the_schedule(deployed: Deployed) -> None:
    deployed.write(CHAIN)
    deployed.add_dag()
    deployed.deploy()
    first, second = (f"app/materialized_view/{name}.sql" for name in ("first", "second"))
    with Refreshing(deployed, schedule="views") as refreshing:
        airflow, dag_id = refreshing.airflow, refreshing.dag_id
        refreshing.age("first", "second", "other")
        airflow.api("PATCH", f"dags/{dag_id}", {"is_paused": False})
        run = str(airflow.until(lambda: airflow.runs(dag_id), "a run is created")[0]["dag_run_id"])
        airflow.until(lambda: airflow.states(dag_id, run).get(FIRST) == "running", "a view is computed")

        # One file is edited and broken, one is deleted, and one is new; Airflow parses it all in the middle.
        new = {"app/materialized_view/new.sql": CHAIN[second].replace("second", "new")}
        deployed.write({first: CHAIN[first].replace("AS nap", "AS ${nothing}"), second: None, **new})
        parses = {refreshing.parsed_at()}
        airflow.until(lambda: len(parses.add(refreshing.parsed_at()) or parses) > 2, "it is parsed again")
        assert airflow.states(dag_id, run)[FIRST] == "running", "the nap was too short for this machine"

        assert airflow.ended(dag_id, run) == "success", airflow.why(dag_id, run)
        states = airflow.states(dag_id, run)
        assert states == dict.fromkeys(("plan", FIRST, SECOND, OTHER, "record"), "success")

        # The next run comes by the schedule that is known. What is deployed as its file says is refreshed.
        # (On a slow machine there may be one before it in which nothing is due.)
        after = str(airflow.until(lambda: _failed(airflow.runs(dag_id)), "a run tells of the files")[0])
        airflow.api("PATCH", f"dags/{dag_id}", {"is_paused": True})
        states = airflow.states(dag_id, after)
        # Computed sooner than the one that naps, or later, each may not be due again.
        assert states.pop(OTHER) in ("success", "skipped")
        assert states.pop(SECOND) in ("upstream_failed", "skipped")
        assert states == {"plan": "success", FIRST: "failed", "record": "failed"}
        told = airflow.log(dag_id, after, FIRST)
        assert "SD506" in told
        assert "app/materialized_view/first.sql" in told

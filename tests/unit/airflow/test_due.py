"""What can be refreshed, in which order, and what of it is due."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import sketch

from airflow_provider_sparkdeploy.airflow.due import Unit, is_due, units_of
from airflow_provider_sparkdeploy.airflow.freshness import began_at
from airflow_provider_sparkdeploy.airflow.refresh_plan_task import _only
from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError
from airflow_provider_sparkdeploy.core.names import ObjectName
from airflow_provider_sparkdeploy.core.refresh import make_refresh
from airflow_provider_sparkdeploy.core.repository import open_repository
from airflow_provider_sparkdeploy.spark.matview import data_table, qualified

FILES = {
    "sparkdeploy.yaml": "allow_circular: true\n",
    "a/table/edges.sql": "CREATE TABLE ${a}.edges (x INT, y INT) USING parquet;\n",
    "a/materialized_view/base.sql": '-- //// METADATA schedule="0 * * * *"\nCREATE MATERIALIZED VIEW ${a}.base AS SELECT DISTINCT x, y FROM ${a}.edges;\n',
    "a/view/middle.sql": "CREATE VIEW ${a}.middle AS SELECT * FROM ${a}.base;\n",
    "a/materialized_view/one.sql": '-- //// METADATA schedule="0 2 * * *"\nCREATE MATERIALIZED VIEW ${a}.one (x INT, y INT) AS SELECT x, y FROM ${a}.middle UNION SELECT x, y FROM ${a}.two;\n',
    "a/materialized_view/two.sql": '-- //// METADATA schedule="*/30 * * * *"\nCREATE MATERIALIZED VIEW ${a}.two (x INT, y INT) AS SELECT DISTINCT e.x, o.y FROM ${a}.edges e JOIN ${a}.one o ON o.x = e.y;\n',
    "b/materialized_view/last.sql": "CREATE MATERIALIZED VIEW ${b}.last AS SELECT count(*) AS n FROM ${a}.two;\n",
    "b/materialized_view/apart.sql": "-- //// METADATA schedule=@daily\nCREATE MATERIALIZED VIEW ${b}.apart AS SELECT 1 AS n;\n",
}
ONE, TWO = ObjectName("a", "one"), ObjectName("a", "two")


def _write(folder: Path, **more: str) -> Path:
    for path, text in {**FILES, **more}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def test_a_cycle_is_one_unit_and_order_goes_through_other_objects(tmp_path: Path) -> None:
    units = {unit.id: unit for unit in units_of(open_repository(_write(tmp_path)))}
    assert set(units) == {"setup.a.base", "setup.a.one.fixpoint", "setup.b.last", "setup.b.apart"}
    cycle = units["setup.a.one.fixpoint"]
    assert cycle.members == (ONE, TWO)
    assert cycle.after == ("setup.a.base",)  # by way of the view
    assert cycle.schedules == ("*/30 * * * *", "0 2 * * *")
    assert units["setup.b.last"].after == ("setup.a.one.fixpoint",)
    assert units["setup.b.last"].schedules == ()
    assert units["setup.b.apart"] == Unit(
        "setup.b.apart", (ObjectName("b", "apart"),), schedules=("0 0 * * *",)
    )
    assert list(units).index("setup.a.base") < list(units).index("setup.a.one.fixpoint")


def test_errors_of_the_files_are_raised(tmp_path: Path) -> None:
    with pytest.raises(SparkDeployError, match="SD311"):
        units_of(open_repository(_write(tmp_path, **{"sparkdeploy.yaml": "{}"})))


@pytest.mark.parametrize(
    ("schedule", "told"), [("dayly", "is not a cron expression"), ('"0 0 30 2 *"', "never comes round")]
)
def test_a_schedule_that_is_none_is_told_with_its_place(tmp_path: Path, schedule: str, told: str) -> None:
    """It would stop all refreshes: nobody can say when the 30th of February is."""
    text = FILES["b/materialized_view/apart.sql"].replace("@daily", schedule)
    units = units_of(open_repository(_write(tmp_path, **{"b/materialized_view/apart.sql": text})))
    [found] = [unit for unit in units if unit.problems]
    assert found.schedules == ()
    assert f"b/materialized_view/apart.sql:2: the schedule of b.apart {told}" in found.problems[0]


@pytest.mark.parametrize(
    ("one", "two", "now", "due"),
    [
        ("2026-01-05 09:00:06", "2026-01-05 09:00:06", "2026-01-05 09:29:59", False),
        ("2026-01-05 09:00:06", "2026-01-05 09:00:06", "2026-01-05 09:30:00", True),  # the shortest
        ("2026-01-05 09:30:06", "2026-01-05 09:00:06", "2026-01-05 09:31:00", True),  # the oldest
        ("2026-01-05 09:30:00", "2026-01-05 09:30:00", "2026-01-05 09:30:00", False),
    ],
)
def test_due_is_what_the_shortest_schedule_says_of_the_oldest_member(
    one: str, two: str, now: str, due: bool
) -> None:
    unit = Unit("u", (ONE, TWO), schedules=("*/30 * * * *", "0 2 * * *"))
    refreshed = {ONE: _at(one), TWO: _at(two)}
    assert is_due(unit, refreshed, _at(now), UTC) is due


def test_without_a_schedule_never_and_without_a_moment_always() -> None:
    assert not is_due(Unit("u", (ONE,)), {}, _at("2026-01-05 09:30:00"), UTC)
    assert is_due(Unit("u", (ONE,), schedules=("0 2 * * *",)), {}, _at("2026-01-05 09:30:00"), UTC)


def test_schedules_are_meant_in_a_time_zone() -> None:
    unit = Unit("u", (ONE,), schedules=("0 2 * * *",))
    last, now = {ONE: _at("2026-07-05 00:00:06")}, _at("2026-07-06 00:30:00")  # 02:30 in Vienna
    assert is_due(unit, last, now, ZoneInfo("Europe/Vienna"))
    assert not is_due(unit, {ONE: _at("2026-07-05 02:00:06")}, now, UTC)


def test_the_text_of_a_view_tells_when_its_attempt_began() -> None:
    table = data_table(("a", "one"), "20260105093000_1a2b3c")
    assert began_at(f"SELECT * FROM {qualified('side', table)}") == _at("2026-01-05 09:30:00")
    assert began_at("SELECT 1") is None
    assert began_at("") is None


def test_a_repository_that_was_read_before_is_not_parsed_again(tmp_path: Path) -> None:
    folder = _write(tmp_path / "repository")
    program = (
        "import sys; from pathlib import Path\n"
        "from airflow_provider_sparkdeploy.airflow.due import units_of\n"
        "from airflow_provider_sparkdeploy.core.repository import open_repository\n"
        f"assert len(units_of(open_repository(Path({str(folder)!r})))) == 4\n"
        "print(sorted({'sqlglot', 'networkx', 'pyspark'} & set(sys.modules)))\n"
    )
    told = [subprocess.check_output([sys.executable, "-c", program], text=True).strip() for _ in range(2)]
    assert "sqlglot" in told[0]
    assert told[1] == "[]"


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize("name", ["base", "one"])
def test_the_indexes_of_a_view_are_made_anew_behind_it(tmp_path: Path, name: str) -> None:
    """Also behind a member of a cycle. What is left to deploy afterwards is nothing."""
    path = f"a/materialized_view/{name}.sql"
    index = f"-- //// INDEX name=by_x\nCREATE INDEX by_x ON ${{a}}.{name} (x);\n"
    repository = open_repository(_write(tmp_path, **{path: FILES[path] + index}))
    state = sketch.deploy(repository)
    units = units_of(repository)
    planned = _only(make_refresh(repository, state, catalog=sketch.observed(state)), units)
    after = sketch.run(planned.plan, state)
    assert sketch.ids(sketch.plan(repository, after, catalog=sketch.observed(after))) == []
    assert {item.id for item in planned.plan.operations} == {item.id for item in units}
    [unit] = [item for item in units if item.index]
    assert ObjectName("a", name) in unit.members
    assert unit.schedules

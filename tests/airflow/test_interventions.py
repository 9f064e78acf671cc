"""What people do to runs in Airflow's UI: clear, mark, answer late. Never green without the work done,
never done twice, never approved by an answer to another question."""

from __future__ import annotations

import urllib.parse

from deployments import FILES, ORDERS, REPORT, TOTALS, Deployed, slow

DROPPED = {
    "app/table/orders.sql": "//// METADATA DROP_TABLE\n" + ORDERS,
    "app/view/totals.sql": None,
    "app/view/report.sql": None,
}


def _asks(deployed: Deployed) -> str:
    """A run that waits for a decision about a DROP TABLE."""
    deployed.write(FILES)
    deployed.add_dag(on_stale="fail")
    deployed.deploy()
    deployed.write(DROPPED)
    deployed.airflow.parsed(deployed.dag_id, lambda tasks: "approve" in tasks)
    run = deployed.trigger()
    deployed.running(run, "approve", "awaiting_input")
    return run


def test_a_cleared_run_deploys_again_what_somebody_dropped(deployed: Deployed) -> None:
    """Its tasks remember that they were done. The catalog says otherwise, and reality wins."""
    deployed.write(FILES)
    deployed.add_dag(render="all")
    run = deployed.deploy()
    deployed.sql("DROP VIEW {app}.report")
    deployed.sql("DROP TABLE {app}.orders")
    deployed.airflow.clear(deployed.dag_id, run)
    assert deployed.ended(run) == "success", deployed.airflow.why(deployed.dag_id, run)
    assert deployed.sql("SELECT * FROM {app}.report") == [(60,)]
    assert deployed.sql("SELECT count(*) FROM {app}.orders") == [(2,)]
    assert deployed.left() == []


def test_clearing_plan_alone_plans_nothing_that_nobody_would_do(deployed: Deployed) -> None:
    """The run stays as green as it was, because Airflow judges it by ``record``; ``plan`` is red, and says
    why."""
    deployed.write(FILES)
    deployed.add_dag(render="all")
    run = deployed.deploy()
    deployed.sql("DROP VIEW {app}.report")
    deployed.airflow.clear(deployed.dag_id, run, ["plan"])
    deployed.ended(run)
    assert deployed.airflow.states(deployed.dag_id, run)["plan"] == "failed"
    assert "clear plan with all that comes after it" in deployed.log(run, "plan", 2)
    assert deployed.holder() == ""
    deployed.airflow.clear(deployed.dag_id, run)
    assert deployed.ended(run) == "success", deployed.airflow.why(deployed.dag_id, run)
    assert deployed.sql("SELECT * FROM {app}.report") == [(60,)]


def test_a_run_that_was_marked_as_failed_is_recorded_by_the_next_one(deployed: Deployed) -> None:
    """Airflow ends ``record`` with it. What was done is done, what was sent is stopped or found."""
    deployed.write({**FILES, "app/table/nap.sql": slow("nap", 30)})
    deployed.add_dag()
    run = deployed.trigger()
    deployed.running(run, "setup.app.orders.rows.1", "success")
    deployed.begun(run, "setup.app.nap.init.1")
    path = f"dags/{deployed.dag_id}/dagRuns/{urllib.parse.quote(run)}"
    deployed.airflow.api("PATCH", path, {"state": "failed"})
    assert deployed.ended(run) == "failed"

    again = deployed.trigger()
    assert deployed.ended(again) == "success", deployed.airflow.why(deployed.dag_id, again)
    assert "ended before it was recorded" in deployed.log(again, "plan")
    assert deployed.sql("SELECT count(*) FROM {app}.orders") == [(2,)]
    assert deployed.sql("SELECT count(*) FROM {app}.nap") == [(1,)]
    deployed.assert_settled()


def test_a_run_whose_record_was_marked_as_done_is_recorded_by_the_next_one(deployed: Deployed) -> None:
    """It never ran, so it has recorded nothing, and the lock is as the operations left it."""
    deployed.write({**FILES, "app/table/nap.sql": slow("nap", 10)})
    deployed.add_dag()
    run = deployed.trigger()
    deployed.begun(run, "setup.app.nap.init.1")
    deployed.airflow.mark(deployed.dag_id, run, "record", "success")
    assert deployed.ended(run) == "success"
    assert deployed.holder() != ""

    again = deployed.trigger()
    assert deployed.ended(again) == "success", deployed.airflow.why(deployed.dag_id, again)
    assert "ended before it was recorded" in deployed.log(again, "plan")
    deployed.assert_settled()


def test_an_answer_is_about_the_plan_that_was_shown(deployed: Deployed) -> None:
    run = _asks(deployed)
    deployed.airflow.clear(deployed.dag_id, run, ["plan"])
    deployed.running(run, "plan", "success")
    deployed.airflow.until(
        lambda: "frozen" in _xcoms(deployed, run) and "asked" not in _xcoms(deployed, run),
        "the plan was made anew",
    )
    deployed.airflow.answer(deployed.dag_id, run, "Approve")
    assert deployed.ended(run) == "failed"
    assert "the plan was made anew" in deployed.log(run, "approve")
    assert deployed.done(run) == set()
    assert deployed.sql("SELECT * FROM {app}.report") == [(60,)]


def test_a_rejection_leaves_everything_as_it_is_in_a_group_of_another_dag(deployed: Deployed) -> None:
    """What comes before and after the group is not its own, and neither is the shape of the DAG."""
    deployed.write(FILES)
    deployed.airflow.write_dag(
        deployed.dag_id,
        f"""
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from airflow_provider_sparkdeploy import SparkDeployTaskGroup

with DAG({deployed.dag_id!r}, schedule=None, max_active_runs=1):
    deploy = SparkDeployTaskGroup("deploy", repository={str(deployed.folder)!r})
    EmptyOperator(task_id="before") >> deploy >> EmptyOperator(task_id="after")
""",
    )
    deployed.airflow.parsed(deployed.dag_id)
    deployed.deploy()
    deployed.write(DROPPED)
    deployed.airflow.parsed(deployed.dag_id, lambda tasks: "deploy.approve" in tasks)

    run = deployed.trigger()
    deployed.running(run, "deploy.approve", "awaiting_input")
    deployed.airflow.answer(deployed.dag_id, run, "Reject", "deploy.approve")
    assert deployed.ended(run) == "failed"
    states = deployed.airflow.states(deployed.dag_id, run)
    assert {name for name, state in states.items() if state == "success"} == {"before", "deploy.plan"}
    assert states["after"] == "upstream_failed"
    assert deployed.sql("SELECT * FROM {app}.report") == [(60,)]
    assert deployed.holder() == ""

    run = deployed.trigger()
    deployed.running(run, "deploy.approve", "awaiting_input")
    deployed.airflow.answer(deployed.dag_id, run, "Approve", "deploy.approve")
    assert deployed.ended(run) == "success", deployed.airflow.why(deployed.dag_id, run)
    assert deployed.sql("SHOW TABLES IN {app}") == []


def test_files_that_change_while_somebody_thinks_change_nothing(deployed: Deployed) -> None:
    run = _asks(deployed)
    more = "CREATE VIEW ${app}.more AS SELECT 1 AS one;\n"
    deployed.write({"app/view/more.sql": more})
    deployed.airflow.answer(deployed.dag_id, run, "Approve")
    assert deployed.ended(run) == "success", deployed.airflow.why(deployed.dag_id, run)
    assert deployed.sql("SHOW TABLES IN {app}") == []
    deployed.tasks("setup.app.more")


def test_what_changes_in_the_catalog_while_somebody_thinks_stops_the_run(deployed: Deployed) -> None:
    run = _asks(deployed)
    deployed.sql("ALTER VIEW {app}.report AS SELECT 1 AS doubled")
    deployed.sql("DROP VIEW {app}.totals")
    deployed.airflow.answer(deployed.dag_id, run, "Approve")
    assert deployed.ended(run) == "failed"
    assert "the catalog changed while this run waited" in deployed.log(run, "approve")
    assert deployed.done(run) == set()
    assert deployed.sql("SELECT count(*) FROM {app}.orders") == [(2,)]


def test_who_says_beforehand_that_data_may_be_lost_is_not_asked(deployed: Deployed) -> None:
    deployed.write(FILES)
    deployed.add_dag()
    deployed.deploy()
    deployed.write(DROPPED)
    deployed.airflow.parsed(deployed.dag_id, lambda tasks: "approve" in tasks)
    run = deployed.deploy(allow_destructive=True)
    assert deployed.airflow.states(deployed.dag_id, run)["approve"] == "skipped"
    assert deployed.sql("SHOW TABLES IN {app}") == []
    deployed.assert_settled()


def test_clearing_the_run_of_an_older_text_says_that_there_is_a_newer_one(deployed: Deployed) -> None:
    wrong = REPORT.replace("total", "nothing")
    deployed.write({**FILES, "app/view/report.sql": wrong})
    deployed.add_dag(retries=2)
    run = deployed.fails()
    assert _tries(deployed, run, "setup.app.report") == 1  # what Spark refuses it refuses again
    deployed.write({"app/view/report.sql": REPORT})
    deployed.airflow.clear(deployed.dag_id, run, only_failed=True)
    assert deployed.ended(run) == "failed"
    assert "The files have changed since this run was planned" in deployed.log(run, "setup.app.report", 2)
    deployed.tasks("setup.app.report")
    deployed.deploy()
    deployed.assert_settled()


def test_a_run_after_which_another_has_deployed_goes_on_with_nothing(deployed: Deployed) -> None:
    """However often it is cleared, with its recording: its text would run now, and is not that of the file."""
    deployed.write({**FILES, "app/view/totals.sql": TOTALS.replace("${app}.orders", "${app}.outside")})
    deployed.add_dag(render="all")
    run = deployed.fails()
    deployed.write({"app/view/totals.sql": TOTALS})
    deployed.deploy()
    deployed.sql("CREATE TABLE {app}.outside USING parquet AS SELECT 7 AS amount")
    for attempt in (2, 3):
        deployed.airflow.clear(deployed.dag_id, run, only_failed=True)
        assert deployed.ended(run) == "failed"
        assert "SD806" in deployed.log(run, "setup.app.totals", attempt)
        assert deployed.sql("SELECT * FROM {app}.report") == [(60,)]
    assert deployed.left() == []
    assert deployed.holder() == ""


def test_clearing_tasks_of_an_earlier_run_takes_nothing_from_the_one_of_today(deployed: Deployed) -> None:
    """In the DAG of a team, before its plan is frozen. The earlier run waits, and then does what was cleared."""
    deployed.write(FILES)
    hold = deployed.airflow.home / f"{deployed.name}.hold"
    deployed.airflow.write_dag(
        deployed.dag_id,
        f"""
import os, time
from airflow.sdk import DAG, task
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow_provider_sparkdeploy import SparkDeployTaskGroup

with DAG({deployed.dag_id!r}, schedule=None, max_active_runs=1):
    @task
    def extract():
        while os.path.exists({str(hold)!r}):
            time.sleep(0.5)

    extract() >> SparkDeployTaskGroup("deploy", repository={str(deployed.folder)!r})
    EmptyOperator(task_id="report")
""",
    )
    deployed.airflow.parsed(deployed.dag_id)
    earlier = deployed.deploy()
    deployed.write({"app/view/report.sql": REPORT.replace("* 2", "* 3")})
    deployed.airflow.parsed(deployed.dag_id, lambda tasks: {n for n in tasks if "app" in n} == {_CHANGED})

    hold.touch()
    run = deployed.trigger()
    deployed.running(run, "extract")
    deployed.airflow.clear(deployed.dag_id, earlier, ["report", "deploy.record"])
    for _ in range(3):
        _parsed_again(deployed)
    assert deployed.airflow.run_state(deployed.dag_id, earlier) == "queued"
    assert "removed" not in deployed.states(run).values()
    hold.unlink()
    assert deployed.ended(run) == "success", deployed.airflow.why(deployed.dag_id, run)
    assert deployed.airflow.states(deployed.dag_id, run)[_CHANGED] == "success"
    assert "is still under way" not in deployed.log(run, "deploy.plan")
    assert deployed.sql("SELECT * FROM {app}.report") == [(90,)]
    assert deployed.ended(earlier) == "success", deployed.airflow.why(deployed.dag_id, earlier)
    assert deployed.left() == []
    assert deployed.holder() == ""


_CHANGED = "deploy.setup.app.report"


def _parsed_again(deployed: Deployed) -> None:
    parsed = lambda: deployed.airflow.api("GET", f"dags/{deployed.dag_id}")["last_parsed_time"]  # noqa: E731
    before = parsed()
    deployed.airflow.until(lambda: parsed() != before, f"{deployed.dag_id} is parsed again")


def _xcoms(deployed: Deployed, run: str) -> set[str]:
    path = (
        f"dags/{deployed.dag_id}/dagRuns/{urllib.parse.quote(run)}/taskInstances/plan/xcomEntries?limit=100"
    )
    return {item["key"] for item in deployed.airflow.api("GET", path)["xcom_entries"]}


def _tries(deployed: Deployed, run: str, task: str) -> int:
    path = f"dags/{deployed.dag_id}/dagRuns/{urllib.parse.quote(run)}/taskInstances/{task}"
    return int(deployed.airflow.api("GET", path)["try_number"])

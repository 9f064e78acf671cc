"""Deployments by a real scheduler, DAG processor, triggerer and LocalExecutor."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from deployments import FILES, ORDERS, REPORT, TOTALS, Deployed, slow

ALL = {
    "setup.app.orders.init.1",
    "setup.app.orders.rows.1",
    "setup.app.totals",
    "setup.app.report",
}


def test_first_deploy_change_and_removal(deployed: Deployed) -> None:
    deployed.write(FILES)
    assert deployed.add_dag() == {"plan", "record", *ALL}
    run = deployed.deploy()
    assert deployed.done(run) == ALL
    assert "4 operations" in deployed.log(run, "plan")
    assert deployed.sql("SELECT * FROM {app}.report") == [(60,)]
    deployed.assert_settled()

    run = deployed.deploy()  # nothing to do
    assert deployed.states(run) == {}
    deployed.assert_settled()

    deployed.write({"app/view/totals.sql": TOTALS.replace("sum(amount)", "max(amount)")})
    deployed.tasks("setup.app.totals", "setup.app.report")
    run = deployed.deploy()
    assert deployed.sql("SELECT * FROM {app}.report") == [(40,)]
    deployed.assert_settled()

    deployed.write({"app/view/report.sql": None})
    deployed.tasks("teardown.app.report")
    deployed.deploy()
    assert ("report",) not in deployed.sql("SHOW VIEWS IN {app}")
    deployed.assert_settled()


def test_a_failure_in_the_middle_is_corrected_and_a_new_run_finishes_the_rest(deployed: Deployed) -> None:
    wrong = TOTALS.replace("amount", "amuont")
    deployed.write(
        {
            **FILES,
            "app/view/totals.sql": wrong,
            "app/view/other.sql": "CREATE VIEW ${app}.other AS SELECT 1 AS one;\n",
        }
    )
    deployed.add_dag()
    run = deployed.fails()
    states = deployed.states(run)
    assert states["setup.app.totals"] == "failed"
    assert states["setup.app.report"] == "upstream_failed"
    assert states["setup.app.other"] == "success"  # independent of what failed
    assert "setup.app.totals" in deployed.log(run, "record")
    assert deployed.airflow.states(deployed.dag_id, run)["record"] == "failed"

    deployed.write({"app/view/totals.sql": TOTALS})
    deployed.tasks("setup.app.totals", "setup.app.report")
    again = deployed.deploy()
    assert deployed.done(again) == {"setup.app.totals", "setup.app.report"}
    assert deployed.sql("SELECT count(*) FROM {app}.orders") == [(2,)]  # the rows were not inserted twice
    deployed.assert_settled()


def test_a_failure_leaves_what_is_independent_of_it_alone(deployed: Deployed) -> None:
    """The sink is the only task before ``record``, and fails with the view: what is still at work
    must come to its end before anything is recorded."""
    deployed.write(
        {
            **FILES,
            "app/view/wrong.sql": "CREATE VIEW ${app}.wrong AS SELECT nothing FROM ${app}.orders;\n",
            "app/table/nap.sql": slow("nap", 25),
            "app/sink/out.sql": "INSERT INTO ${app}.orders SELECT * FROM ${app}.orders WHERE false;\n",
        }
    )
    deployed.add_dag()
    run = deployed.fails()
    states = deployed.states(run)
    assert states["setup.app.wrong"] == "failed"
    assert states["export.app.out.1"] == "upstream_failed"
    assert states["setup.app.nap.init.1"] == "success"

    deployed.write({"app/view/wrong.sql": "CREATE VIEW ${app}.wrong AS SELECT * FROM ${app}.orders;\n"})
    deployed.tasks("setup.app.wrong", "export.app.out.1")
    assert deployed.done(deployed.deploy()) == {"setup.app.wrong", "export.app.out.1"}


def test_clearing_resumes_what_failed_and_finds_done_what_was_done(deployed: Deployed) -> None:
    deployed.write({**FILES, "app/view/totals.sql": TOTALS.replace("${app}.orders", "${app}.outside")})
    deployed.add_dag()
    run = deployed.fails()
    deployed.sql("CREATE TABLE {app}.outside USING parquet AS SELECT 7 AS amount")
    deployed.airflow.clear(deployed.dag_id, run, only_failed=True)
    assert deployed.ended(run) == "success", deployed.airflow.why(deployed.dag_id, run)
    assert deployed.sql("SELECT * FROM {app}.report") == [(14,)]
    assert deployed.sql("SELECT count(*) FROM {app}.orders") == [(2,)]
    deployed.assert_settled()


def test_clearing_everything_plans_again_and_repeats_nothing(deployed: Deployed) -> None:
    """The XComs of ``plan`` are gone with it; what was done is in the catalog and the history."""
    deployed.write(FILES)
    deployed.add_dag()
    run = deployed.deploy()
    deployed.airflow.clear(deployed.dag_id, run)
    assert deployed.ended(run) == "success", deployed.airflow.why(deployed.dag_id, run)
    assert deployed.sql("SELECT count(*) FROM {app}.orders") == [(2,)]
    deployed.assert_settled()


def test_edits_while_a_run_is_under_way_change_nothing_about_it(deployed: Deployed) -> None:
    deployed.write(
        {
            **FILES,
            "app/table/nap.sql": slow("nap", 12),
            "app/view/late.sql": "CREATE VIEW ${app}.late AS SELECT nap FROM ${app}.nap;\n",
        }
    )
    deployed.add_dag()
    run = deployed.trigger()
    deployed.running(run, "setup.app.nap.init.1")
    deployed.write(
        {
            "app/view/late.sql": None,  # deleted
            "app/view/totals.sql": TOTALS.replace("sum(", "max("),  # changed
            "app/view/more.sql": "CREATE VIEW ${app}.more AS SELECT total FROM ${app}.totals;\n",  # added
        }
    )
    time.sleep(6)  # the DAG processor parses every two seconds
    begun = ("running", "success", "failed")
    deployed.airflow.until(
        lambda: deployed.airflow.states(deployed.dag_id, run).get("record") in begun, "record has begun"
    )
    expected = {*ALL, "setup.app.nap.init.1", "setup.app.late"}
    assert deployed.states(run) == dict.fromkeys(expected, "success"), deployed.airflow.why(
        deployed.dag_id, run
    )
    assert deployed.ended(run) == "success", deployed.airflow.why(deployed.dag_id, run)
    assert deployed.sql("SELECT * FROM {app}.report") == [(60,)]  # as it was when the run was planned
    assert ("late",) in [row[1:2] for row in deployed.sql("SHOW VIEWS IN {app}")]

    deployed.tasks("teardown.app.late", "setup.app.totals", "setup.app.report", "setup.app.more")
    deployed.deploy()
    assert deployed.sql("SELECT * FROM {app}.report") == [(40,)]
    deployed.assert_settled()


def test_no_task_of_a_run_that_is_over_is_called_removed(deployed: Deployed) -> None:
    """The next graph has other tasks, and is not shown before the scheduler has seen the end of the run."""
    deployed.write(FILES)
    deployed.add_dag()
    runs = {deployed.deploy(): ALL}
    for number in range(3):
        deployed.write({"app/view/report.sql": REPORT.replace("2", f"{number + 5}")})
        deployed.tasks("setup.app.report")
        runs[deployed.deploy()] = {"setup.app.report"}
        deployed.assert_settled()
    for run, tasks in runs.items():
        assert deployed.states(run) == dict.fromkeys(tasks, "success")


def test_drift_makes_the_run_stale_and_the_next_one_heals_it(deployed: Deployed) -> None:
    deployed.write(FILES)
    deployed.add_dag()
    deployed.deploy()
    deployed.tasks()
    deployed.sql("ALTER VIEW {app}.totals AS SELECT 0 AS total")
    run = deployed.fails()
    assert "stale" in deployed.log(run, "plan")
    assert "setup.app.totals" in deployed.log(run, "plan")
    next_run = deployed.replanned()
    assert deployed.ended(next_run) == "success", deployed.airflow.why(deployed.dag_id, next_run)
    assert deployed.sql("SELECT * FROM {app}.report") == [(60,)]
    deployed.assert_settled()


def test_what_loses_data_needs_an_approval(deployed: Deployed) -> None:
    deployed.write(FILES)
    deployed.add_dag()
    deployed.deploy()
    deployed.write(
        {
            "app/table/orders.sql": "//// METADATA DROP_TABLE\n" + ORDERS,
            "app/view/totals.sql": None,
            "app/view/report.sql": None,
        }
    )
    assert "approve" in deployed.airflow.parsed(deployed.dag_id, lambda tasks: "approve" in tasks)

    run = deployed.trigger()
    deployed.running(run, "approve", "awaiting_input")
    body = deployed.airflow.hitl(deployed.dag_id, run)
    assert "teardown.app.orders" in body["body"]
    assert "DROP TABLE" in body["body"]
    deployed.airflow.answer(deployed.dag_id, run, "Reject")
    assert deployed.ended(run) == "failed"
    assert deployed.done(run) == set()
    assert deployed.sql("SELECT * FROM {app}.report") == [(60,)]

    run = deployed.trigger()
    deployed.running(run, "approve", "awaiting_input")
    deployed.airflow.answer(deployed.dag_id, run, "Approve")
    assert deployed.ended(run) == "success", deployed.airflow.why(deployed.dag_id, run)
    assert deployed.sql("SHOW TABLES IN {app}") == []
    deployed.assert_settled()


def test_a_worker_killed_in_an_operation(deployed: Deployed) -> None:
    """Its statement goes on on the server; the retry stops it, and it never runs twice."""
    deployed.write({"app/table/nap.sql": slow("nap", 30)})
    deployed.add_dag(retries=3)
    run = deployed.trigger()
    deployed.running(run, "setup.app.nap.init.1")
    deployed.begun(run, "setup.app.nap.init.1")
    time.sleep(2)  # the statement is sent right after
    deployed.airflow.kill_workers(deployed.dag_id, run, "setup.app.nap.init.1")
    assert deployed.ended(run, 400) == "success", deployed.airflow.why(deployed.dag_id, run)
    assert deployed.sql("SELECT count(*) FROM {app}.nap") == [(1,)]
    deployed.assert_settled()


def test_the_scheduler_killed_in_a_run(deployed: Deployed) -> None:
    deployed.write({**FILES, "app/table/nap.sql": slow("nap", 5)})
    deployed.add_dag(retries=3)
    run = deployed.trigger()
    deployed.running(run, "setup.app.nap.init.1")
    deployed.airflow.kill("scheduler")
    time.sleep(2)
    deployed.airflow.start("scheduler")
    assert deployed.ended(run, 400) == "success", deployed.airflow.why(deployed.dag_id, run)
    assert deployed.sql("SELECT count(*) FROM {app}.orders") == [(2,)]
    deployed.assert_settled()


def test_two_deployments_to_one_catalog_exclude_each_other(deployed: Deployed) -> None:
    deployed.write({"app/table/nap.sql": slow("nap", 10)})
    deployed.add_dag()
    other = f"{deployed.dag_id}_too"
    deployed.airflow.write_dag(
        other,
        "from airflow_provider_sparkdeploy import SparkDeployDag\n\n"
        f"SparkDeployDag({other!r}, repository={str(deployed.folder)!r}, retries=0)\n",
    )
    deployed.airflow.parsed(other)
    run = deployed.trigger()
    deployed.running(run, "setup.app.nap.init.1")
    second = deployed.airflow.trigger(other)
    deployed.airflow.until(
        lambda: deployed.airflow.states(other, second).get("plan") == "up_for_reschedule",
        "the second waits without a worker",
    )
    assert deployed.airflow.states(deployed.dag_id, run)["setup.app.nap.init.1"] == "running"
    assert f"run {deployed.dag_id}/{run}" in deployed.airflow.log(other, second, "plan")  # who has the lock
    assert deployed.ended(run) == "success", deployed.airflow.why(deployed.dag_id, run)
    # What the first did is known to the second, from the history.
    assert deployed.airflow.ended(other, second) == "success", deployed.airflow.why(other, second)
    assert deployed.airflow.states(other, second)["setup.app.nap.init.1"] == "skipped"
    deployed.assert_settled()
    (deployed.airflow.dags / f"{other}.py").unlink()


def test_a_dag_and_the_command_line_exclude_each_other(deployed: Deployed) -> None:
    deployed.write({"app/table/nap.sql": slow("nap", 12)})
    deployed.add_dag()
    run = deployed.trigger()
    deployed.running(run, "setup.app.nap.init.1")
    with deployed.command("apply") as refused:
        told, _ = refused.communicate()
    assert refused.returncode == 1
    assert "SD801" in told
    assert f"run {deployed.dag_id}/{run}" in told
    assert deployed.ended(run) == "success", deployed.airflow.why(deployed.dag_id, run)

    with deployed.command("recover") as recovered:  # the log of the command line, from the history
        told, _ = recovered.communicate()
    assert recovered.returncode == 0, told
    deployed.write({"app/table/more.sql": slow("more", 12)})
    deployed.tasks("setup.app.more.init.1")
    with deployed.command("apply") as applying:
        deployed.airflow.until(lambda: "apply-" in deployed.holder(), "the command line has the lock")
        run = deployed.trigger()
        deployed.running(run, "plan", "up_for_reschedule")
        assert "apply-" in deployed.log(run, "plan")
        told, _ = applying.communicate()
    assert applying.returncode == 0, told
    assert deployed.ended(run) == "success", deployed.airflow.why(deployed.dag_id, run)
    assert deployed.states(run) == {"setup.app.more.init.1": "skipped"}
    deployed.assert_settled()


def test_what_airflow_kept_may_be_lost(deployed: Deployed) -> None:
    """The history in the environment has everything: nothing runs twice."""
    deployed.write(FILES)
    deployed.add_dag()
    deployed.deploy()
    deployed.tasks()
    deployed.forget()
    deployed.tasks(*ALL)  # as if nothing had ever been deployed
    run = deployed.deploy()
    assert set(deployed.states(run).values()) == {"skipped"}
    assert deployed.sql("SELECT count(*) FROM {app}.orders") == [(2,)]
    deployed.assert_settled()

    # Old runs are cleaned away, with their XComs and states; not the heartbeats of this very Airflow.
    moment = datetime.now(UTC).isoformat()
    tables = (
        "dag_run,task_instance,task_instance_history,task_reschedule,task_state_store,xcom,asset_event,log"
    )
    clean = ("db", "clean", "--clean-before-timestamp", moment, "--tables", tables)
    deployed.airflow.command(*clean, "--skip-archive", "--yes")
    deployed.write({"app/view/report.sql": REPORT.replace("* 2", "* 5")})
    deployed.tasks("setup.app.report")
    deployed.deploy()
    assert deployed.sql("SELECT * FROM {app}.report") == [(150,)]
    deployed.assert_settled()


def test_what_airflow_kept_may_be_lost_during_a_run(deployed: Deployed) -> None:
    deployed.write(FILES)
    deployed.add_dag()
    deployed.deploy()
    deployed.write({"app/table/nap.sql": slow("nap", 8)})
    deployed.tasks("setup.app.nap.init.1")
    run = deployed.trigger()
    deployed.running(run, "setup.app.nap.init.1")
    deployed.forget()
    assert deployed.ended(run) == "success", deployed.airflow.why(deployed.dag_id, run)
    deployed.tasks()  # all that was ever deployed is recorded again, and nothing of it is left to do
    deployed.assert_settled()


def test_what_a_run_can_be_asked_for(deployed: Deployed) -> None:
    deployed.write(FILES)
    deployed.add_dag()
    run = deployed.deploy(dry_run=True)
    assert set(deployed.states(run).values()) == {"skipped"}
    assert "Plan: 3 to create" in deployed.log(run, "plan")
    assert deployed.sql("SHOW SCHEMAS LIKE '" + deployed.schema + "'") == []

    run = deployed.deploy(select=["app.orders"])
    assert deployed.done(run) == {"setup.app.orders.init.1", "setup.app.orders.rows.1"}
    deployed.tasks("setup.app.totals", "setup.app.report")
    deployed.deploy()
    deployed.tasks()

    run = deployed.trigger(force_schemas=["app"])  # the graph does not show them: the next run does
    assert deployed.ended(run) == "failed"
    next_run = deployed.replanned()
    assert deployed.ended(next_run) == "success", deployed.airflow.why(deployed.dag_id, next_run)
    assert deployed.done(next_run) == {"setup.app.totals", "setup.app.report"}
    deployed.assert_settled()


def test_all_objects_always_have_their_tasks(deployed: Deployed) -> None:
    deployed.write(FILES)
    assert deployed.add_dag(render="all") == {"plan", "record", *ALL}
    deployed.deploy()
    deployed.write({"app/view/report.sql": REPORT.replace("* 2", "* 3")})
    deployed.tasks(*ALL)
    run = deployed.deploy()
    assert deployed.done(run) == {"setup.app.report"}
    assert deployed.sql("SELECT * FROM {app}.report") == [(90,)]
    assert deployed.left() == []


def test_a_group_in_a_dag_that_a_team_has(deployed: Deployed) -> None:
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
    tasks = deployed.airflow.parsed(deployed.dag_id)
    assert tasks == {"before", "after", "deploy.plan", "deploy.record", *(f"deploy.{name}" for name in ALL)}
    run = deployed.trigger()
    assert deployed.ended(run) == "success", deployed.airflow.why(deployed.dag_id, run)
    assert deployed.sql("SELECT * FROM {app}.report") == [(60,)]
    assert deployed.left() == []


def test_a_group_that_the_dag_of_a_team_passes_over_is_skipped(deployed: Deployed) -> None:
    """Airflow skips only what comes right after a branch, and a group has tasks that run all the same."""
    deployed.write(FILES)
    deployed.airflow.write_dag(
        deployed.dag_id,
        f"""
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, task
from airflow_provider_sparkdeploy import SparkDeployTaskGroup

with DAG({deployed.dag_id!r}, schedule=None, max_active_runs=1):
    @task.branch
    def choose():
        return "other"

    deploy = SparkDeployTaskGroup("deploy", repository={str(deployed.folder)!r})
    choose() >> [deploy, EmptyOperator(task_id="other")]
    deploy >> EmptyOperator(task_id="after")
""",
    )
    deployed.airflow.parsed(deployed.dag_id)
    run = deployed.trigger()
    assert deployed.ended(run) == "success", deployed.airflow.why(deployed.dag_id, run)
    states = deployed.airflow.states(deployed.dag_id, run)
    assert {state for name, state in states.items() if name not in ("choose", "other")} == {"skipped"}


def test_a_connection_to_spark_connect(deployed: Deployed) -> None:
    deployed.write(FILES)
    deployed.add_dag(conn_id="spark_connect_default")
    deployed.deploy()
    deployed.assert_settled()


def test_files_with_mistakes_stop_nothing_but_the_deployment(deployed: Deployed) -> None:
    deployed.write(
        {
            **FILES,
            "app/view/broken.sql": "//// METADATA tgas=x\nCREATE VIEW ${app}.broken AS SELECT 1 AS one;\n",
        }
    )
    assert deployed.add_dag() == {"plan", "record"}
    run = deployed.fails()
    told = deployed.log(run, "plan")
    assert "app/view/broken.sql:1" in told
    assert "tags" in told  # did you mean
    deployed.write({"app/view/broken.sql": None})
    deployed.tasks(*ALL)
    deployed.deploy()
    deployed.assert_settled()


def test_a_folder_without_objects_is_nothing_to_do_and_is_told(deployed: Deployed) -> None:
    deployed.write({"README.md": "Nothing yet.\n"})
    assert deployed.add_dag() == {"plan", "record"}
    assert "SD105" in deployed.log(deployed.deploy(), "plan")


def test_a_run_of_a_git_bundle_is_of_its_commit(deployed: Deployed) -> None:
    """A commit between two tasks changes nothing about the run; the next run is of the new commit."""
    airflow = deployed.airflow
    inside = f"{deployed.name}/repository"
    deployed.move(airflow.git / inside)
    deployed.set()
    deployed.write({**FILES, "app/table/nap.sql": slow("nap", 10)})
    (airflow.git / deployed.name / "deploy.py").write_text(
        "from airflow_provider_sparkdeploy import SparkDeployDag\n\n"
        f"SparkDeployDag({deployed.dag_id!r}, repository='repository')\n"
    )
    airflow.commit("the first")
    airflow.parsed(deployed.dag_id)
    run = deployed.trigger()
    deployed.running(run, "setup.app.nap.init.1")
    deployed.write({"app/view/totals.sql": TOTALS.replace("sum(", "max("), "app/view/report.sql": None})
    airflow.commit("the second")
    time.sleep(5)
    assert deployed.ended(run) == "success", airflow.why(deployed.dag_id, run)
    assert deployed.done(run) == {*ALL, "setup.app.nap.init.1"}
    assert deployed.sql("SELECT * FROM {app}.report") == [(60,)]

    deployed.tasks("teardown.app.report", "setup.app.totals")
    deployed.deploy()
    assert deployed.sql("SELECT * FROM {app}.totals") == [(20,)]
    deployed.assert_settled()


def test_a_run_of_an_older_parse_waits_for_the_new_one(deployed: Deployed) -> None:
    deployed.write(FILES)
    deployed.add_dag()
    deployed.deploy()
    deployed.tasks()
    with deployed.airflow.without("dag-processor"):
        deployed.write({"app/view/report.sql": REPORT.replace("* 2", "* 3")})
        run = deployed.trigger()
        deployed.running(run, "plan", "up_for_reschedule")
        assert deployed.states(run) == {}
        assert "older parse" in deployed.log(run, "plan")
    assert deployed.ended(run) == "success", deployed.airflow.why(deployed.dag_id, run)
    assert deployed.done(run) == {"setup.app.report"}
    assert deployed.sql("SELECT * FROM {app}.report") == [(90,)]
    deployed.assert_settled()


def test_a_run_of_an_older_commit_is_stale_where_the_repository_is_not_in_the_bundle(
    deployed: Deployed,
) -> None:
    """No new parse can reach it. It does nothing, and says so."""
    airflow = deployed.airflow
    deployed.write(FILES)
    place = airflow.git / deployed.name
    place.mkdir()
    (place / "deploy.py").write_text(
        "from airflow_provider_sparkdeploy import SparkDeployDag\n\n"
        f"SparkDeployDag({deployed.dag_id!r}, repository={str(deployed.folder)!r}, on_stale='fail')\n"
    )
    airflow.commit("a DAG whose repository is elsewhere")
    airflow.parsed(deployed.dag_id)
    with airflow.without("dag-processor"):
        deployed.write({"app/view/more.sql": "CREATE VIEW ${app}.more AS SELECT 1 AS one;\n"})
        run = deployed.fails()
        assert "setup.app.more is to be done, and the graph of this run does not have it" in deployed.log(
            run, "plan"
        )
        assert "stale: run it again" in deployed.log(run, "plan")
        assert deployed.done(run) == set()
    deployed.tasks(*ALL, "setup.app.more")
    deployed.deploy()
    deployed.assert_settled()


def test_what_was_planned_and_did_not_run_is_never_green(deployed: Deployed) -> None:
    """Somebody skips a task by hand; another is removed by Airflow, because what is kept was deleted
    and a file with it."""
    view = "CREATE VIEW ${{app}}.{0} AS SELECT nap FROM ${{app}}.nap;\n"
    deployed.write(
        {
            "app/table/nap.sql": slow("nap", 40),
            **{f"app/view/{name}.sql": view.format(name) for name in ("kept", "passed", "removed")},
        }
    )
    deployed.add_dag()
    run = deployed.trigger()
    deployed.running(run, "setup.app.nap.init.1")
    deployed.airflow.mark(deployed.dag_id, run, "setup.app.passed", "skipped")
    deployed.forget()
    deployed.write({"app/view/removed.sql": None})
    deployed.running(run, "setup.app.removed", "removed")
    assert deployed.ended(run) == "failed"
    assert deployed.done(run) == {"setup.app.nap.init.1", "setup.app.kept"}
    told = deployed.log(run, "record")
    assert "2 of 4 operations were not done" in told
    assert "setup.app.passed: its task is skipped" in told
    assert "setup.app.removed: its task is removed" in told

    deployed.tasks("setup.app.passed")
    deployed.deploy()
    deployed.assert_settled()


def test_a_policy_that_asks_nobody_has_no_task_that_asks(deployed: Deployed) -> None:
    deployed.set(on_destructive="allow")
    deployed.write({"app/table/orders.sql": "CREATE TABLE ${app}.orders (id INT) USING parquet;\n"})
    deployed.add_dag()
    deployed.deploy()
    deployed.write({"app/table/orders.sql": "CREATE TABLE ${app}.orders (id INT) USING json;\n"})
    found = deployed.tasks("teardown.app.orders", "setup.app.orders")
    assert "approve" not in found
    deployed.deploy()
    deployed.assert_settled()

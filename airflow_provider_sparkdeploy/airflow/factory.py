"""What users write: ``SparkDeployDag`` and ``SparkDeployTaskGroup``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Param, TaskGroup, get_parsing_context

from ..core.collecting import without_collector
from .arguments import caller, check_runs, checked, folder, known_to_dag, known_to_group, pairs, tell
from .deploying import Deploying, OnStale, Render
from .tasks import (
    all_tasks,
    reserve_names,
    retry_settings,
    single_task,
    tasks_on_a_worker,
    without_params,
)

PARAMS = {
    "force_schemas": Param(
        [], type=["null", "array"], items={"type": "string"},
        description="Schemas (folders) that are redeployed although nothing in them changed.",
    ),
    "select": Param(
        [], type=["null", "array"], items={"type": "string"},
        description="What to deploy: tag:, path:, schema:, kind:, +name, name+. Nothing selects everything.",
    ),
    "allow_destructive": Param(
        False, type="boolean", description="Run operations that lose data without asking for approval."
    ),
    "dry_run": Param(False, type="boolean", description="Look at the catalog and show the plan; run nothing."),
}  # fmt: skip


class SparkDeployDag(DAG):
    """A DAG that brings a Spark catalog to what a folder of SQL files says: one task per operation.

    ``plan -> [approve] -> teardown.* -> setup.* -> export.* -> record``. It registers itself, so
    the file that makes it needs no variable. A team can put tasks of its own into it, in a ``with`` of the DAG, tied
    to ``dag.get_task("plan")`` and ``dag.get_task("record")``, which are always there. A parse of the file reads a small Variable and hashes the
    files; it imports no pyspark, and no SQL parser unless the files have changed.

    :param dag_id: the id of the DAG.
    :param repository: the folder of SQL files; relative to the DAG file if it is not absolute.
    :param environment: the environment of ``sparkdeploy.yaml``; its default one if not given.
    :param conn_id: a connection of type ``spark_connect`` or ``spark``. Without one, an embedded
        Spark is started on the worker: for trying things out.
    :param overrides: settings over those of ``sparkdeploy.yaml``, each as ``key=value``.
    :param render: ``plan`` shows what is to be done; ``all`` shows the tasks of every object, always:
        for those who want a stable graph and can live with thousands of tasks.
    :param on_stale: what a run does whose graph does not hold what has to be done: ``replan``
        starts the next run itself, ``fail`` leaves that to people.
    :param retries: how often a task is tried again after a failure that may pass by itself.
    :param retry_delay: how long to wait before the first retry; each next one waits longer, up to five minutes.

    Everything else is passed on to Airflow's ``DAG``; ``max_active_runs`` is always 1, because two
    runs of one deployment exclude each other; another value is an error.
    """

    @checked(known_to_dag)
    def __init__(
        self,
        dag_id: str,
        *,
        repository: str | Path,
        environment: str | None = None,
        conn_id: str | None = None,
        overrides: Mapping[str, str] | Sequence[str] = (),
        render: Render = "plan",
        on_stale: OnStale = "replan",
        retries: int = 2,
        retry_delay: timedelta = timedelta(seconds=10),
        params: Mapping[str, Any] | None = None,
        **dag_arguments: Any,
    ) -> None:
        check_runs(dag_id, dag_arguments)
        super().__init__(
            dag_id,
            **{
                "schedule": None,
                "catchup": False,
                "tags": ["sparkdeploy"],
                **dag_arguments,
                "max_active_runs": 1,
            },
            params={**PARAMS, **(params or {})},
        )
        self.fileloc = caller()
        deploying = Deploying(
            dag_id,
            folder(repository, self.fileloc),
            environment,
            conn_id,
            pairs(overrides),
            render,
            on_stale,
        )
        with self, without_params(self):
            _build(deploying, retry_settings(retries, retry_delay))
        reserve_names(self.task_group)


class SparkDeployTaskGroup(TaskGroup):
    """The tasks of ``SparkDeployDag`` as a group of a DAG that a team already has.

    A DAG may have several; each has its own plan and its own recorded state. Task ids begin with the
    id of the group. The trigger form of a DAG belongs to the DAG: give it ``params`` with the names of
    ``SparkDeployDag`` where they are wanted. Set ``max_active_runs=1`` on the DAG.

    Tasks of the team can stand beside it and in it: ``extract >> group >> report``, or in a ``with`` of the
    group, tied to ``group["plan"]`` and ``group["record"]``, which are always there.

    :param group_id: the id of the group.
    :param on_stale: what a run does whose graph does not hold what has to be done: ``fail`` stops it;
        ``replan`` also starts the next run of the whole DAG. That one does all work of the team again, and has no
        logical date, so a task of the team that uses ``{{ ds }}`` fails in it.

    The other arguments are those of ``SparkDeployDag``.
    """

    @checked(known_to_group)
    def __init__(
        self,
        group_id: str,
        *,
        repository: str | Path,
        environment: str | None = None,
        conn_id: str | None = None,
        overrides: Mapping[str, str] | Sequence[str] = (),
        render: Render = "plan",
        on_stale: OnStale = "fail",
        retries: int = 2,
        retry_delay: timedelta = timedelta(seconds=10),
        **group_arguments: Any,
    ) -> None:
        super().__init__(group_id, **group_arguments)
        dag = self.dag
        if dag.max_active_runs != 1:
            raise ValueError(
                f"{dag.dag_id}: a DAG with a SparkDeployTaskGroup needs max_active_runs=1: two runs of one "
                "deployment exclude each other"
            )
        deploying = Deploying(
            dag.dag_id, folder(repository, caller()), environment, conn_id, pairs(overrides), render, on_stale,
            prefix=self.group_id or "",
        )  # fmt: skip
        with self:
            _build(deploying, retry_settings(retries, retry_delay))
        reserve_names(self)


@without_collector()
def _build(deploying: Deploying, settings: Mapping[str, Any]) -> None:
    """All tasks, or what a worker needs that was asked to run one."""
    asked = get_parsing_context()
    if asked.task_id is None:
        from .rendering import what_to_show

        showing = what_to_show(deploying)
        tell(deploying.name, deploying.repository, showing.view.problems)
        all_tasks(deploying, showing, settings)
        return
    name = deploying.own(asked.task_id) if asked.dag_id == deploying.dag_id else None
    tasks_on_a_worker(deploying, name, lambda name: single_task(deploying, name, settings))

"""A shown plan as Airflow tasks and edges.

A worker asks for one task: of ours only that one is built, without looking at anything, because what
it runs comes from the frozen plan of its run; and stand-ins for ``plan`` and ``record``, which the file may
name. A task that is not ours is left to the file: a team has its own beside ours.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, TaskGroup
from airflow.sdk.definitions.param import ParamsDict

from ..core.operations import PHASES, shortened
from .assets import deployed_object
from .deploying import ALWAYS, BEGIN, SOMETIMES, Deploying
from .operation_task import SparkDeployOperator
from .task import DeployTask

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator

    from .rendering import Showing
    from .shown import Shown

_LONGEST_DELAY = timedelta(minutes=5)  # before a retry, where the first one does not wait longer
LONGEST_LABEL = 200  # of a group, that Airflow takes
COMMON: Mapping[str, Any] = {"weight_rule": "absolute", "retry_exponential_backoff": True}


def tasks_on_a_worker(deploying: Deploying, asked: str | None, build: Callable[[str], BaseOperator]) -> None:
    """The one that is asked for, if it is of this deployment, and the two that every one has: the file of
    a team may tie tasks of its own to them, on every worker. They have no work to do there."""
    built = {
        name: build(name) if name == asked else DeployTask(deploying=deploying, task_id=name)
        for name in ALWAYS
    }
    _link(built["plan"], built["record"])
    if asked is not None and asked not in built:
        task = build(asked)
        _link(built["plan"], task)
        _link(task, built["record"])


def reserve_names(group: TaskGroup) -> None:
    """What the next plan may call a task or a group. A team that calls one of its own so is told
    at once: a worker could not know whose is meant, and would leave out theirs."""
    start = f"{group.group_id}." if group.group_id else ""
    group.used_group_ids.update(f"{start}{name}" for name in (*SOMETIMES, *PHASES))


def single_task(deploying: Deploying, name: str, settings: Mapping[str, Any]) -> BaseOperator:
    """One task by the name that it has within its deployment, as a worker needs it."""
    common = {"deploying": deploying, "task_id": name, **COMMON, **settings}
    if name == "plan":
        from .plan_task import SparkDeployPlanOperator

        return SparkDeployPlanOperator(**common)
    if name == "approve":
        from .approve_task import SparkDeployApproveOperator

        return SparkDeployApproveOperator(**common)
    if name == "record":
        from .record_task import SparkDeployRecordOperator

        return SparkDeployRecordOperator(trigger_rule="all_done", **common)
    if name.startswith(BEGIN):
        return _nothing(name)
    return SparkDeployOperator(operation=name, trigger_rule="none_failed", **common)


def _nothing(name: str) -> BaseOperator:
    from airflow.providers.standard.operators.empty import EmptyOperator

    return EmptyOperator(task_id=name, trigger_rule="none_failed", weight_rule="absolute")


def all_tasks(deploying: Deploying, showing: Showing, settings: Mapping[str, Any]) -> None:
    """``plan -> [approve] -> teardown.* -> setup.* -> export.* -> record``, in the current DAG."""
    from .plan_task import SparkDeployPlanOperator
    from .record_task import SparkDeployRecordOperator
    from .shown import as_many_as_fit, edges

    view = showing.view
    common = {**COMMON, **settings}
    plan = SparkDeployPlanOperator(
        deploying=deploying, task_id="plan", doc_md=_plan_doc(showing), about=view.about(), **common
    )
    record = SparkDeployRecordOperator(
        deploying=deploying, task_id="record", trigger_rule="all_done", **common
    )
    first: BaseOperator = plan
    _link(plan, record)
    if view.approval:
        from .approve_task import SparkDeployApproveOperator

        first = SparkDeployApproveOperator(deploying=deploying, task_id="approve", **common)
        _link(plan, first)
        _link(first, record)
    groups: dict[tuple[str, ...], TaskGroup] = {}
    tasks: dict[str, BaseOperator] = {}
    for item in view.operations:
        group = _group(groups, item)
        tasks[item.id] = SparkDeployOperator(
            deploying=deploying,
            operation=item.id,
            task_id=deploying.task_id(item.id),
            task_group=group,
            about=_about(deploying, item),
            reasons=as_many_as_fit(item.reasons),
            sql=showing.texts.get(item.id, ""),
            doc_md=_doc(item, showing.texts.get(item.id, "")),
            trigger_rule="none_failed",
            outlets=[deployed_object(name, environment=view.environment) for name in item.settles],
            **common,
        )
    waits = edges(view.operations)
    for name in sorted(waits.keys() - tasks.keys()):  # between two phases of very many operations
        tasks[name] = _nothing(name)
    needed: set[str] = set()
    for name, needs in waits.items():
        needed.update(needs)
        for need in needs:
            _link(tasks[need], tasks[name])
        if not needs:
            _link(first, tasks[name])
    for name, task in tasks.items():
        if name not in needed:
            _link(task, record)


def _about(deploying: Deploying, item: Shown) -> dict[str, Any]:
    from .shown import about_operation

    about = about_operation(item)
    if deploying.own(deploying.task_id(item.id)) != item.id:  # the id of the task is shortened
        about["operation"] = item.id
    return about


def _group(groups: dict[tuple[str, ...], TaskGroup], item: Shown) -> TaskGroup:
    """A group per phase, and in it one per schema."""
    phase = groups.get((item.phase,))
    if phase is None:
        phase = groups[(item.phase,)] = TaskGroup(item.phase)
    key = (item.phase, item.group)
    if key not in groups:
        label = shortened(item.group, LONGEST_LABEL)
        groups[key] = TaskGroup(label, parent_group=phase, prefix_group_id=False)
    return groups[key]


def _link(first: BaseOperator, then: BaseOperator) -> None:
    """``first >> then``; setting both sides directly is four times as fast for thousands."""
    first.downstream_task_ids.add(then.task_id)
    then.upstream_task_ids.add(first.task_id)


def _doc(item: Shown, sql: str) -> str:
    from .shown import sql_block

    reasons = "\n".join(f"- {' '.join(reason)}" for reason in item.reasons) or "- changed"
    danger = "\n\n**Loses data.**" if item.destructive else ""
    text = f"**{item.action} {item.kind} {item.object}**{danger}\n\nWhy:\n\n{reasons}"
    return f"{text}\n\n{sql_block(sql)}" if sql else text


def _plan_doc(showing: Showing) -> str:
    view = showing.view
    if view.problems:
        listed = "\n".join(f"- {problem}" for problem in view.problems)
        return f"There is no plan:\n\n{listed}"
    return f"{len(view.operations)} operations are shown, {view.blocked} are blocked."


@contextlib.contextmanager
def without_params(dag: DAG) -> Iterator[None]:
    """For making many tasks: each would copy the params of its DAG three times, and keep a copy, which
    says nothing that the DAG does not say when the task runs. That is half of the time of a parse."""
    kept, dag.params = dag.params, ParamsDict()
    try:
        yield
    finally:
        dag.params = kept


def retry_settings(retries: int, retry_delay: timedelta) -> dict[str, Any]:
    longest = max(_LONGEST_DELAY, retry_delay)
    return {"retries": retries, "retry_delay": retry_delay, "max_retry_delay": longest}

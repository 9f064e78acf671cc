"""The task ``plan``: what has to be done, frozen for the run.

It may be killed anywhere and started again: what it writes is complete when it is read.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk.exceptions import AirflowFailException, DownstreamTasksSkipped

from ..core.deploylog import now
from ..core.diagnostics import SparkDeployError
from . import keeping
from .before import texts_before
from .deploying import REPLANS, Deploying, replans_of
from .rendering import ENDED, plan_against, task_states, texts_of, view_of, what_to_show, with_more
from .runlog import Frozen, RunLog
from .shown import misfits, shown_cycles
from .task import DeployTask

if TYPE_CHECKING:
    from airflow.sdk import Context

    from ..core.operations import Operation
    from ..core.planner import Request
    from ..core.repository import Repository
    from ..spark.lock import Lock
    from .planning import Actual
    from .shown import Shown

MOST_REPLANS = 3
_REPLANNED = re.compile(r"\Areplan_\d+(\.\d+)?__")
_UNFINISHED = ("queued", "running")  # states of a run
_LONGEST_FOR_RUN = timedelta(hours=1)
_LONGEST_WAIT = timedelta(minutes=5)  # for the DAG processor to parse what a run was not made from


class SparkDeployPlanOperator(DeployTask):
    """Finds out what has to be done, freezes it for the run, and skips what the graph has beyond it.

    It looks at the catalog and changes nothing in it. A run whose graph does not hold what has to
    be done is stopped as stale; the graph of the next one does.
    """

    template_fields: Sequence[str] = ("conn_id", "about")
    template_fields_renderers: ClassVar[dict[str, str]] = {"about": "json"}
    ui_color = "#d6eaf8"

    def __init__(self, *, about: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.about = dict(about or {})

    def execute(self, context: Context) -> Mapping[str, Any]:
        with self._waiting_for_the_lock(context):
            return self._plan(context)

    def _plan(self, context: Context) -> Mapping[str, Any]:
        from ..core.repository import empty_remark
        from ..spark.target import target_of

        params = context["params"]
        check_params(params)
        dry_run = bool(params.get("dry_run"))
        self._record_the_last(context)
        shown = self._begin(context, dry_run)
        repository = self.deploying.open()
        if broken := [item for item in repository.problems if item.severity == "error"]:
            raise AirflowFailException(str(SparkDeployError(broken)))
        for item in empty_remark(repository, self.deploying.repository):
            self.log.warning("%s", item)
        actual, seen = self._look(context, repository)
        plan = actual.planned.plan
        self._tell(actual)
        if plan.errors:
            raise AirflowFailException(str(SparkDeployError(plan.diagnostics)))
        states = task_states(self.deploying.dag_id, context["run_id"])
        tasks = self._operations(states, *plan.operations, *shown.operations)
        needs_approval = self._needs_approval(repository, actual, params)
        approve = self.deploying.task_id("approve")

        def unfit_for(tasks: Collection[str], *, asks: bool) -> tuple[str, ...]:
            loose = shown.guess or self.deploying.render == "all"
            told = misfits(plan.operations, shown.operations, tasks, loose=loose)
            unasked = needs_approval and not asks
            return (*told, "it would lose data, and the graph of this run asks nobody") if unasked else told

        if not dry_run and (unfit := unfit_for(tasks, asks=states.get(approve, "removed") != "removed")):
            if not unfit_for({item.id for item in shown.operations}, asks=shown.approval):
                self._wait_for_a_parse(context, unfit)
            self._stop_as_stale(context, repository, actual, shown, unfit)
        if not dry_run and plan.operations and states.get(self.deploying.task_id("record")) in ENDED:
            raise AirflowFailException(
                "there is something to do, and the other tasks of this run have ended: clear plan with all that comes "
                "after it, or start a new run"
            )
        frozen = Frozen(
            run=self._run(context),
            at=now(),
            fingerprint=plan.fingerprint,
            environment=repository.settings.environment,
            ids=() if dry_run else tuple(operation.id for operation in plan.operations),
            seen=seen,
            needs_approval=needs_approval,
            dry_run=dry_run,
            notes=() if dry_run else _notes(actual),
            target=target_of(repository.settings).encode(),
            request=_asked(params),
            conn_id=self.conn_id,
        )
        log = self._log_of(context)
        operations = () if dry_run else plan.operations
        log.freeze(frozen, operations, texts_before(operations, actual.recorded.state))
        if dry_run:
            keeping.write_recorded(self.deploying.name, actual.recorded)
        else:
            self._keep(context, repository, actual, frozen, shown)
        told = {"operations": len(frozen.ids), "blocked": len(plan.blocked), "fingerprint": plan.fingerprint}
        context["ti"].xcom_push(key="return_value", value=told)
        unneeded = sorted(tasks.difference(frozen.ids))
        skipped = [self.deploying.task_id(name) for name in unneeded]
        if not needs_approval and approve in states:
            skipped.append(approve)
        if frozen.ids and not needs_approval:
            self._take_lock(frozen)
        if skipped:
            self.log.info("%d tasks of the graph are not needed, and skipped", len(skipped))
            raise DownstreamTasksSkipped(tasks=skipped)  # type: ignore[no-untyped-call]
        return told

    def _begin(self, context: Context, dry_run: bool) -> keeping.View:
        """The graph of this run; from here on every parse shows it, so that files which are edited while
        this task looks at the catalog take nothing from the run. It comes before the files are read for
        the plan: what a parse that began earlier shows is no newer than that.

        A try that comes after another, which waited or failed before it had frozen anything, begins anew.
        """
        showing = what_to_show(self.deploying, context["run_id"])
        view = showing.view
        if view.operations and not dry_run and view.active != context["run_id"]:
            begun = replace(view, active=context["run_id"], planning=True, next=None, closed=0)
            keeping.write_texts(self.deploying.name, showing.texts)
            keeping.write_view(self.deploying.name, begun)
        return view

    def _look(self, context: Context, repository: Repository) -> tuple[Actual, int]:
        """What has to be done, and the lock that was seen before it was looked for."""
        from ..spark.lock import Lock
        from ..spark.target import target_of
        from .planning import catch_up, look_and_plan, with_lost

        run, target = self._run(context), target_of(repository.settings)
        sessions = self.hook.sessions()
        lock = Lock(sessions, target.log_schema, run)
        with lock:
            seen = self._look_at(lock)
            recorded = keeping.read_recorded(self.deploying.name) or keeping.Recorded()
            recorded = catch_up(sessions, target, lock, run, recorded)
            request = request_of(context["params"])
            actual = look_and_plan(repository, sessions, recorded, request)
            actual = with_lost(actual, repository, sessions, target, request, run)
            seen = lock.seen or seen
        return actual, seen

    def _record_the_last(self, context: Context) -> None:
        """An earlier run may have ended before it was recorded: somebody marked it as failed, or Spark
        was gone. What it did, and what became of what it began, is written down first."""
        kept = keeping.read_view(self.deploying.name)
        if kept is None or not kept.active or kept.active == context["run_id"]:
            return
        if self._is_at_work(kept.active):  # as those of a backfill are, side by side
            told = f"run {kept.active} of this DAG is still under way"
            self._come_back(context, told, _LONGEST_FOR_RUN, reason="run")
            raise AirflowFailException(f"{told}; clear or end it, then run this one again")
        log = RunLog(self.deploying, kept.active)
        if log.is_recorded():
            return  # as nearly always: the log of a large run takes long to read
        frozen = log.frozen()
        if frozen is None or frozen.stale or frozen.dry_run or not frozen.ids:
            return
        from .recording import is_recorded

        if not is_recorded(frozen.sessions(), log, frozen):
            self._record(kept.active, log, frozen)

    def _is_at_work(self, run_id: str) -> bool:
        """Whether another run has something to do for this deployment. Not one of which somebody has
        cleared a task: that is queued, and waits for this very run."""
        states = task_states(self.deploying.dag_id, run_id)
        if all(state in ENDED for name, state in states.items() if self.deploying.own(name)):
            return False
        return run_state(self.deploying.dag_id, run_id) == "running"

    def _look_at(self, lock: Lock) -> int:
        """The lock as it was seen. An earlier run of this very deployment that has ended without letting
        it go was killed in its last task: nobody has to wait until the lock expires."""
        try:
            return lock.look()
        except SparkDeployError:
            holder = lock.holder()
            run_id = holder.removeprefix(self.deploying.run_name(""))
            log = RunLog(self.deploying, run_id)
            frozen = log.frozen()
            if frozen is None or frozen.run != holder or self._is_at_work(run_id):
                raise
            if frozen.stale:  # its plan was made anew while it had the lock: there is nothing to record
                with frozen.lock(frozen.sessions()) as left:
                    left.acquire()
            else:
                self._record(run_id, log, frozen)
            return lock.look()

    def _record(self, run_id: str, log: RunLog, frozen: Frozen) -> None:
        from .recording import record

        self.log.info("Run %s ended before it was recorded: that is done now", run_id)
        outcome = record(self.deploying, run_id, frozen.sessions(), log, frozen, tell=self.log.info)
        if outcome.uncertain:
            raise AirflowFailException("\n".join(outcome.uncertain))

    def _operations(self, states: Mapping[str, str | None], *known: Operation | Shown) -> set[str]:
        """The operations that this run has tasks for."""
        tasks = (name for name, state in states.items() if state != "removed")
        return self.deploying.operations(tasks, (item.id for item in known))

    def _tell(self, actual: Actual) -> None:
        """The log reads like ``sparkdeploy plan``."""
        from ..telling.output import plain
        from ..telling.tree import plan_lines

        if not actual.planned.plan.errors:
            for line in plan_lines(actual.planned):
                self.log.info("%s", plain(line))
        for item in actual.planned.plan.warnings:
            self.log.warning("%s", item)

    def _needs_approval(self, repository: Repository, actual: Actual, params: Mapping[str, Any]) -> bool:
        policy = repository.settings.on_destructive
        return bool(
            policy == "approve"
            and actual.planned.plan.destructive
            and not params.get("allow_destructive")
            and not params.get("dry_run")
        )

    def _keep(
        self,
        context: Context,
        repository: Repository,
        actual: Actual,
        frozen: Frozen,
        shown: keeping.View,
    ) -> None:
        """From here on every parse shows the graph of this run, until it has ended. What is shown then
        is up to ``record``; where that has nothing to do, it is known now."""
        from ..core.deploylog import Entry
        from .planning import with_entries

        noted = Entry("noted", frozen.run, frozen.at, effects=frozen.notes)
        recorded = with_entries(actual.recorded, [noted])
        keeping.write_recorded(self.deploying.name, recorded)
        next_view = None
        active = context["run_id"]
        if frozen.ids:
            keeping.write_texts(self.deploying.name, texts_of(actual.planned.plan.operations))
        elif not shown.operations:
            active = ""  # nothing of it can disappear, and all that is left to know is for which files
        else:
            left = plan_against(repository, recorded.state)
            next_view = view_of(self.deploying, repository, left, serial=recorded.serial)
            keeping.write_texts(self.deploying.name, texts_of(left.operations))
        view = replace(
            shown,
            fingerprint=frozen.fingerprint,
            serial=recorded.serial,
            active=active,
            problems=(),
            blocked=len(actual.planned.plan.blocked),
            guess=False,
            cycles=shown_cycles(actual.planned.plan),
            environment=frozen.environment,
            next=next_view,
            closed=0 if frozen.ids else keeping.until_seen(),
            planning=False,
        )
        if view != keeping.read_view(self.deploying.name):
            keeping.write_view(self.deploying.name, view)

    def _take_lock(self, frozen: Frozen) -> None:
        lock = frozen.lock(self.hook.sessions())
        lock.expect(frozen.seen)
        with lock.joined():
            pass

    def _wait_for_a_parse(self, context: Context, unfit: Sequence[str]) -> None:
        """The run was made from an older parse: the DAG processor will add what it lacks. Under a
        versioned bundle it will not."""
        if not _is_versioned(context):
            told = f"this run was made from an older parse of the DAG: {unfit[0]}"
            self._come_back(context, told, _LONGEST_WAIT, reason="parse")

    def _stop_as_stale(
        self,
        context: Context,
        repository: Repository,
        actual: Actual,
        shown: keeping.View,
        unfit: Sequence[str],
    ) -> None:
        """Keep what is needed now, so that it is shown as soon as this run has ended, and end it."""
        from ..spark.target import target_of

        plan = actual.planned.plan
        keeping.write_recorded(self.deploying.name, actual.recorded)
        texts = texts_of(plan.operations)
        found = view_of(self.deploying, repository, plan, serial=actual.recorded.serial)
        if actual.planned.selected is not None:  # the graph is of everything, whatever this run was asked for
            left = plan_against(repository, actual.recorded.state)
            found = with_more(found, view_of(self.deploying, repository, left))
            texts = texts_of(left.operations) | texts
        keeping.write_texts(self.deploying.name, texts)
        pinned = _is_versioned(context)  # to its graph: what is shown meanwhile cannot take a task from it
        of_this_run = replace(shown, active=context["run_id"], next=found, closed=time.time(), planning=False)
        keeping.write_view(self.deploying.name, found if pinned else of_this_run)
        if pinned and self.deploying.on_stale == "replan":  # a run that is started now has the old graph, too
            self._come_back(
                context, "a new parse has to show what is needed now", _parse_interval(), reason="new"
            )
        frozen = Frozen(
            self._run(context),
            now(),
            plan.fingerprint,
            repository.settings.environment,
            stale=tuple(unfit[:20]),
            target=target_of(repository.settings).encode(),
            conn_id=self.conn_id,
        )
        self._log_of(context).freeze(frozen, ())
        more = f"\n  and {len(unfit) - 10} more" if len(unfit) > 10 else ""
        told = "\n  ".join(unfit[:10]) + more
        self.log.warning("The graph of this run is stale:\n  %s", told)
        raise AirflowFailException(f"stale: {replan(self.deploying, context)}\n  {told}")


def replan(deploying: Deploying, context: Context) -> str:
    """Start the next run, with what this one was asked for; what to tell about it."""
    if deploying.on_stale != "replan":
        return "run it again, the graph of the next run has what is needed now"
    conf = dict(context["dag_run"].conf or {})
    count = replans_of(conf) + 1
    if count > MOST_REPLANS:
        return (
            f"{MOST_REPLANS} runs in a row found something else than their graph shows; something changes the "
            "catalog or the repository all the time. Find out what does, then run it again"
        )
    origin = _REPLANNED.sub("", context["run_id"])
    for number in itertools.count(1):
        run_id = f"replan_{count}{f'.{number}' if number > 1 else ''}__{origin}"
        problem = trigger_run(deploying.dag_id, run_id, {**conf, REPLANS: count})
        if problem:
            return f"run it again: the next run could not be started ({problem})"
        # A task that was killed in between starts one run, not two. One that is cleared after that run has
        # ended starts another.
        if problem is not None or run_state(deploying.dag_id, run_id) in _UNFINISHED:
            break
    return f"run {run_id} goes on"


def trigger_run(dag_id: str, run_id: str, conf: Mapping[str, Any]) -> str | None:
    """Ask for another run of a DAG; what is wrong, if it cannot be had, and None where it was there."""
    from airflow.sdk.exceptions import ErrorType
    from airflow.sdk.execution_time.comms import ErrorResponse, TriggerDagRun
    from airflow.sdk.execution_time.task_runner import SUPERVISOR_COMMS

    answer: object = SUPERVISOR_COMMS.send(TriggerDagRun(dag_id=dag_id, run_id=run_id, conf=dict(conf)))
    if not isinstance(answer, ErrorResponse):
        return ""
    return None if answer.error == ErrorType.DAGRUN_ALREADY_EXISTS else str(answer.error.value)


def run_state(dag_id: str, run_id: str) -> str:
    """In a task only: a parse that asks for it hangs."""
    from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

    state: str = RuntimeTaskInstance.get_dagrun_state(dag_id, run_id)
    return state


def _parse_interval() -> timedelta:
    """How long it may take until a DAG file is parsed again."""
    from airflow.sdk.configuration import conf

    seconds = conf.getint("dag_processor", "min_file_process_interval", fallback=30)
    return timedelta(seconds=min(2 * seconds + 10, 300))


def _is_versioned(context: Context) -> bool:
    bundle = getattr(context["ti"], "bundle_instance", None)
    return getattr(bundle, "version", None) is not None


def _notes(actual: Actual) -> tuple[Any, ...]:
    from ..core.planner import due_objects

    return (*actual.found, *actual.planned.plan.notes, *due_objects(actual.planned))


def check_params(params: Mapping[str, Any]) -> None:
    """The trigger form of ``SparkDeployDag`` takes nothing else. The DAG of a group has params of its
    own, and a word like "false" would count as yes."""
    for name in ("allow_destructive", "dry_run"):
        if not isinstance(params.get(name) or False, bool):
            raise AirflowFailException(f"{name} is {params[name]!r}; it must be true or false")
    for name in ("select", "force_schemas"):
        value = params.get(name) or []
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            raise AirflowFailException(f"{name} is {value!r}; it must be a list of texts")


def request_of(params: Mapping[str, Any]) -> Request:
    from ..core.planner import Request

    return Request(
        select=tuple(params.get("select") or ()), force_schemas=tuple(params.get("force_schemas") or ())
    )


def _asked(params: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "select": list(params.get("select") or ()),
        "force_schemas": list(params.get("force_schemas") or ()),
    }

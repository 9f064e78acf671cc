"""A deployment from beginning to end: settle what was left, look, plan, run, verify, record.

What is shown to people and asked of them is not here: the command line comes between the
stages. Every stage assumes that the one before it may have been killed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..core.catalog import Catalog
from ..core.deploylog import DeployLog, Entry
from ..core.diagnostics import Diagnostic, SparkDeployError
from ..core.planner import Planned, due_objects
from ..core.repository import Repository
from ..core.state import State
from .apply import (
    Event,
    Report,
    Runner,
    Stop,
    due_for_history,
    record,
    run_operations,
    settle_unfinished,
    unfinished,
)
from .catalog import inspect, wanted_objects
from .lock import Lock
from .session import Sessions, SparkFailure
from .target import target_of
from .verify import broken_views, touched


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a deployment ended; ``problems`` are views that can no longer be read, and what could
    not be looked at or recorded."""

    report: Report
    problems: tuple[Diagnostic, ...] = ()

    @property
    def succeeded(self) -> bool:
        return self.report.succeeded and not any(item.severity == "error" for item in self.problems)


@dataclass(frozen=True, slots=True)
class Deployment:
    """One run on one environment. The caller holds the log while it goes on."""

    repository: Repository
    runner: Runner

    def begin(self) -> None:
        """Find out what became of what a killed run had begun; an error where nobody can tell.

        The lock is taken only if there is something to find out: a plan may turn out empty.
        """
        entries = self.runner.log.read().entries
        begun = unfinished(entries)
        if not begun and not due_for_history(self.runner, entries):
            self.runner.lock.look()
            return
        self.runner.lock.acquire()
        left = settle_unfinished(self.runner, begun)
        if left:
            raise SparkDeployError(left)

    def run(
        self,
        planned: Planned,
        *,
        kind: str = "apply",
        parallel: int = 4,
        on_event: Callable[[Event], None] = lambda event: None,
        stop: Stop | None = None,
    ) -> Outcome:
        """Run a plan, and write down what came of it: in the log, and in the history."""
        runner, plan = self.runner, planned.plan
        if not plan.operations and not plan.notes:
            return Outcome(Report(), tuple(self._record()))
        runner.lock.acquire()
        begun = {
            "event": "started",
            "kind": kind,
            "environment": self.repository.settings.environment,
            "fingerprint": plan.fingerprint,
        }
        noted = (*plan.notes, *due_objects(planned))
        runner.write(
            Entry("run", runner.run, detail=begun),
            *([Entry("noted", runner.run, effects=noted)] if noted else []),
        )
        report = run_operations(runner, plan.operations, parallel=parallel, on_event=on_event, stop=stop)
        seen = Outcome(report, tuple(self._verify(planned, report)) if report.reachable else ())
        event = "succeeded" if seen.succeeded else "interrupted" if not report.failed else "failed"
        runner.write(Entry("run", runner.run, detail={"event": event}))
        return Outcome(report, (*seen.problems, *self._record())) if report.reachable else seen

    def _verify(self, planned: Planned, report: Report) -> Iterator[Diagnostic]:
        changed = {name for operation in report.done for name in touched(operation)}
        missed = {operation.object for operation, _ in report.failed} | {o.object for o in report.left}
        missed |= {item.operation.object for item in planned.plan.blocked}
        try:
            deployed = self.runner.log.read().state
            files = self.repository.objects
            yield from broken_views(self.runner.sessions, deployed, files, changed, frozenset(missed))
        except SparkFailure as failure:
            message = f"whether all views can still be read is not known: {failure}"
            yield Diagnostic("", 0, "SD831", message, "Look at them when Spark is back.", severity="warning")

    def _record(self) -> Iterator[Diagnostic]:
        try:
            record(self.runner, self.runner.log.read().entries)
        except (SparkFailure, SparkDeployError) as failure:
            message = f"the history was not written: {str(failure).splitlines()[0]}"
            yield Diagnostic("", 0, "SD832", message, "The next apply makes up for it.", severity="warning")


def observe(sessions: Sessions, repository: Repository, state: State) -> Catalog:
    """What the catalog holds of everything that the repository or the log names."""
    wanted = wanted_objects(repository, state)
    return inspect(sessions, wanted, data_schema=repository.settings.data_schema)


def make_runner(sessions: Sessions, log: DeployLog, lock: Lock, repository: Repository, run: str) -> Runner:
    return Runner(sessions, log, lock, target_of(repository.settings), run)

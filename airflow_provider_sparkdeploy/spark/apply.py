"""All operations of a plan, in order, several at a time; and what a killed run left behind.

Intent before, outcome after, for each operation. What fails takes with it what needs it, and
nothing else; a failed teardown stops all setup. A statement that Spark may still be running
(the connection broke) gets no outcome: the next run looks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..core.codec import decode_operation, encode_operation
from ..core.deploylog import DeployLog, Entry, now
from ..core.diagnostics import Diagnostic, SparkDeployError
from ..core.operations import Operation
from ..core.schedule import Schedule
from ..core.state import Effect
from . import history, marks
from .execute import execute, is_free_form, new_attempt
from .failure import HalfDone
from .lock import Lock
from .observe import looked_up
from .resume import doubts, judge, snapshot, uncertain
from .session import Sessions, SparkFailure
from .target import Target

Boundary = Literal[
    "before intent", "after intent", "after statement", "after outcome", "before record", "after append", "after record"
]  # fmt: skip
Status = Literal["started", "done", "failed", "lost"]
_STOPPED = ("OPERATION_CANCELED", "INVALID_HANDLE.OPERATION_CANCELED")


@dataclass(frozen=True, slots=True)
class Event:
    """Something happened to an operation: one stream, which every view of a run reads."""

    operation: Operation
    status: Status
    seconds: float = 0.0
    message: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """How a run ended. ``left`` are the operations that were not begun. Where Spark was no longer
    ``reachable``, some of the failed ones may have been done."""

    done: tuple[Operation, ...] = ()
    failed: tuple[tuple[Operation, str], ...] = ()
    left: tuple[Operation, ...] = ()
    interrupted: bool = False
    reachable: bool = True

    @property
    def succeeded(self) -> bool:
        return not (self.failed or self.left or self.interrupted)


@dataclass(frozen=True, slots=True)
class Runner:
    """Where operations are run, and where it is written down.

    ``at`` is told of every boundary that a crash may fall on, so that tests can crash there.
    """

    sessions: Sessions
    log: DeployLog
    lock: Lock
    target: Target
    run: str
    at: Callable[[Boundary, str], None] = lambda boundary, operation: None
    writing: threading.Lock = field(default_factory=threading.Lock)

    def write(self, *entries: Entry) -> None:
        with self.writing:
            self.log.append([entry if entry.at else replace(entry, at=now()) for entry in entries])

    def operate(self, operation: Operation) -> Mapping[str, Any]:
        """One operation, with its intent and its outcome in the log."""
        self.at("before intent", operation.id)
        with self.sessions.open(session_key(self.run, operation)) as spark:
            self.lock.look_again(spark)
            before = snapshot(operation, self.sessions, self.target)
            detail = {"operation": encode_operation(operation), "attempt": new_attempt(), **before}
            intent = Entry("intent", self.run, now(), operation.id, detail=detail)
            self.write(intent)
            self.at("after intent", operation.id)
            began = time.monotonic()
            try:
                told = execute(operation, self.lock.watching(spark), self.target, intent)
            except (SparkFailure, SparkDeployError) as error:
                if not is_lost(error):
                    self.write(_failed(self.run, operation, error, time.monotonic() - began))
                raise
            done = {**told, "seconds": round(time.monotonic() - began, 3), **_mark(operation)}
            self.at("after statement", operation.id)
            effects = looked_up(operation.effects, self.sessions, self.target)
            self.write(Entry("done", self.run, operation=operation.id, effects=effects, detail=done))
            self.at("after outcome", operation.id)
            return told


def session_key(run: str, operation: Operation) -> str:
    """What a retry knows the session of an operation by."""
    return f"{run}/{operation.id}"


def is_lost(error: BaseException | None) -> bool:
    """Whether nobody knows what became of the statement: the connection broke, or it was stopped, or
    it was done by half."""
    if isinstance(error, HalfDone):
        return True
    return isinstance(error, SparkFailure) and (error.transient or error.condition in _STOPPED)


def _failed(run: str, operation: Operation, error: Exception, seconds: float) -> Entry:
    """A load that fails has taken away the old rows, though not put in the new ones."""
    effects = doubts(operation) if operation.action == "load" else ()
    detail = {"error": str(error), "seconds": round(seconds, 3), **_mark(operation)}
    return Entry("failed", run, operation=operation.id, effects=effects, detail=detail)


def _mark(operation: Operation) -> dict[str, Any]:
    return {"mark": marks.name_of(operation)} if is_free_form(operation) else {}


@dataclass(frozen=True, slots=True)
class Stop:
    """Somebody's wish that a run ends: ``after`` the running statements, or ``now``, with them."""

    after: threading.Event = field(default_factory=threading.Event)
    now: threading.Event = field(default_factory=threading.Event)


def run_operations(
    runner: Runner,
    operations: Sequence[Operation],
    *,
    parallel: int = 4,
    on_event: Callable[[Event], None] = lambda event: None,
    stop: Stop | None = None,
) -> Report:
    """Run them all, each after what it depends on, until all are done or ``stop`` says otherwise."""
    stop = stop or Stop()
    schedule = Schedule(operations)
    done: list[Operation] = []
    failed: list[tuple[Operation, str]] = []
    reachable, halted = True, False
    running: dict[Future[Mapping[str, Any]], tuple[Operation, float]] = {}
    with ThreadPoolExecutor(max(1, parallel), thread_name_prefix="sparkdeploy") as pool:
        while True:
            while (
                not (halted or stop.after.is_set())
                and len(running) < parallel
                and (operation := schedule.take())
            ):
                on_event(Event(operation, "started"))
                running[pool.submit(runner.operate, operation)] = (operation, time.monotonic())
            if not running:
                break
            if stop.now.is_set():  # in every round: an operation may be between two of its statements
                for operation, _ in running.values():
                    runner.sessions.settle(session_key(runner.run, operation))
            finished, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in finished:
                operation, since = running.pop(future)
                event = _ended(operation, future, time.monotonic() - since)
                if event.status == "done":
                    schedule.done(operation)
                    done.append(operation)
                else:
                    error = future.exception()
                    schedule.failed(operation)
                    failed.append((operation, event.message))
                    reachable = reachable and not (isinstance(error, SparkFailure) and error.transient)
                    halted = halted or _stops_the_run(error)
                on_event(event)
    return Report(tuple(done), tuple(failed), schedule.left, halted or stop.after.is_set(), reachable)


def _ended(operation: Operation, future: Future[Mapping[str, Any]], seconds: float) -> Event:
    error = future.exception()
    if error is None:
        return Event(operation, "done", seconds, detail=future.result())
    if not isinstance(error, (SparkFailure, SparkDeployError)):
        raise error
    return Event(operation, "lost" if is_lost(error) else "failed", seconds, str(error))


def _stops_the_run(error: BaseException | None) -> bool:
    """Without Spark, without the lock, or without a log to write to, nothing more can be done."""
    found = error.diagnostics if isinstance(error, SparkDeployError) else ()
    return is_lost(error) or any(item.code in ("SD603", "SD802") for item in found)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An operation that has an intent and no outcome."""

    run: str
    operation: Operation
    intent: Mapping[str, Any]


def unfinished(entries: Iterable[Entry]) -> list[Unfinished]:
    """What killed runs began and did not report, in the order in which it was begun."""
    begun: dict[str, Entry] = {}
    for entry in entries:
        if entry.type == "intent":
            begun[entry.operation] = entry
        elif entry.type in ("done", "failed"):
            begun.pop(entry.operation, None)
    return [
        Unfinished(entry.run, decode_operation(entry.detail["operation"]), entry.detail)
        for entry in begun.values()
    ]


def settle_unfinished(runner: Runner, found: Iterable[Unfinished]) -> list[Diagnostic]:
    """Find out what became of them, and write it down. Those that cannot be told are returned."""
    left: list[Diagnostic] = []
    for item in found:
        operation = item.operation
        if not runner.sessions.settle(session_key(item.run, operation)):
            left.append(uncertain(operation, "Spark may still be running it, and cannot be asked"))
            continue
        verdict = judge(operation, item.intent, runner.sessions, runner.target)
        if verdict.verdict == "uncertain":
            left.append(uncertain(operation, verdict.saw))
        elif verdict.verdict == "done":
            effects = looked_up(operation.effects, runner.sessions, runner.target)
            runner.write(replace(applied(item, runner.run, verdict.saw), effects=effects))
        else:
            runner.write(not_applied(item, runner.run, verdict.saw, verdict.effects))
    return left


def applied(item: Unfinished, run: str, saw: str) -> Entry:
    """The outcome of an operation that was found out later: it was done."""
    detail = {"resumes": item.run, "saw": saw, **_mark(item.operation)}
    return Entry("done", run, now(), item.operation.id, item.operation.effects, detail)


def not_applied(item: Unfinished, run: str, saw: str, effects: tuple[Effect, ...] = ()) -> Entry:
    """The outcome of an operation that was found out later: it was not done."""
    detail = {"resumes": item.run, "error": f"not applied: {saw}", **_mark(item.operation)}
    return Entry("failed", run, now(), item.operation.id, effects, detail)


def due_for_history(runner: Runner, entries: Sequence[Entry]) -> list[history.Numbered]:
    """What the history does not have: everything, if it was lost, whatever the log notes of it."""
    if not any(map(history.is_note, entries)):
        return history.due(entries)
    with runner.sessions.open() as spark:
        lost = history.is_lost(spark, runner.target.log_schema, runner.target.environment)
    return history.due(entry for entry in entries if not (lost and history.is_note(entry)))


def record(runner: Runner, entries: Sequence[Entry]) -> None:
    """Append to the history what it does not have yet, and note that it has it now."""
    due = due_for_history(runner, entries)
    if not due:
        return
    begun = {marks.name_of(item.operation) for item in unfinished(entries)}
    told = {item.entry.detail["mark"] for item in due if "mark" in item.entry.detail}
    runner.at("before record", "")
    # Who was killed in the INSERT had the same entries due, so they were of the same run.
    with history.writing(runner.sessions, due[0].entry.run) as spark:
        runner.lock.check(spark)
        history.append(spark, runner.target.log_schema, runner.target.environment, due)
        runner.at("after append", "")
        marks.drop(spark, runner.target.log_schema, told - begun)
    runner.write(*history.recorded(due))
    runner.at("after record", "")

"""The tab Plan: what is to be done, or what a run does, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ...core.operations import PHASES
from ...core.state import State
from .picture import picture
from .values import Kept, Log, Run, Step, Task, moment
from .why import Causes, difference, outcome, texts_around

_STATES = {
    "success": "done", "failed": "failed", "upstream_failed": "waiting", "skipped": "skipped", "running": "running",
    "removed": "waiting",
}  # fmt: skip


def plan_json(
    kept: Kept,
    steps: Sequence[Step],
    *,
    run: Run | None = None,
    log: Log | None = None,
    tasks: Mapping[str, Task] | None = None,
) -> dict[str, Any]:
    """``tasks`` are those of the run, by the ids of their operations."""
    causes = Causes(steps)
    states = _states(steps, log, tasks or {}) if run is not None else {}
    return {
        "run": run_json(run),
        "frozen": _frozen_json(log),
        "known": kept.known,
        "active": kept.active,
        "guess": (kept.guess or not kept.known) and log is None,
        "problems": list(kept.problems) if log is None else [],
        "blocked": kept.blocked if log is None else 0,
        "counts": counts(steps),
        "destructive": sum(step.destructive for step in steps),
        "operations": [
            {
                "id": step.id,
                "phase": step.phase,
                "action": step.action,
                "object": step.object,
                "schema": step.schema,
                "kind": step.kind,
                "part": step.part,
                "destructive": step.destructive,
                "why": causes.short(step),
                "state": states.get(step.id, ""),
            }
            for step in ordered(steps)
        ],
        "graph": picture(kept, steps, states),
    }


def ordered(steps: Sequence[Step]) -> list[Step]:
    """By phase, then by schema; within it, the order of the plan."""
    phases = {phase: number for number, phase in enumerate(PHASES)}
    return sorted(steps, key=lambda step: (phases.get(step.phase, 9), step.schema))  # type: ignore[call-overload]


def counts(steps: Sequence[Step]) -> dict[str, int]:
    return dict(sorted(Counter(step.action for step in steps).items()))


def operation_json(
    step: Step, steps: Sequence[Step], state: State, *, log: Log | None = None, task: Task | None = None
) -> dict[str, Any]:
    """One operation in full: its SQL, what is different from what is deployed, and why."""
    before, after = texts_around(step, state, log)
    return {
        "id": step.id,
        "phase": step.phase,
        "action": step.action,
        "object": step.object,
        "kind": step.kind,
        "hash": step.hash,
        "destructive": step.destructive,
        "sql": step.sql,
        "diff": None if before is None else difference(before, after),
        "deployed": bool(before),
        "chains": Causes(steps).chains(step),
        "depends_on": list(step.depends_on),
        "members": list(step.members),
        "entries": [entry_json(item) for item in (log.entries.get(step.id, ()) if log else ())],
        "tries": task.tries if task else 0,
        "state": (task.state or "") if task else "",
        "task": task.task_id if task else "",
    }


def entry_json(entry: Mapping[str, Any]) -> dict[str, Any]:
    detail = entry.get("detail") or {}
    return {
        "type": entry.get("type", ""),
        "at": entry.get("at", ""),
        "error": str(detail.get("error", "")),
        "saw": str(detail.get("saw", "")),
        "iterations": detail.get("iterations"),
    }


def run_json(run: Run | None) -> dict[str, Any] | None:
    if run is None:
        return None
    seconds = (run.end - run.start).total_seconds() if run.start and run.end else None
    return {
        "run_id": run.run_id,
        "state": run.state,
        "type": run.type,
        "start": moment(run.start),
        "end": moment(run.end),
        "seconds": seconds,
        "user": run.user,
    }


def _frozen_json(log: Log | None) -> dict[str, Any] | None:
    if log is None:
        return None
    return {
        "at": log.at,
        "environment": log.environment,
        "fingerprint": log.fingerprint,
        "stale": list(log.stale),
        "needs_approval": log.needs_approval,
        "decision": dict(log.decision),
        "dry_run": log.dry_run,
        "request": {key: value for key, value in log.request.items() if value},
    }


def _states(steps: Sequence[Step], log: Log | None, tasks: Mapping[str, Task]) -> dict[str, str]:
    """How far every operation is: by the log first, which knows better than the colours of tasks."""
    found: dict[str, str] = {}
    for step in steps:
        told = outcome(log.entries.get(step.id, ())) if log else ""
        task = tasks.get(step.id)
        state = _STATES.get((task.state if task else None) or "", "waiting")
        if told == "done" or (told == "failed" and state != "running"):
            state = told
        found[step.id] = state
    return found

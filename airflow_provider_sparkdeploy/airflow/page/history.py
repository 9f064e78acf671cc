"""The tab History: the deployments of a DAG over time, and one of them in full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from .plan import counts, entry_json, run_json
from .values import Log, Run, Step, Task
from .why import Causes, outcome

_SHOWN = 8  # things that are named in a sentence


def history_json(
    runs: Sequence[Run],
    logs: Mapping[str, Log | None],
    tasks: Mapping[str, Mapping[str, Task]],
    *,
    more: bool,
) -> dict[str, Any]:
    """``runs`` are the newest first; ``tasks`` are each run's, by the ids of their operations."""
    shown = []
    for number, run in enumerate(runs):
        log = logs.get(run.run_id)
        newer = runs[number - 1] if number else None
        after = logs.get(newer.run_id) if newer else None
        shown.append(
            {
                **(run_json(run) or {}),
                **_summary(log),
                "resumed": resumed(run, log, tasks.get(run.run_id, {})),
                "went_on": _went_on(log, newer, after),
            }
        )
    return {"runs": shown, "more": more}


def _summary(log: Log | None) -> dict[str, Any]:
    if log is None:
        return {
            "planned": None,
            "done": 0,
            "failed": 0,
            "counts": {},
            "objects": [],
            "destructive": 0,
            "lost": 0,
        }
    told = Counter(outcome(log.entries.get(name, ())) for name in log.ids)
    return {
        "planned": len(log.ids),
        "done": told["done"],
        "failed": told["failed"],
        "counts": counts(log.steps),
        "objects": sorted({step.object for step in log.steps}),
        "destructive": sum(step.destructive for step in log.steps),
        "lost": sum(
            step.destructive and outcome(log.entries.get(step.id, ())) == "done" for step in log.steps
        ),
        "environment": log.environment,
        "stale": list(log.stale),
        "dry_run": log.dry_run,
        "decision": dict(log.decision),
        "needs_approval": log.needs_approval,
    }


def resumed(run: Run, log: Log | None, tasks: Mapping[str, Task]) -> list[str]:
    """How a run came to its end although something had stopped it, in sentences."""
    told = []
    if run.replans:
        told.append("Started by itself, because the graph of the run before was stale.")
    if run.cleared:
        told.append(f"Cleared {_times(run.cleared)}, and gone on with the frozen plan.")
    again = sorted(name for name, task in tasks.items() if task.tries > 1)
    if again:
        told.append(f"Tried more than once: {_listed(again)}.")
    for name, entries in sorted((log.entries if log else {}).items()):
        for entry in entries:
            if saw := (entry.get("detail") or {}).get("saw"):
                told.append(f"{name}: an attempt had been killed; the next one looked: {saw}.")
    return told


def _went_on(log: Log | None, newer: Run | None, after: Log | None) -> str:
    """The next run, where it did what this one left."""
    if log is None or newer is None or after is None:
        return ""
    left = {name for name in log.ids if outcome(log.entries.get(name, ())) != "done"}
    return newer.run_id if left & set(after.ids) or (log.stale and after.ids) else ""


def deployment_json(run: Run, log: Log | None, tasks: Mapping[str, Task]) -> dict[str, Any]:
    """One run in full: every operation with how long it took, how often it was tried, what failed."""
    steps: Sequence[Step] = log.steps if log else ()
    causes = Causes(steps)
    return {
        **(run_json(run) or {}),
        **_summary(log),
        "resumed": resumed(run, log, tasks),
        "operations": [
            {
                "id": step.id,
                "action": step.action,
                "object": step.object,
                "kind": step.kind,
                "part": step.part,
                "destructive": step.destructive,
                "why": causes.short(step),
                "outcome": outcome(log.entries.get(step.id, ())) if log else "",
                "tries": tasks[step.id].tries if step.id in tasks else 0,
                "seconds": tasks[step.id].seconds if step.id in tasks else None,
                "statement_seconds": statement_seconds(log.entries.get(step.id, ()) if log else ()),
                "begun": _begun(log.entries.get(step.id, ()) if log else ()),
                "entries": [entry_json(item) for item in (log.entries.get(step.id, ()) if log else ())],
            }
            for step in steps
        ],
    }


def statement_seconds(entries: Sequence[Mapping[str, Any]]) -> float | None:
    """How long the statement itself took: as it was measured, else from its intent to its outcome."""
    if not entries or entries[-1].get("type") not in ("done", "failed"):
        return None
    measured = (entries[-1].get("detail") or {}).get("seconds")
    if measured is not None:
        return float(measured)
    begun = _begun(entries)
    try:
        return (
            datetime.fromisoformat(str(entries[-1].get("at"))) - datetime.fromisoformat(begun)
        ).total_seconds()
    except ValueError:
        return None


def _begun(entries: Sequence[Mapping[str, Any]]) -> str:
    return next((str(item.get("at", "")) for item in reversed(entries) if item.get("type") == "intent"), "")


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more

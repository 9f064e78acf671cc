"""The tab Components: materialized views that read each other, and how they were computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...core.names import display
from .picture import deployed_kinds, deployed_reads, members_of
from .values import Kept, Log, run_id_of
from .why import outcome


def components_json(kept: Kept, logs: Iterable[Log]) -> dict[str, Any]:
    """``logs`` are those of the last runs, the newest first."""
    reads = deployed_reads(kept.state)
    said = {cycle.members: cycle for cycle in kept.cycles or ()}
    runs = list(logs)
    deployed = {display(name): record for name, record in kept.state.items()}
    found = []
    for number, members in enumerate(members_of(kept, reads, deployed_kinds(kept.state)), 1):
        cycle = said.get(members)
        found.append(
            {
                "id": number,
                "members": [
                    {
                        "name": name,
                        "reads": [need for need in reads.get(name, ()) if need in members],
                        "outside": [need for need in reads.get(name, ()) if need not in members],
                        "at": deployed[name].at if name in deployed else "",
                    }
                    for name in members
                ],
                "monotone": cycle.monotone if cycle else None,
                "why": list(cycle.why) if cycle else [],
                "computed": list(_computed(members, runs)),
            }
        )
    return {"components": found, "known": kept.known, "runs": len(runs)}


def _computed(members: Sequence[str], logs: Iterable[Log]) -> Iterable[dict[str, Any]]:
    """Every time that a component was computed, or was tried to."""
    for log in logs:
        for step in log.steps:
            if step.action != "fixpoint" or not {step.object, *step.members} & set(members):
                continue
            entries = log.entries.get(step.id, ())
            last: Mapping[str, Any] = (entries[-1].get("detail") or {}) if entries else {}
            yield {
                "run_id": run_id_of(log.run),
                "at": entries[-1].get("at", "") if entries else log.at,
                "outcome": outcome(entries),
                "iterations": last.get("iterations"),
                "passes": [sum(item.values()) for item in last.get("rows", ())],
                "rows": [dict(item) for item in last.get("rows", ())],
                "converged": last.get("converged"),
                "saw": last.get("saw", ""),
                "error": str(last.get("error", "")),
            }

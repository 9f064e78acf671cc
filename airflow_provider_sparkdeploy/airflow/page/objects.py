"""The tab Objects: everything that is deployed, and one object in full."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from ...core.names import ObjectName, display, parse_name
from ...core.state import DeployedObject
from .picture import Reads, deployed_kinds, deployed_reads, members_of, symbol
from .values import Kept, Step, run_id_of, schema_of


def objects_json(kept: Kept, steps: Sequence[Step]) -> dict[str, Any]:
    """``steps`` are what is to be done next: what they touch is not as its file says."""
    reads = deployed_reads(kept.state)
    used = _inverse(reads)
    component = {
        name: n
        for n, group in enumerate(members_of(kept, reads, deployed_kinds(kept.state)), 1)
        for name in group
    }
    actions, drift = _actions(steps), drifted(kept, steps)
    return {
        "known": kept.known,
        "serial": kept.serial,
        "looked": kept.looked,
        "drift_known": kept.drift is not None,
        "objects": [
            {
                "name": display(name),
                "schema": name.schema,
                "kind": record.kind,
                "hash": fingerprint(record),
                "at": record.at,
                "run_id": run_id_of(record.run),
                "run": record.run,
                "drift": drift.get(display(name), ""),
                "due": record.due,
                "planned": actions.get(display(name), ""),
                "component": component.get(display(name), 0),
                "lifecycle": record.lifecycle,
                "up": len(reads[display(name)]),
                "down": len(used.get(display(name), ())),
            }
            for name, record in sorted(kept.state.items())
        ],
    }


def object_json(kept: Kept, steps: Sequence[Step], name: str) -> dict[str, Any] | None:
    """One object: its text, its columns, its changes, what it needs and what needs it."""
    record = kept.state.get(ObjectName(*(parse_name(name) or ("", ""))))
    if record is None:
        return None
    reads = deployed_reads(kept.state)
    found = members_of(kept, reads, deployed_kinds(kept.state))
    group = next((members for members in found if name in members), ())
    return {
        "name": name,
        "kind": record.kind,
        "physical": display(record.physical),
        "hash": fingerprint(record),
        "at": record.at,
        "run": record.run,
        "run_id": run_id_of(record.run),
        "drift": drifted(kept, steps).get(name, ""),
        "due": record.due,
        "planned": _actions(steps).get(name, ""),
        "lifecycle": record.lifecycle,
        "comment": record.comment or (record.definition.comment if record.definition else "") or "",
        "component": list(group),
        "text": record.text,
        "columns": [
            {"name": column.name, "type": column.type, "comment": column.comment}
            for column in (record.definition.columns if record.definition else ())
        ],
        "changes": [
            {
                "name": change.name,
                "text": change.text,
                "done": len(change.statements),
                "total": change.total,
                "rollback": ";\n".join(change.rollback),
            }
            for change in record.changes
        ],
        "indexes": [{"name": index.name, "sql": index.sql} for index in record.indexes],
        "up": _lineage(name, reads),
        "down": _lineage(name, _inverse(reads)),
    }


def fingerprint(record: DeployedObject) -> str:
    """What tells one deployed version from another; scripted tables have one per file only."""
    return (record.hash or record.digest).rpartition(":")[2]


def drifted(kept: Kept, steps: Sequence[Step]) -> dict[str, str]:
    """What is different in the catalog, as far as it is known: kept, or a reason of the plan."""
    found = dict(kept.drift or {})
    for step in steps:
        for reason in step.reasons:
            if reason[0] == "drift":
                found.setdefault(step.object, " ".join(reason[1:]))
    return found


def _actions(steps: Sequence[Step]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for step in steps:
        for name in (step.object, *step.members):
            found.setdefault(name, set()).add(step.action)
    return {name: symbol(actions) for name, actions in found.items()}


def _inverse(reads: Reads) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for name, needs in reads.items():
        for need in needs:
            found.setdefault(need, []).append(name)
    return {name: tuple(sorted(users)) for name, users in found.items()}


def _lineage(start: str, reads: Mapping[str, tuple[str, ...]]) -> list[dict[str, Any]]:
    """Everything that is reached, the nearest first, each with how far it is."""
    far = {start: 0}
    queue = deque([start])
    while queue:
        name = queue.popleft()
        for need in reads.get(name, ()):
            if need not in far:
                far[need] = far[name] + 1
                queue.append(need)
    return [
        {"name": name, "schema": schema_of(name), "far": steps}
        for name, steps in far.items()
        if name != start
    ]

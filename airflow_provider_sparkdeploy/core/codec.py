"""The plan as JSON: stable, versioned, documented in ``docs/plan.md``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .cycles import Component
from .diagnostics import Diagnostic, problem
from .names import ObjectName, display, parse_name
from .operations import Blocked, Operation, Plan
from .state import decode_effect, encode_effect

VERSION = 1


def encode_plan(plan: Plan, *, effects: bool = False) -> dict[str, Any]:
    """A plan as plain values. ``effects`` adds what an executor needs to record it."""
    data: dict[str, Any] = {
        "version": VERSION,
        "fingerprint": plan.fingerprint,
        "operations": [encode_operation(operation, effects=effects) for operation in plan.operations],
        "dirty": {key: list(names) for key, names in plan.dirty.items()},
        "components": [
            {"id": item.id, "members": [str(name) for name in item.members], "monotone": item.monotone}
            for item in plan.components
        ],
        "blocked": [
            {**encode_operation(item.operation, effects=effects), "reason": item.reason}
            for item in plan.blocked
        ],
        "warnings": [encode_diagnostic(item) for item in plan.warnings],
        "errors": [encode_diagnostic(item) for item in plan.errors],
    }
    if effects:
        data["notes"] = [encode_effect(effect) for effect in plan.notes]
    return data


def plan_to_json(plan: Plan, *, effects: bool = False) -> str:
    """Byte-equal for equal plans: a line per key, and one per operation."""
    encode = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
    lines = []
    for key, value in encode_plan(plan, effects=effects).items():
        if isinstance(value, list) and value:
            items = ",\n    ".join(map(encode, value))
            lines.append(f"  {encode(key)}: [\n    {items}\n  ]")
        else:
            lines.append(f"  {encode(key)}: {encode(value)}")
    return "{\n" + ",\n".join(lines) + "\n}"


def plan_from_json(text: str) -> Plan:
    """The plan that ``plan_to_json`` wrote; effects are there only if they were written."""
    try:
        data = json.loads(text)
        version = data["version"]
        if version == VERSION:
            return _read_plan(data)
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration, RecursionError):
        raise problem("SD605", "not a plan that sparkdeploy wrote", advice="Plan again.") from None
    raise problem(
        "SD605", f"the plan has version {version}, this sparkdeploy reads {VERSION}", advice="Plan again."
    )


def _read_plan(data: Mapping[str, Any]) -> Plan:
    diagnostics = [
        *(_read_diagnostic(item, "warning") for item in data["warnings"]),
        *(_read_diagnostic(item, "error") for item in data["errors"]),
    ]
    return Plan(
        fingerprint=data["fingerprint"],
        operations=tuple(decode_operation(item) for item in data["operations"]),
        dirty={key: tuple(names) for key, names in data["dirty"].items()},
        components=tuple(
            Component(item["id"], tuple(_read_name(name) for name in item["members"]), item["monotone"])
            for item in data["components"]
        ),
        blocked=tuple(Blocked(decode_operation(item), item["reason"]) for item in data["blocked"]),
        diagnostics=tuple(sorted(diagnostics)),
        notes=tuple(decode_effect(item) for item in data.get("notes", ())),
    )


def encode_operation(operation: Operation, *, effects: bool = True) -> dict[str, Any]:
    """An operation as plain values; with its effects it is all that an executor needs."""
    data: dict[str, Any] = {
        "id": operation.id,
        "phase": operation.phase,
        "action": operation.action,
        "object": display(operation.object),
        "kind": operation.kind,
        "change": operation.change,
        "statement": operation.statement,
        "sql": operation.sql,
        "hash": operation.hash,
        "depends_on": list(operation.depends_on),
        "reasons": [list(reason) for reason in operation.reasons],
        "destructive": operation.destructive,
        "compute": operation.compute,
    }
    if effects:
        data["narrows"] = operation.narrows
        data["index"] = operation.index
        data["physical"] = list(operation.physical)
        data["effects"] = [encode_effect(effect) for effect in operation.effects]
    return data


def decode_operation(data: Mapping[str, Any]) -> Operation:
    """The inverse of ``encode_operation``; effects are there only if they were written."""
    return Operation(
        id=data["id"],
        phase=data["phase"],
        action=data["action"],
        object=_read_name(data["object"]),
        kind=data["kind"],
        sql=data["sql"],
        hash=data["hash"],
        change=data["change"],
        statement=data["statement"],
        depends_on=tuple(data["depends_on"]),
        reasons=tuple(tuple(reason) for reason in data["reasons"]),
        destructive=data["destructive"],
        compute=data["compute"],
        narrows=data.get("narrows", False),
        index=data.get("index"),
        physical=tuple(data.get("physical", ())),
        effects=tuple(decode_effect(item) for item in data.get("effects", ())),
    )


def _read_name(text: str) -> ObjectName:
    return ObjectName(*(parse_name(text) or ("", "")))


def encode_diagnostic(item: Diagnostic) -> dict[str, Any]:
    """A problem as every JSON of this tool has it."""
    return {
        "code": item.code,
        "message": item.message,
        "file": item.file or None,
        "line": item.line or None,
        "object": item.object or None,
        "advice": item.advice or None,
    }


def _read_diagnostic(data: Mapping[str, Any], severity: Any) -> Diagnostic:
    return Diagnostic(
        data["file"] or "", data["line"] or 0, data["code"], data["message"], data["advice"] or "", severity,
        data["object"] or "",
    )  # fmt: skip

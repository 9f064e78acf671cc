"""What Airflow keeps of a deployment, as values. Tolerant: what another version wrote, or did not
write, is left out and never an error; the page then shows less."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...core.codec import decode_operation
from ...core.names import display
from ...core.operations import PHASES, Operation
from ...core.state import PutObject
from ..keeping import Recorded
from ..runlog import BEFORE, opened
from ..shown import Shown, decode_cycle, decode_shown
from .values import Kept, Log, Step

PLAN, OPERATION = "SparkDeployPlanOperator", "SparkDeployOperator"
_LASTING = ("active",)  # of a view, whatever its graph


def kept(view: Mapping[str, Any], recorded: Recorded | None) -> Kept:
    state = recorded or Recorded()
    drift = {display(name): why for name, why in state.drift.items()}
    cycles = view.get("cycles")
    return Kept(
        state=state.state,
        serial=state.serial,
        known=recorded is not None,
        active=view.get("active", ""),
        problems=tuple(view.get("problems", ())),
        blocked=view.get("blocked", 0),
        guess=view.get("guess", False),
        drift=drift if state.looked else None,
        looked=state.looked,
        cycles=None if cycles is None else tuple(map(decode_cycle, cycles)),
    )


def shown_steps(view: Mapping[str, Any], texts: Mapping[str, Any]) -> tuple[Step, ...]:
    """The operations of the kept graph."""
    sql = texts.get("texts", {})
    items = [decode_shown(item) for item in view.get("operations", ())]
    return tuple(_of_shown(item, sql.get(item.id, "")) for item in items)


def fitting_view(
    view: Mapping[str, Any], texts: Mapping[str, Any], about: Mapping[str, Any], drawn: tuple[Step, ...]
) -> tuple[Mapping[str, Any], tuple[Step, ...]]:
    """Which of the kept views is what Airflow's graph shows, and its operations. Where none is (the
    repository has changed since), there is what the tasks of the graph say: ``about`` is that of
    ``plan``."""
    ids = {step.id for step in drawn}
    for item in (view, view.get("next") or {}):
        if not item or item.get("fingerprint") != about.get("fingerprint", item.get("fingerprint")):
            continue
        if {entry[0] for entry in item.get("operations", ())} == ids:
            return item, shown_steps(item, texts)
    return {**about, **{key: value for key, value in view.items() if key in _LASTING}}, drawn


def _of_shown(item: Shown, sql: str) -> Step:
    return Step(
        item.id, item.phase, item.action, item.object, item.kind, item.hash, sql, depends_on=item.depends_on,
        reasons=item.reasons, destructive=item.destructive, reads=item.reads,
        members=item.settles if item.action == "fixpoint" else (),
    )  # fmt: skip


def serialized_tasks(data: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """The tasks of a serialized DAG, without building any of them."""
    tasks = (data or {}).get("dag", {}).get("tasks", ())
    return [item.get("__var", item) for item in tasks]


def groups(tasks: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The deployments of a DAG: the ids of their groups, empty for that of the whole DAG."""
    plans = [str(item["task_id"]) for item in tasks if item.get("task_type") == PLAN]
    return tuple(sorted(name.removesuffix("plan").removesuffix(".") for name in plans))


def drawn_plan(tasks: Sequence[Mapping[str, Any]], group: str) -> Mapping[str, Any]:
    """What the task ``plan`` of a deployment says of its graph; empty where another version made it."""
    name = f"{group}.plan" if group else "plan"
    return next((_about(item) for item in tasks if item["task_id"] == name), {})


def _about(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a task says of itself; Airflow leaves out what is very long."""
    found = item.get("about")
    return found if isinstance(found, Mapping) else {}


def drawn_steps(tasks: Sequence[Mapping[str, Any]], group: str) -> tuple[Step, ...]:
    """The operations that Airflow's graph shows now: as a parse made them, kept or not."""
    prefix = f"{group}." if group else ""
    own = {
        str(item["task_id"]).removeprefix(prefix): item
        for item in tasks
        if item.get("task_type") == OPERATION and str(item["task_id"]).startswith(prefix)
    }
    own = {
        name: item for name, item in own.items() if name.partition(".")[0] in PHASES
    }  # not another group's
    ids = {name: str(_about(item).get("operation", name)) for name, item in own.items()}
    waits: dict[str, list[str]] = {name: [] for name in own}
    for name, item in own.items():
        for then in item.get("downstream_task_ids", ()):
            if (follower := then.removeprefix(prefix)) in waits:
                waits[follower].append(ids[name])
    return tuple(_of_task(ids[name], item, tuple(sorted(waits[name]))) for name, item in own.items())


def _of_task(name: str, item: Mapping[str, Any], waits: tuple[str, ...]) -> Step:
    about = _about(item)
    reasons = item.get("reasons")
    why = tuple(tuple(map(str, reason)) for reason in reasons) if isinstance(reasons, list) else ()
    sql = item.get("sql")
    return Step(
        name,
        name.partition(".")[0],
        about.get("action", "run"),
        about.get("object", name),
        about.get("kind", ""),
        about.get("hash", ""),
        sql=sql if isinstance(sql, str) else "",
        depends_on=waits,
        reasons=why,
        destructive=about.get("destructive", False),
        reads=tuple(about.get("reads", ())),
    )


def log_of(values: Mapping[str, Any]) -> Log | None:
    """The XComs of a ``plan`` task by their keys; None where it has frozen nothing."""
    frozen = values.get("frozen")
    if not isinstance(frozen, Mapping):
        return None
    encoded: dict[str, Any] = {}
    entries: dict[str, Sequence[Mapping[str, Any]]] = {}
    for key, value in values.items():
        if key.startswith("frozen."):
            encoded |= value or {}
        elif key.startswith("log."):
            entries[key.removeprefix("log.")] = [_opened(item) for item in value or ()]
    ids = tuple(frozen.get("ids", ()))
    before = values.get(BEFORE) or {}
    return Log(
        run=frozen.get("run", ""),
        at=frozen.get("at", ""),
        fingerprint=frozen.get("fingerprint", ""),
        environment=frozen.get("environment", ""),
        ids=ids,
        steps=tuple(_of_operation(encoded[name], before.get(name)) for name in ids if name in encoded),
        entries=entries,
        decision=values.get("decision") or {},
        stale=tuple(frozen.get("stale", ())),
        needs_approval=frozen.get("needs_approval", False),
        dry_run=frozen.get("dry_run", False),
        request=frozen.get("request", {}),
    )


def _opened(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    detail = entry.get("detail")
    return {**entry, "detail": opened(detail)} if detail else entry


def _of_operation(data: Mapping[str, Any], before: str | None) -> Step:
    item: Operation = decode_operation(data)
    records = [effect.record for effect in item.effects if isinstance(effect, PutObject)]
    own = next((record for record in records if record.name == item.object), None)
    whole = own is not None and own.text and item.change is None and item.index is None
    return Step(
        item.id, item.phase, item.action, display(item.object), item.kind, item.hash, item.sql, item.change,
        item.index, item.depends_on, item.reasons, item.destructive, item.compute,
        tuple(display(name) for name in own.dependencies) if own else (),
        own.text if own is not None and whole and item.action != "fixpoint" else None,
        before,
        tuple(display(record.name) for record in records) if item.action == "fixpoint" else (),
    )  # fmt: skip

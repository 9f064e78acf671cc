"""What is kept within a run: its frozen plan, and the deploy log, in XComs of its ``plan`` task.

A task's own XComs are deleted when it starts again; those of ``plan`` survive retries and clears of
the operations. Each operation keeps its entries in its own state store, too, which survives a
clear of ``plan`` and of the whole run. An entry is small: what the frozen plan says of its
operation is not repeated in it.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from airflow.sdk.bases.xcom import BaseXCom
from airflow.sdk.exceptions import AirflowNotFoundException

from ..core.codec import decode_operation, encode_operation
from ..core.deploylog import Entry, LogContent, decode_entry
from ..core.diagnostics import problem
from ..core.operations import Operation
from ..core.state import Effect, decode_effect, encode_effect
from .deploying import Deploying

_FROZEN = "frozen"
_BUCKETS = 64  # an operation reads one of them, so that a plan of thousands stays cheap to read
_DECISION = "decision"
_ASKED = "asked"
BEFORE = "before"  # the texts that were deployed until then
_STORED = "log"
_LONGEST = 1_000  # characters of an error; a quarter of that where it is not ASCII, of which JSON makes up to twelve each
_LONG = ("before", "rows")  # of an entry: the definition of a wide table, the passes of a fixpoint
_PLAIN = 500  # characters of such a value that is kept as it is; longer ones are packed

if TYPE_CHECKING:
    from ..spark.lock import Lock
    from ..spark.session import Sessions


class StateStore(Protocol):
    """What a task has of its own, and keeps when it is cleared."""

    def get(self, key: str, default: Any = None) -> Any: ...

    def set(self, key: str, value: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class Frozen:
    """The plan of a run, without its operations: those are read one by one.

    ``ids`` are its operations in order; ``seen`` is the lock that was seen when it was made;
    ``needs_approval`` says that a person decides; ``notes`` are what is recorded without running
    anything. ``request`` is what the run was asked for; ``kind`` is what the history calls it;
    ``conn_id`` is the connection that it was made through, whatever the DAG file names meanwhile.
    """

    run: str
    at: str
    fingerprint: str
    environment: str
    ids: tuple[str, ...] = ()
    seen: int = 0
    needs_approval: bool = False
    dry_run: bool = False
    stale: tuple[str, ...] = ()
    notes: tuple[Effect, ...] = ()
    target: Mapping[str, Any] = field(default_factory=dict)
    request: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "airflow"
    conn_id: str | None = None

    def sessions(self) -> Sessions:
        """Those of the Spark that it is for."""
        from .hook import SparkDeployHook

        try:
            return SparkDeployHook(self.conn_id).sessions()
        except AirflowNotFoundException:
            raise problem(
                "SD710",
                f"{self.run} was planned through the connection {self.conn_id}, which is no longer there",
                advice="Define it again. Where the Spark that it led to is gone for good: delete the Variable "
                "sparkdeploy.view.* of this deployment, and start a new run.",
            ) from None

    def lock(self, sessions: Sessions) -> Lock:
        """The lock of this run."""
        from ..spark.lock import Lock
        from ..spark.target import Target

        schema = Target(**self.target).log_schema
        return Lock(sessions, schema, self.run, refreshes=self.kind == "refresh")


class RunLog:
    """The XComs of one run's ``plan`` task."""

    def __init__(self, deploying: Deploying, run_id: str) -> None:
        self._place: dict[str, Any] = {
            "dag_id": deploying.dag_id,
            "task_id": deploying.task_id("plan"),
            "run_id": run_id,
        }
        self._deploying = deploying

    def freeze(
        self, frozen: Frozen, operations: Sequence[Operation], before: Mapping[str, str] | None = None
    ) -> None:
        """Write the plan down. What says that there is one is written last. ``before`` are the texts
        that were deployed until then, by operation, for people."""
        buckets: dict[int, dict[str, Any]] = {}
        for operation in operations:
            buckets.setdefault(_bucket(operation.id), {})[operation.id] = encode_operation(operation)
        for number, content in sorted(buckets.items()):
            self._set(f"{_FROZEN}.{number}", content)
        if before:
            self._set(BEFORE, dict(before))
        self._set(
            _FROZEN,
            {
                "run": frozen.run,
                "at": frozen.at,
                "fingerprint": frozen.fingerprint,
                "environment": frozen.environment,
                "ids": list(frozen.ids),
                "seen": frozen.seen,
                "needs_approval": frozen.needs_approval,
                "dry_run": frozen.dry_run,
                "stale": list(frozen.stale),
                "notes": [encode_effect(effect) for effect in frozen.notes],
                "target": dict(frozen.target),
                "request": dict(frozen.request),
                "kind": frozen.kind,
                "conn_id": frozen.conn_id,
            },
        )

    def frozen(self) -> Frozen | None:
        data = self._get(_FROZEN)
        if data is None:
            return None
        return Frozen(
            **{
                **data,
                "ids": tuple(data["ids"]),
                "stale": tuple(data["stale"]),
                "notes": tuple(decode_effect(item) for item in data["notes"]),
            }
        )

    def whole(self, name: str) -> str:
        """The id of an operation, by the name of its task, which may be shortened. The plan is not read
        for one that is not."""
        frozen = self.frozen() if self._deploying.may_be_shortened(name) else None
        return self._deploying.whole(name, frozen.ids) if frozen else name

    def operation(self, name: str) -> Operation | None:
        """An operation of the frozen plan; None where the plan does not have it."""
        data = (self._get(f"{_FROZEN}.{_bucket(name)}") or {}).get(name)
        return decode_operation(data) if data else None

    def operations(self, frozen: Frozen) -> list[Operation]:
        """All of them, in the order of the plan; those that are lost are missing."""
        found: dict[str, Any] = {}
        for number in sorted({_bucket(name) for name in frozen.ids}):
            found |= self._get(f"{_FROZEN}.{number}") or {}
        return [decode_operation(found[name]) for name in frozen.ids if name in found]

    def ask(self, frozen: Frozen) -> None:
        """Somebody is asked about this very plan. A plan that is made anew forgets it."""
        self._set(_ASKED, frozen.at)

    def asked(self, frozen: Frozen) -> bool:
        return bool(self._get(_ASKED) == frozen.at)

    def decide(self, frozen: Frozen, decision: Mapping[str, Any]) -> None:
        self._set(_DECISION, {**decision, "plan": frozen.at})

    def decision(self, frozen: Frozen) -> Mapping[str, Any]:
        """What was decided about this very plan."""
        found: Mapping[str, Any] = self._get(_DECISION) or {}
        return found if found.get("plan") == frozen.at else {}

    def is_recorded(self) -> bool:
        """Whether ``record`` came to a good end: by what it returned, because a person can give it any
        colour."""
        place = {**self._place, "task_id": self._deploying.task_id("record")}
        return BaseXCom.get_one(key=BaseXCom.XCOM_RETURN_KEY, **place) is not None

    def entries(self, operation: Operation) -> list[Entry]:
        """What was written of an operation."""
        return [expanded(item, operation) for item in self._get(f"log.{operation.id}") or ()]

    def write(self, operation: Operation, entries: Iterable[Entry]) -> list[dict[str, Any]]:
        items = [compact(entry, operation) for entry in entries]
        self._set(f"log.{operation.id}", items)
        return items

    def _set(self, key: str, value: Any) -> None:
        BaseXCom.set(key=key, value=value, **self._place)

    def _get(self, key: str) -> Any:
        return BaseXCom.get_one(key=key, **self._place)


class OperationLog:
    """The deploy log as one operation sees it: its own entries. A ``DeployLog``.

    Where ``plan`` was cleared, and its XComs with it, they come from the task's own store. What that
    says was done before the plan was made does not count: the plan has looked since, and wants it. Of
    a script, whose statements must not run twice, the last attempt is judged by the catalog then, as
    one that never reported.
    """

    def __init__(self, log: RunLog, frozen: Frozen, operation: Operation, store: StateStore | None) -> None:
        self._log, self._operation, self._store = log, operation, store
        self._entries = log.entries(operation)
        self.abandoned = ""  # the run of an attempt at another text, which may still be under way
        if self._entries or store is None:
            return
        kept = store.get(_STORED) or {}
        found = [expanded(item, operation) for item in kept.get("entries", ())]
        if kept.get("hash") != operation.hash:
            self.abandoned = found[-1].run if found and found[-1].type == "intent" else ""
            return
        if found and found[-1].type == "done" and found[-1].at < frozen.at:
            found = found[:-1] if is_judged(operation) else []
        self._entries = found

    @property
    def entries(self) -> Sequence[Entry]:
        return tuple(self._entries)

    @property
    def done(self) -> bool:
        """Whether its last word is that it succeeded."""
        return bool(self._entries) and self._entries[-1].type == "done"

    def read(self) -> LogContent:
        return LogContent(self.entries)

    def append(self, entries: Iterable[Entry]) -> None:
        """The state store first: it is what a clear of everything leaves."""
        self._entries += entries
        if self._store is not None:
            items = [compact(entry, self._operation) for entry in self._entries]
            self._store.set(_STORED, {"hash": self._operation.hash, "entries": items})
        self._log.write(self._operation, self._entries)


def is_judged(operation: Operation) -> bool:
    """Whether running it a second time may do harm, and the catalog shows whether it ran."""
    from ..spark.execute import is_free_form

    return operation.change is not None and not is_free_form(operation)


def compact(entry: Entry, operation: Operation) -> dict[str, Any]:
    """An entry without what the frozen plan has of its operation."""
    detail = {key: value for key, value in entry.detail.items() if key != "operation"}
    if "error" in detail:
        error = str(detail["error"])[:_LONGEST]
        detail["error"] = error if error.isascii() else error[: _LONGEST // 4]
    detail |= {key: _packed(detail[key]) for key in _LONG if detail.get(key)}
    known = operation.effects if entry.type == "done" else ()
    plain = json.loads(json.dumps(detail))  # no tuples: what is stored is JSON
    data: dict[str, Any] = {"type": entry.type, "run": entry.run, "at": entry.at, "detail": plain}
    if more := [encode_effect(effect) for effect in entry.effects if effect not in known]:
        data["effects"] = _packed(more)
    return data


def expanded(data: Mapping[str, Any], operation: Operation) -> Entry:
    """The inverse of ``compact``."""
    detail = opened(data.get("detail", {}))
    effects = {"effects": _unpacked(data["effects"])} if "effects" in data else {}
    entry = decode_entry({**data, **effects, "detail": detail, "operation": operation.id})
    if entry.type == "intent":
        return replace(entry, detail={**entry.detail, "operation": encode_operation(operation)})
    if entry.type == "done":
        return replace(entry, effects=(*operation.effects, *entry.effects))
    return entry


def opened(detail: Mapping[str, Any]) -> dict[str, Any]:
    """What an entry tells of its operation, with nothing packed."""
    return {key: _unpacked(value) if key in _LONG else value for key, value in detail.items()}


def _packed(value: Any) -> Any:
    """A value of JSON, as short as can be."""
    text = json.dumps(value)
    return value if len(text) <= _PLAIN else base64.b64encode(zlib.compress(text.encode(), 9)).decode("ascii")


def _unpacked(value: Any) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(value))) if isinstance(value, str) else value


def _bucket(name: str) -> int:
    return zlib.crc32(name.encode()) % _BUCKETS


def all_entries(log: RunLog, operations: Iterable[Operation]) -> Iterator[tuple[Operation, list[Entry]]]:
    """The entries of every operation of a run, in the order of the plan."""
    for operation in operations:
        yield operation, log.entries(operation)

"""Deploy log x catalog: what is really deployed.

Missing in the catalog: not deployed. Different from what was recorded: drifted. Present but
unknown: adopted, if the repository declares it. ``on_drift`` decides what becomes of drift.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from .catalog import REDACTED, Catalog, ObservedObject
from .diagnostics import Diagnostic, Severity
from .lexer import LexError, lex, token_hash
from .names import ObjectName, quote, quote_part
from .objects import Kind, ObjectDef, TableDef
from .records import drop_begun, drops_table, record_of
from .repository import Repository
from .signature import declared_signature, signature_difference, signature_text
from .state import DeployedIndex, DeployedObject, DropObject, Effect, PutObject, State
from .statement import function_body, view_columns, view_text
from .tablediff import Recreate, provider_family, table_changes

MISSING = "missing in the catalog"
_IN_CATALOG: Mapping[Kind, str] = {
    "table": "table",
    "data": "table",
    "view": "view",
    "function": "function",
    "materialized_view": "materialized_view",
}


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The state to plan from; ``drift`` says of every object that is to be healed what is
    wrong with it, and ``recorded`` what the log had; ``notes`` are effects to record although
    nothing is run. ``differs`` is what is not as it was recorded, whether it is to be healed or not."""

    state: State
    drift: Mapping[ObjectName, str] = field(default_factory=dict)
    recorded: State = field(default_factory=dict)
    notes: tuple[Effect, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    differs: Mapping[ObjectName, str] = field(default_factory=dict)


def reconcile(repository: Repository, state: State, catalog: Catalog | None) -> Reconciled:
    """What the catalog makes of the recorded state. Without a catalog the log is believed."""
    if catalog is None:
        return Reconciled(state)
    return _Reconciler(repository, state, catalog, repository.settings.on_drift).run()


def find_drift(repository: Repository, state: State, catalog: Catalog) -> Mapping[ObjectName, str]:
    """What is missing or differs from what was recorded, whatever ``on_drift`` makes of it."""
    return _Reconciler(repository, state, catalog, "heal").run().drift


class _Reconciler:
    def __init__(self, repository: Repository, state: State, catalog: Catalog, policy: str) -> None:
        self.repository, self.state, self.catalog, self.policy = repository, state, catalog, policy
        self.real: dict[ObjectName, DeployedObject] = {}
        self.drift: dict[ObjectName, str] = {}
        self.differs: dict[ObjectName, str] = {}
        self.notes: list[Effect] = []
        self.problems: list[Diagnostic] = []

    def run(self) -> Reconciled:
        for name, record in sorted(self.state.items()):
            self.real[name] = record
            if self._judged(record):
                self._judge(record, self.catalog.objects.get(name))
        for name, item in self.repository.objects.items():
            observed = self.catalog.objects.get(name)
            if observed is not None and name not in self.state and item.lifecycle != "external":
                self._unknown(item, observed)
        recorded = {name: self.state[name] for name in self.drift}
        return Reconciled(
            dict(sorted(self.real.items())),
            self.drift,
            recorded,
            tuple(self.notes),
            tuple(self.problems),
            self.differs,
        )

    def _judged(self, record: DeployedObject) -> bool:
        """Whether the catalog says anything about an object, and whether it is ours to judge."""
        item = self.repository.objects.get(record.name)
        lifecycle = item.lifecycle if item else record.lifecycle
        return record.kind in _IN_CATALOG and lifecycle != "external" and self.catalog.judged(record.name)

    def _judge(self, record: DeployedObject, observed: ObservedObject | None) -> None:
        """A recorded object: missing, not readable, drifted, or as it should be."""
        name = record.name
        item = self.repository.objects.get(name)
        if observed is None:
            if item is not None and drop_begun(item, record):
                return  # its first statement may have moved it; the others are still to run
            self.differs[name] = MISSING
            if self._reported(name, MISSING):
                return
            if item is None and record.kind == "materialized_view":
                return  # it is to go, and its drop takes the data tables that it has left
            del self.real[name]
            self.drift[name] = MISSING
            self.notes.append(DropObject(name))  # its changes are not deployed either, not one of them
            return
        if not observed.readable:
            self._unreadable(name, "the log is believed", "warning")
            return
        there = _indexes_there(record, observed)
        if there != record.indexes:
            self.real[name] = record = replace(record, indexes=there, digest="")
        if record.scripted and item is not None and item.definition is not None and observed.kind == "table":
            seen = comparable(observed.definition, item.definition)  # it became a declaration
            self.real[name] = replace(record, definition=seen, digest="")
            return
        difference = _difference(self.repository, record, observed)
        if difference and self.policy != "adopt":
            self.differs[name] = difference
        if not difference or self._reported(name, difference) or self.policy == "warn":
            return
        self.real[name] = as_observed = _as_observed(record, observed)
        if self.policy == "heal":
            self.drift[name] = difference
        else:
            self.notes.append(PutObject(as_observed))

    def _reported(self, name: ObjectName, difference: str) -> bool:
        """Drift is reported where the policy says so; whether the plan stops there."""
        if self.policy in ("fail", "warn"):
            severity: Severity = "error" if self.policy == "fail" else "warning"
            self.problems.append(
                Diagnostic(
                    _path(self.repository, name), 1, "SD430", f"{name} has drifted: {difference}",
                    "on_drift: heal repairs it, adopt accepts it.", severity=severity, object=str(name),
                )
            )  # fmt: skip
        return self.policy == "fail"

    def _unreadable(self, name: ObjectName, so: str, severity: Severity) -> None:
        self.problems.append(
            Diagnostic(
                _path(self.repository, name), 1, "SD421", f"{name} exists, but could not be read; {so}",
                "Check the permissions of the connection.", severity=severity, object=str(name),
            )
        )  # fmt: skip

    def _unknown(self, item: ObjectDef, observed: ObservedObject) -> None:
        """An object that is there although the log does not know it: adopted as what it is."""
        if item.inactive or item.kind not in _IN_CATALOG:  # a sink or a migration leaves the name free
            return
        record = record_of(item, ())
        if observed.kind != _IN_CATALOG[item.kind] or drops_table(item):
            record = DeployedObject(item.name, observed.kind, item.physical)
        elif item.scripted:
            adopts = self.policy == "adopt"
            self.problems.append(
                Diagnostic(
                    item.path, item.line, "SD431", f"{item.name} exists in the catalog, and the log does not know it",
                    "All its changes are taken as deployed (on_drift: adopt)." if adopts
                    else _known_again(item, observed),
                    severity="warning" if adopts else "error", object=str(item.name),
                )
            )  # fmt: skip
            if not adopts:
                return
        elif not observed.readable and item.kind in ("table", "data"):
            self._unreadable(item.name, "and the log does not know it", "error")
            return
        else:
            record = _adopted(item, record, observed)
        self.real[item.name] = record
        self.notes.append(PutObject(record))


def _known_again(item: ObjectDef, observed: ObservedObject) -> str:
    baseline = f"If it is as its file says, record it: sparkdeploy baseline --select {item.name}."
    if observed.marker is None:
        return baseline
    return f"A deployment has made it: if the log was lost, sparkdeploy recover brings it back. {baseline}"


def _path(repository: Repository, name: ObjectName) -> str:
    item = repository.objects.get(name)
    return item.path if item else ""


def _difference(repository: Repository, record: DeployedObject, observed: ObservedObject) -> str:
    """How an object differs from what was recorded of it; empty when it does not."""
    if observed.kind != _IN_CATALOG[record.kind]:
        return f"is a {observed.kind} in the catalog"
    if record.kind == "view":
        return _view_difference(record.text, observed)
    if record.kind == "function":
        return _function_difference(record.text, observed)
    if record.kind == "materialized_view":
        return "its marker differs" if observed.marker is not None and observed.marker != record.hash else ""
    if record.definition is None:
        return ""
    actual = comparable(observed.definition, record.definition)
    catalog_type = repository.settings.catalog_type(record.physical)
    found = table_changes(
        record.physical, actual, record.definition, provider_family(record.definition, catalog_type)
    )
    if isinstance(found, Recreate):
        return found.reason
    return ", ".join(alteration.slug for alteration in found)


def _view_difference(text: str, observed: ObservedObject) -> str:
    parts = view_text(text) if text else None
    if parts is None or observed.text is None:
        return ""
    if not same_text(parts.query, observed.text):
        return "its query was changed"
    declared = view_columns(parts.header)
    there = tuple(column.name.casefold() for column in observed.definition.columns)
    # As many as the query has, or the catalog was misread: a name may hold anything.
    if declared and len(there) == len(declared) and there != declared:
        return "its columns were changed"
    return ""


def _function_difference(text: str, observed: ObservedObject) -> str:
    body = function_body(text) if text else None
    if not body or observed.text is None:
        return ""
    if not same_text(body, observed.text):
        return "its body was changed"
    return signature_difference(declared_signature(text), observed.signature)


def _indexes_there(record: DeployedObject, observed: ObservedObject) -> tuple[DeployedIndex, ...]:
    """The recorded indexes that a catalog has; all of them where it does not tell."""
    if observed.indexes is None:
        return record.indexes
    return tuple(index for index in record.indexes if index.created in observed.indexes)


def comparable(observed: TableDef, declared: TableDef) -> TableDef:
    """An observed definition without what the declaration leaves to the catalog. A property that
    Spark hides, for its name sounds like a secret, is taken as declared."""
    named = dict(declared.properties)
    return replace(
        observed,
        provider=observed.provider if declared.provider else "",
        properties=tuple(
            (key, named[key] if value == REDACTED else value)
            for key, value in observed.properties
            if key in named
        ),
    )


def same_text(left: str, right: str) -> bool:
    """Whether two texts are the same statement but for comments, blanks and the case of words."""
    if left == right:
        return True
    try:
        return token_hash(lex(left)) == token_hash(lex(right))
    except LexError:
        return False


def _as_observed(record: DeployedObject, observed: ObservedObject) -> DeployedObject:
    """The record, corrected to what the catalog holds."""
    kind: Kind = record.kind if observed.kind == _IN_CATALOG[record.kind] else observed.kind
    if kind != record.kind:
        return replace(record, kind=kind, hash="", text="", definition=None, changes=(), indexes=())
    if record.kind == "view" and observed.text is not None:
        parts = view_text(record.text) if record.text else None
        named = observed.definition.columns if parts and parts.columns else ()
        listed = f" ({', '.join(quote_part(column.name) for column in named)})" if named else ""
        return replace(record, text=f"CREATE VIEW {quote(record.physical)}{listed} AS {observed.text}")
    if record.kind == "function" and observed.text is not None:
        signature = signature_text(observed.signature)
        return replace(
            record, text=f"CREATE FUNCTION {quote(record.physical)}{signature} RETURN {observed.text}"
        )
    if record.definition is not None:
        return replace(record, definition=comparable(observed.definition, record.definition))
    return record


def _adopted(item: ObjectDef, record: DeployedObject, observed: ObservedObject) -> DeployedObject:
    """The record of an unknown object: the declared one if it is just so, else without a hash."""
    if observed.indexes is not None:
        record = replace(record, indexes=_indexes_there(record, observed), digest="")
    if item.kind in ("table", "data"):
        return replace(_as_observed(record, observed), hash="", digest="")
    if _as_declared(item, record, observed):
        return record
    return replace(record, hash="", text="", digest="")


def _as_declared(item: ObjectDef, record: DeployedObject, observed: ObservedObject) -> bool:
    """Whether the catalog shows of a stateless object what its file says."""
    if item.kind == "materialized_view":
        return observed.marker == item.body.hash
    if observed.text is None:
        return False
    if item.kind == "view":
        return view_text(record.text) is not None and not _view_difference(record.text, observed)
    return function_body(record.text) is not None and not _function_difference(record.text, observed)

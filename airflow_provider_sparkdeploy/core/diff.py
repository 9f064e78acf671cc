"""Sources x what is really deployed: what changed, object by object.

Stateful scripts: new is deployed, equal is left alone, changed or removed is fatal unless it
is baselined, INACTIVE or dropped by DROP_TABLE. Stateless objects: new is created, changed
is redeployed, removed is dropped. Declarative tables are compared column by column. Every
fatal problem is reported, and nothing is planned if there is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from .diagnostics import Diagnostic
from .graph import Graph
from .lazy import Records
from .names import ObjectName, display
from .objects import ObjectDef, Outlines, TableDef
from .reconcile import Reconciled
from .records import deployable, desired_definition, drops_table, head_record, index_record, record_of
from .repository import Repository
from .scriptdiff import (
    Pending,
    ScriptDiff,
    all_pending,
    edited,
    removed_script,
    script_changes,
    script_problem,
)
from .state import DeployedChange, DeployedObject, DropObject, Effect, PutIndex, PutObject, State
from .tablediff import Alteration, Recreate, provider_family, table_changes
from .values import value

Status = Literal["equal", "added", "modified", "removed", "kind", "moved"]


@value(frozen=True, slots=True)
class ObjectDiff:
    """What happened to one object. ``old`` is what is deployed, ``new`` what is declared.

    ``kind`` and ``moved`` mean that what is deployed is another thing in the catalog, of
    another kind or elsewhere. ``comment`` says that the comment of the header is not the
    deployed one; ``indexes_changed`` and ``indexes_removed`` count for what stays in place.
    """

    name: ObjectName
    status: Status
    old: DeployedObject | None = None
    new: ObjectDef | None = None
    pending: tuple[Pending, ...] = ()
    rollback: tuple[DeployedChange, ...] = ()
    alterations: tuple[Alteration, ...] = ()
    recreate: str = ""
    comment: bool = False
    indexes_changed: tuple[str, ...] = ()
    indexes_removed: tuple[str, ...] = ()
    drift: str = ""

    @property
    def changed(self) -> bool:
        """Whether it is a seed of the dirty propagation."""
        return self.status != "equal"

    @property
    def due(self) -> bool:
        """Whether it is as it should be, but an earlier plan has left it to be redeployed."""
        new, old = self.new, self.old
        if self.changed or new is None or old is None or not old.due:
            return False
        return not new.inactive and new.lifecycle != "external"

    @property
    def unfinished(self) -> bool:
        """Whether anything is to be done to it for its own sake."""
        indexes = self.indexes_changed or self.indexes_removed
        return self.changed or self.due or self.comment or bool(indexes)

    @property
    def replaced(self) -> bool:
        """Whether what is deployed makes room for another thing of the same name."""
        return self.status in ("kind", "moved") or bool(self.recreate)

    @property
    def drops(self) -> bool:
        """Whether it goes for good, other than by rolling back its changes."""
        return self.status == "removed" and not self.rollback

    @property
    def left(self) -> bool:
        """Whether nothing is done to it, whatever happens around it."""
        if self.new is None:
            return self.old is None or self.old.lifecycle == "external"
        if self.new.lifecycle == "external" or self.new.inactive:
            return True
        if self.status == "equal" and self.old is not None and self.old.kind != self.new.kind:
            return True  # on_drift: adopt took what is there for it; nothing can replace that in place
        return self.old is None and not deployable(self.new)


class Entries(Mapping[ObjectName, ObjectDiff]):
    """One entry per object, sorted by name. Those of equal objects are made when somebody
    first looks at them; ``different`` are all others."""

    def __init__(
        self, different: dict[ObjectName, ObjectDiff], objects: Mapping[ObjectName, ObjectDef], state: State
    ) -> None:
        self.different, self._objects, self._state = different, objects, state
        self._made = dict(different)

    def __getitem__(self, name: ObjectName) -> ObjectDiff:
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = ObjectDiff(name, "equal", self._state.get(name), self._objects[name])
        return made

    def __iter__(self) -> Iterator[ObjectName]:
        return iter(sorted(self._objects.keys() | self.different.keys()))

    def __len__(self) -> int:
        return len(self._objects.keys() | self.different.keys())

    def __contains__(self, name: object) -> bool:
        return name in self._objects or name in self.different


@dataclass(frozen=True, slots=True)
class Diff:
    """``state`` is what is really deployed: what the objects were compared with."""

    objects: Entries
    state: State = field(default_factory=dict)
    notes: tuple[Effect, ...] = ()
    problems: tuple[Diagnostic, ...] = field(default=())


def diff(repository: Repository, graph: Graph, reconciled: Reconciled, *, rollback: bool = False) -> Diff:
    """Compare everything. ``rollback`` undoes changes that the repository no longer has."""
    return _Differ(repository, graph, reconciled, rollback).run()


def _changed(
    state: State, outlines: Outlines, needs: Mapping[ObjectName, tuple[ObjectName, ...]]
) -> list[ObjectName]:
    """All objects but those that the log has just as they are: of these, nothing that is compared can
    differ."""
    if isinstance(state, Records):
        return state.changed(outlines, needs)
    return [
        name
        for name, digest in zip(outlines.names, outlines.digests, strict=True)
        if (old := state.get(name)) is None or old.digest != digest or old.dependencies != needs[name]
    ]


class _Differ:
    def __init__(self, repository: Repository, graph: Graph, reconciled: Reconciled, rollback: bool) -> None:
        self.repository = repository
        self.graph = graph
        self.reconciled = reconciled
        self.rollback = rollback
        self.problems: list[Diagnostic] = []
        self.notes: list[Effect] = list(reconciled.notes)

    def run(self) -> Diff:
        state, objects = self.reconciled.state, self.repository.objects
        drift = self.reconciled.drift
        found: dict[ObjectName, ObjectDiff] = {}
        changed = _changed(state, objects.outlines, self.graph.depends_on)
        for name in sorted({*changed, *(drift.keys() & objects.keys())}) if drift else changed:
            found[name] = self._declared(objects[name], state.get(name))
        outside = state.outside(objects) if isinstance(state, Records) else state.keys() - objects.keys()
        for name in sorted(outside):
            found[name] = self._removed(state[name])
        entries = Entries(dict(sorted(found.items())), objects, state)
        return Diff(entries, state, tuple(self.notes), tuple(self.problems))

    def _declared(self, new: ObjectDef, old: DeployedObject | None) -> ObjectDiff:
        """An object that the repository has, and that is not just as recorded."""
        drift = self.reconciled.drift.get(new.name, "")
        if new.inactive:
            return ObjectDiff(new.name, "equal", old, new)
        if new.lifecycle == "external":
            return self._external(new, old)
        if drops_table(new):
            return self._dropped(new, old)
        if old is not None and old.lifecycle == "external" and _another(old, new):
            self.notes.append(DropObject(new.name))  # it was never ours to drop
            old = None
        if old is None:
            status: Status = "added" if deployable(new) else "equal"
            return ObjectDiff(
                new.name, status, None, new, all_pending(new) if new.scripted else (), drift=drift
            )
        if old.kind != new.kind:
            pending = all_pending(new) if new.scripted else ()
            return ObjectDiff(new.name, "kind", old, new, pending, drift=drift)
        if _another(old, new):
            return self._moved(new, old)
        if new.scripted:
            entry = self._script(new, old, drift)
        elif new.kind == "table":
            entry = self._table(new, old, drift)
        else:
            entry = self._stateless(new, old, drift)
        if not entry.replaced:
            entry = self._with_indexes(entry, new, old)
        if entry.status == "equal":
            self._note_header(entry, new)
        return entry

    def _with_indexes(self, entry: ObjectDiff, new: ObjectDef, old: DeployedObject) -> ObjectDiff:
        """The entry of an object that stays in place, with what became of its indexes."""
        deployed = {index.name: index for index in old.indexes}
        changed: list[str] = []
        for index in new.indexes:
            known = deployed.pop(index.name, None)
            if known is None or known.hash != index.hash:
                changed.append(index.name)
            elif known.compute != index.compute:  # only said in its header
                self.notes.append(PutIndex(new.name, index_record(index)))
        return replace(entry, indexes_changed=tuple(changed), indexes_removed=tuple(deployed))

    def _note_header(self, entry: ObjectDiff, new: ObjectDef) -> None:
        """What a header says without changing the object still has to be known later on."""
        old = entry.old
        assert old is not None
        noted = replace(
            old, lifecycle=new.lifecycle, computes=new.computes, replacement=new.replacement,
            physical=new.physical, dependencies=self.graph.depends_on[new.name],
        )  # fmt: skip
        if noted != old:
            apart = entry.comment or entry.indexes_changed or entry.indexes_removed or entry.due
            digest = "" if apart else new.digest
            self.notes.append(PutObject(replace(noted, changes=(), indexes=(), digest=digest)))

    def _external(self, new: ObjectDef, old: DeployedObject | None) -> ObjectDiff:
        """Never touched. What its file says is noted, so that it is a change once, not for ever."""
        record = record_of(new, self.graph.depends_on[new.name], self.graph.requires)
        if old is None:
            self.notes.append(PutObject(record))
            return ObjectDiff(new.name, "added", None, new)
        self.notes += (DropObject(new.name), PutObject(record))
        same = _content(old) == _content(record)
        return ObjectDiff(new.name, "equal" if same else "modified", old, new)

    def _dropped(self, new: ObjectDef, old: DeployedObject | None) -> ObjectDiff:
        """DROP_TABLE; a drop of several statements that has begun goes on as any change does."""
        if old is None:
            return ObjectDiff(new.name, "equal", None, new)
        if old.kind in ("sink", "migration"):
            self.notes.append(DropObject(new.name))  # it left nothing that could be dropped
        for change in new.changes[-1:]:
            for record in old.changes:
                if change.drops_table and change.name == record.name:
                    self.problems += edited(new, change, record)
        return ObjectDiff(new.name, "removed", old, new)

    def _moved(self, new: ObjectDef, old: DeployedObject) -> ObjectDiff:
        """Its schema is mapped elsewhere now: made there, dropped here. Scripts do not move."""
        if new.scripted or old.scripted:
            was, now = display(old.physical), display(new.physical)
            self.problems.append(
                script_problem(
                    new, new.line, "SD406", f"{new.name} was deployed as {was}, and is mapped to {now} now",
                    f"Map its schema back. If {now} is there as its file says, record it: "
                    f"sparkdeploy baseline --select {new.name}.",
                )
            )  # fmt: skip
            return ObjectDiff(new.name, "equal", old, new)
        return ObjectDiff(new.name, "moved", old, new)

    def _script(self, new: ObjectDef, old: DeployedObject, drift: str) -> ObjectDiff:
        found = self._taken(script_changes(new, old, self.graph.requires, rollback=self.rollback))
        healing = self._heal_script(new, old) if drift and new.kind == "table" else ()
        return ObjectDiff(
            new.name, "modified" if found.pending or found.rollback or healing else "equal", old, new,
            found.pending, found.rollback, healing, comment=new.comment != old.comment, drift=drift,
        )  # fmt: skip

    def _taken(self, found: ScriptDiff) -> ScriptDiff:
        self.notes += found.notes
        self.problems += found.problems
        return found

    def _heal_script(self, new: ObjectDef, old: DeployedObject) -> tuple[Alteration, ...]:
        """A drifted script cannot run again; its table is altered back where that is possible."""
        target = self.reconciled.recorded.get(new.name)
        if target is None or target.definition is None or old.definition is None:
            return ()
        found = self._table_changes(new, old.definition, target.definition)
        if not isinstance(found, Recreate):
            return found
        self.problems.append(
            script_problem(
                new, new.line, "SD432", f"{new.name} has drifted and cannot be altered back: {found.reason}",
                "Repair it by hand, or accept it with on_drift: adopt.",
            )
        )  # fmt: skip
        return ()

    def _table_changes(
        self, new: ObjectDef, deployed: TableDef, desired: TableDef
    ) -> tuple[Alteration, ...] | Recreate:
        family = provider_family(desired, self.repository.settings.catalog_type(new.physical))
        return table_changes(new.physical, deployed, desired, family)

    def _table(self, new: ObjectDef, old: DeployedObject, drift: str) -> ObjectDiff:
        """A declarative table, compared with what is deployed."""
        if old.scripted:
            old = self._declared_from_now_on(new, old)
        desired = desired_definition(new)
        same_text = new.body.hash == old.hash and (new.comment or "") == (old.comment or "")
        if (same_text and not drift) or desired is None:
            return ObjectDiff(new.name, "equal", old, new)
        found = self._table_changes(new, old.definition or TableDef(), desired)
        if isinstance(found, Recreate):
            return ObjectDiff(new.name, "modified", old, new, recreate=found.reason, drift=drift)
        if found:
            comment = new.body.hash == old.hash and not drift  # nothing but that of the header
            status: Status = "equal" if comment else "modified"
            return ObjectDiff(new.name, status, old, new, alterations=found, comment=comment, drift=drift)
        if old.hash and not same_text:
            self._warn(
                new, "SD423", f"the text of {new.name} changed, but nothing that can be compared",
                "Columns, types, comments, properties, partitioning and provider are as deployed; nothing is done.",
            )  # fmt: skip
        settled = replace(head_record(new, self.graph.depends_on[new.name]), indexes=old.indexes)
        self.notes.append(PutObject(settled))
        return ObjectDiff(new.name, "equal", settled, new, drift=drift)

    def _declared_from_now_on(self, new: ObjectDef, old: DeployedObject) -> DeployedObject:
        """A script that became a declaration: its changes are forgotten, its columns compared."""
        record = replace(head_record(new, self.graph.depends_on[new.name]), indexes=old.indexes)
        if old.definition is None:
            self._warn(
                new, "SD422", f"{new.name} was deployed from CHANGE sections; its columns are not known",
                "They are compared when a catalog is inspected; until then the declaration is taken as deployed.",
            )  # fmt: skip
        else:
            record = replace(record, hash="", definition=old.definition)
        self.notes += (DropObject(new.name), PutObject(record))
        return record

    def _warn(self, new: ObjectDef, code: str, message: str, advice: str) -> None:
        self.problems.append(
            Diagnostic(new.path, new.line, code, message, advice, severity="warning", object=str(new.name))
        )

    def _stateless(self, new: ObjectDef, old: DeployedObject, drift: str) -> ObjectDiff:
        status: Status = "modified" if new.body.hash != old.hash or drift else "equal"
        comment, recreate = new.comment != old.comment, ""
        desired = desired_definition(new)
        if new.kind == "data" and status == "modified" and desired is not None:
            deployed = old.definition or TableDef()
            comment = desired.comment != deployed.comment
            if self._table_changes(new, replace(deployed, comment=""), replace(desired, comment="")):
                recreate = "its columns changed"
        return ObjectDiff(
            new.name, status, old, new, recreate=recreate, comment=comment and not recreate, drift=drift
        )

    def _removed(self, old: DeployedObject) -> ObjectDiff:
        """An object whose file is gone."""
        if old.lifecycle == "external":
            self.notes.append(DropObject(old.name))
            return ObjectDiff(old.name, "equal", old)
        if old.scripted:
            undone = self._taken(removed_script(old, rollback=self.rollback)).rollback
            return ObjectDiff(old.name, "removed" if undone else "equal", old, rollback=undone)
        if old.kind == "sink":
            self.notes.append(DropObject(old.name))
        return ObjectDiff(old.name, "removed", old)


def _another(old: DeployedObject, new: ObjectDef) -> bool:
    """Whether what is deployed is another thing in the catalog: of another kind, or elsewhere."""
    elsewhere = new.kind not in ("sink", "migration") and _folded(old.physical) != _folded(new.physical)
    return old.kind != new.kind or elsewhere


def _folded(physical: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.casefold() for part in physical)


def _content(record: DeployedObject) -> tuple[object, ...]:
    """What its readers would notice of an object."""
    changes = [change.statements for change in record.changes]
    return record.kind, _folded(record.physical), record.hash, changes

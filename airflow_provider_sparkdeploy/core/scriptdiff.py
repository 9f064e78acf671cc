"""Deployed changes x declared changes of one script: what is to run, to undo, to note.

New is deployed, equal is left alone, changed or removed is fatal, unless it is baselined or
INACTIVE. A change of which only some statements were run goes on where it stopped; those that
have not run may still be corrected.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from .diagnostics import Diagnostic
from .objects import Change, ObjectDef
from .records import Requires, change_record
from .squash import Squashes, behind, inner, missing
from .state import DeployedChange, DeployedObject, Effect, PutChange, PutObject


@dataclass(frozen=True, slots=True)
class Pending:
    """A change whose statements from number ``start`` (counted from 0) on are still to run."""

    change: Change
    start: int = 0


@dataclass(frozen=True, slots=True)
class ScriptDiff:
    """``rollback`` are the changes to undo, last first; ``notes`` are to record without a run."""

    pending: tuple[Pending, ...] = ()
    rollback: tuple[DeployedChange, ...] = ()
    notes: tuple[Effect, ...] = ()
    problems: tuple[Diagnostic, ...] = ()


def all_pending(new: ObjectDef) -> tuple[Pending, ...]:
    """What a script runs that was never deployed."""
    return tuple(Pending(change) for change in new.changes if not change.inactive)


def script_changes(new: ObjectDef, old: DeployedObject, requires: Requires, *, rollback: bool) -> ScriptDiff:
    """A script that is declared, compared with what is deployed of it."""
    if not old.changes:
        return ScriptDiff(
            problems=(
                script_problem(
                    new, new.line, "SD404",
                    f"{new.name} was deployed from one CREATE TABLE, and now has CHANGE sections",
                    f"If the first changes give what is deployed, record them: sparkdeploy baseline --select {new.name}.",
                ),
            )
        )  # fmt: skip
    deployed = {change.name: change for change in old.changes}
    declared = {change.name: change for change in new.changes}
    squashes = _squashes(new, old)
    active = [change for change in new.changes if not change.inactive]
    baselined = set(behind([name for change in active for name in change.baselines], squashes))
    problems = [
        problem
        for name, change in declared.items()
        if name in deployed and name not in baselined and not change.inactive
        for problem in edited(new, change, deployed[name])
    ]
    gone = [change for change in old.changes if change.name not in declared and change.name not in baselined]
    apart = {change.name: parts for change in gone if rollback and (parts := _parts(change, new, deployed))}
    undone, refused = _undone(new, old, [change for change in gone if change.name not in apart], rollback)
    pending: list[Pending] = []
    notes: list[Effect] = []
    if apart:
        old = _taken_apart(new, old, apart, requires)
        deployed = {change.name: change for change in old.changes}
        notes.append(PutObject(old))
    there = _there(deployed)
    for change in new.changes:
        known = deployed.get(change.name)
        if change.inactive or (known is not None and known.complete):
            continue
        stands_for = behind(change.baselines, squashes)
        if known is None and not there.isdisjoint(stands_for):
            problems += _missing_baselines(new, change, there, squashes)
            record = replace(
                change_record(new.name, change, requires), squashed=inner(change.baselines, squashes)
            )
            notes.append(PutChange(new.name, record, stands_for))
        elif known is not None and len(known.statements) == len(change.statements):
            notes.append(
                PutChange(new.name, change_record(new.name, change, requires))
            )  # its failed end was taken out
        else:
            pending.append(Pending(change, len(known.statements) if known else 0))
    return ScriptDiff(tuple(pending), undone, tuple(notes), (*problems, *refused))


def removed_script(old: DeployedObject, *, rollback: bool) -> ScriptDiff:
    """A deployed script whose file is gone."""
    if rollback:
        undone, refused = _undone(None, old, list(old.changes), rollback)
        return ScriptDiff(rollback=undone, problems=refused)
    if old.kind == "migration":
        return ScriptDiff()  # it may be deleted once it was deployed
    message = (
        f"{old.name} was deployed from CHANGE sections, and its file is gone or not for this environment"
    )
    advice = "Restore the file, and add //// METADATA DROP_TABLE to it if the table is to be dropped."
    return ScriptDiff(problems=(Diagnostic(old.path, 0, "SD401", message, advice, object=str(old.name)),))


def edited(new: ObjectDef, change: Change, record: DeployedChange) -> Iterator[Diagnostic]:
    """What was run must stay as it was."""
    hashes = tuple(statement.hash for statement in change.statements)
    if record.undone:
        yield script_problem(
            new, change.line, "SD407",
            f"CHANGE {change.name} of {new.name} was partly rolled back ({record.undone} statements)",
            "Finish with sparkdeploy rollback from a repository without it; then it can be deployed again.",
        )  # fmt: skip
    elif record.complete and hashes != record.statements:
        yield _changed(new, change, "was deployed")
    elif hashes[: len(record.statements)] != record.statements:
        yield _changed(new, change, f"was partly deployed ({len(record.statements)} statements)")


def _changed(new: ObjectDef, change: Change, what: str) -> Diagnostic:
    return script_problem(
        new, change.line, "SD402", f"CHANGE {change.name} of {new.name} {what}, and its text has changed since",
        "Restore its text, and put the correction into a new CHANGE.",
    )  # fmt: skip


def _undone(
    new: ObjectDef | None, old: DeployedObject, gone: list[DeployedChange], rollback: bool
) -> tuple[tuple[DeployedChange, ...], tuple[Diagnostic, ...]]:
    """Of the changes that the repository no longer has those to roll back, last first."""
    if old.kind == "migration":  # its changes may be deleted once they were deployed
        gone = [change for change in gone if rollback and change.rollback]
    place = (new.path, new.line) if new else ("", 0)
    if not rollback:
        advice = (
            "Restore it, list it in baselinedChanges of the change that replaces it, or deploy the older "
            "repository with sparkdeploy rollback."
        )
        what = "was deployed, and is gone from the repository"
        return (), tuple(
            Diagnostic(
                *place, "SD401", f"CHANGE {change.name} of {old.name} {what}", advice, object=str(old.name)
            )
            for change in gone
        )
    what = "cannot be rolled back: no rollback was recorded"
    refused = tuple(
        Diagnostic(
            *place, "SD405", f"CHANGE {change.name} of {old.name} {what}",
            "Undo it in a new CHANGE instead.", object=str(old.name),
        )
        for change in gone
        if not change.rollback
    )  # fmt: skip
    return tuple(reversed([change for change in gone if change.rollback])), refused


def _squashes(new: ObjectDef, old: DeployedObject) -> Squashes:
    """What every change stands for that the file or the log knows; the file knows better."""
    found: dict[str, tuple[str, ...]] = {}
    known: list[DeployedChange | Change] = [
        *old.changes,
        *(item for item in new.changes if not item.inactive),
    ]
    for item in known:
        found |= dict(item.squashed)
        if item.baselines:
            found[item.name] = item.baselines
    return found


def _there(deployed: Mapping[str, DeployedChange]) -> set[str]:
    """What is deployed in full, be it as a part of a change that stands for it."""
    complete = [change for change in deployed.values() if change.complete]
    parts = [name for change in complete for name in behind(change.baselines, dict(change.squashed))]
    return {*(change.name for change in complete), *parts}


def _parts(
    record: DeployedChange, new: ObjectDef, deployed: Mapping[str, DeployedChange]
) -> tuple[Change, ...]:
    """The changes of the older repository that a deployed one stands for, if they are all of it: what it
    made is what they make, so going back to them undoes nothing. Otherwise none."""
    if not record.baselines or not record.complete:
        return ()
    squashes = dict(record.squashed)
    inside = set(behind(record.baselines, squashes))
    parts: list[Change] = []
    there = _there({name: change for name, change in deployed.items() if change is not record})
    for change in new.changes:
        own = () if change.inactive else behind(change.baselines, dict(change.squashed))
        if change.name not in deployed and (change.name in inside or (own and inside.issuperset(own))):
            parts.append(change)
            there |= {change.name, *own}
    return () if missing(record.baselines, there, squashes) else tuple(parts)


def _taken_apart(
    new: ObjectDef, old: DeployedObject, apart: Mapping[str, tuple[Change, ...]], requires: Requires
) -> DeployedObject:
    """What is deployed, with the changes that these stand for in their place."""
    changes: list[DeployedChange] = []
    for record in old.changes:
        parts = [change_record(new.name, change, requires) for change in apart.get(record.name, ())]
        changes += parts or [record]
    return replace(old, changes=tuple(changes), digest="")


def _missing_baselines(
    new: ObjectDef, change: Change, there: Collection[str], squashes: Squashes
) -> Iterator[Diagnostic]:
    if gone := missing(change.baselines, there, squashes):
        yield script_problem(
            new, change.line, "SD403",
            f"CHANGE {change.name} of {new.name} baselines {', '.join(change.baselines)}, "
            f"but {', '.join(gone)} {'is' if len(gone) == 1 else 'are'} not deployed",
            "Deploy the missing changes first, or take them off baselinedChanges. One that stands for deployed "
            "changes itself must stay in the file, with its baselinedChanges.",
        )  # fmt: skip


def script_problem(new: ObjectDef, line: int, code: str, message: str, advice: str) -> Diagnostic:
    return Diagnostic(new.path, line, code, message, advice, object=str(new.name))

"""What happened to an object, in words, where, and as a difference of texts."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from ..core.diff import ObjectDiff
from ..core.objects import ObjectDef
from ..core.records import text_of


def happened(entry: ObjectDiff) -> str:
    """One word or a few: new, modified, removed."""
    old, new = entry.old, entry.new
    if entry.drift:
        return f"drift: {entry.drift}"
    if entry.status == "added":
        return "new"
    if entry.status == "kind" and old is not None:
        return f"was a {old.kind}"
    if entry.status == "removed":
        return "removed" if new is None else "to be dropped"
    if entry.rollback:
        return f"rolls back {', '.join(change.name for change in entry.rollback)}"
    if entry.pending:
        names = [pending.change.name for pending in entry.pending]
        return f"new change{'s' * (len(names) != 1)} {', '.join(names)}"
    if entry.due:
        return "left by an earlier run"
    if entry.status == "modified":
        return f"modified ({entry.recreate})" if entry.recreate else "modified"
    indexes = [*entry.indexes_changed, *entry.indexes_removed]
    if indexes:
        return f"index{'es' * (len(indexes) != 1)} {', '.join(indexes)} changed"
    return "comment changed" if entry.comment else "unchanged"


def described(entry: ObjectDiff) -> str:
    """What happened to an object, and in which file and line."""
    return ", ".join(filter(None, (happened(entry), place_of(entry))))


def place_of(entry: ObjectDiff) -> str:
    """The file, and the first line that is not as deployed; empty where no file changed."""
    new = entry.new
    if new is None or entry.drift or entry.due:
        return ""
    if entry.status == "removed":
        return f"{new.path}:{new.line}"
    if entry.pending:
        return f"{new.path}:{entry.pending[0].change.line}"
    touched = [index.line for index in new.indexes if index.name in entry.indexes_changed]
    if entry.status == "equal" and touched:
        return f"{new.path}:{min(touched)}"
    return f"{new.path}:{_first_changed_line(entry, new)}"


def _first_changed_line(entry: ObjectDiff, new: ObjectDef) -> int:
    if entry.old is None or not entry.old.text or new.scripted or not new.changes:
        return new.line
    lines = [
        (statement.line + offset, text)
        for statement in new.body.statements
        for offset, text in enumerate(statement.sql.splitlines())
    ]
    before = entry.old.text.splitlines()
    after = text_of(new.body).splitlines()
    if before == after or not lines:
        return new.line
    same = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(before))
    return lines[min(same, len(lines) - 1)][0]


def text_diff(entry: ObjectDiff) -> Iterator[str]:
    """What is different from what was deployed, as unified diffs."""
    old, new = entry.old, entry.new
    path = new.path if new else ""
    for change in entry.rollback:
        yield from _unified(change.text, "", f"deployed: {entry.name} change {change.name}", "")
    if new is not None and new.scripted:
        yield from _changed_changes(entry, new)
    elif not entry.rollback:
        after = text_of(new.body) if new and new.changes and entry.status != "removed" else ""
        found = "in the catalog" if entry.drift else "deployed"
        yield from _unified(old.text if old else "", after, f"{found}: {entry.name}" if old else "", path)
    yield from _changed_indexes(entry, path)


def _changed_changes(entry: ObjectDiff, new: ObjectDef) -> Iterator[str]:
    """Pending changes, and those whose text was edited although they are deployed."""
    deployed = {change.name: change for change in entry.old.changes} if entry.old else {}
    pending = {item.change.name for item in entry.pending}
    for change in new.changes:
        known = deployed.get(change.name)
        if known is None and change.name not in pending:
            continue
        hashes = tuple(statement.hash for statement in change.statements)
        if known is not None and known.complete and known.statements == hashes:
            continue
        before, label = (known.text, f"deployed: {entry.name} change {change.name}") if known else ("", "")
        yield from _unified(before, text_of(change), label, f"{new.path}:{change.line} change {change.name}")


def _changed_indexes(entry: ObjectDiff, path: str) -> Iterator[str]:
    before = {index.name: index.sql for index in entry.old.indexes} if entry.old else {}
    after = {index.name: index.sql for index in entry.new.indexes} if entry.new else {}
    for name in (*entry.indexes_changed, *entry.indexes_removed):
        yield from _unified(
            before.get(name, ""), after.get(name, ""),
            f"deployed: {entry.name} index {name}" if name in before else "", f"{path} index {name}" if name in after else "",
        )  # fmt: skip


def _unified(before: str, after: str, old: str, new: str) -> Iterator[str]:
    return difflib.unified_diff(
        before.splitlines(), after.splitlines(), old or "(nothing)", new or "(nothing)", lineterm=""
    )

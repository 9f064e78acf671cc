"""Why an object is not redeployed: what would have done it, and did not."""

from __future__ import annotations

from collections.abc import Iterator

from ..core.diff import ObjectDiff
from ..core.dirty import Dirty, compute_fact, object_fact, schema_fact
from ..core.names import ObjectName
from ..core.objects import ObjectDef
from ..core.operations import objects_of
from ..core.planner import Planned
from ..core.records import text_of
from ..telling.tree import Why


def why_clean(planned: Planned, dirty: Dirty, entry: ObjectDiff) -> Iterator[str]:
    """One sentence per rule that does not hold."""
    old, new = entry.old, entry.new
    if planned.selected is not None and entry.name not in planned.selected:
        yield "It is not selected."
        return
    if new is not None and new.inactive:
        yield f"It is INACTIVE ({new.path}:{new.line})."
        return
    if new is not None and new.lifecycle == "external":
        yield f"It is external: others make it, and sparkdeploy never touches it ({new.path})."
        return
    if old is None:
        yield "It is not deployed, and is not to be: DROP_TABLE says so, or there is nothing to run."
        return
    if new is None:
        yield f"{old.path} is gone or not for this environment, and it is left as it is."
        return
    yield _same_text(planned, entry, new)
    yield from _dependencies(planned, dirty, entry.name)
    yield from _schema(planned, dirty, entry.name)
    yield from _computes(planned, dirty, new)


def _same_text(planned: Planned, entry: ObjectDiff, new: ObjectDef) -> str:
    old = entry.old
    assert old is not None
    recorded = planned.diff.state.get(entry.name) if planned.diff else None
    if (
        new.definition
        and recorded
        and recorded.hash
        and new.kind == "table"
        and recorded.hash != new.body.hash
    ):
        return "What differs from the text that was deployed cannot be compared with a catalog."
    when = f" on {old.at} by {old.run}" if old.at else ""
    if new.scripted:
        count = len(old.changes)
        return f"Its {'change is' if count == 1 else f'{count} changes are'} deployed{f', as recorded{when}' if when else ''}."
    if new.changes and text_of(new.body) != old.text:
        return (
            f"What differs from the text that was deployed{when} does not count: comments, white space, case."
        )
    return f"Its text is what was deployed{when}."


def _dependencies(planned: Planned, dirty: Dirty, name: ObjectName) -> Iterator[str]:
    dependencies = planned.graph.depends_on.get(name, ())
    if not dependencies:
        yield "It depends on nothing in the repository."
        return
    stopped = [target for target in dependencies if object_fact(target) in dirty]
    done = {found for item in planned.plan.operations for found in objects_of(item)}.difference(stopped)
    if quiet := [str(target) for target in dependencies if target not in stopped and target not in done]:
        yield f"Nothing is done to what it depends on: {', '.join(quiet)}."
    for target in sorted(done.intersection(dependencies)):
        yield f"What is done to {target}, on which it depends, does not reach others: {Why(planned)(target)}."
    for target in stopped:
        yield f"It depends on {target}, which is redeployed as a replacement: that does not reach others."


def _schema(planned: Planned, dirty: Dirty, name: ObjectName) -> Iterator[str]:
    if planned.repository.settings.propagation.through_schema(name.schema):
        yield f"Nothing that counts is redeployed in schema {name.schema}."
    elif any(fact.object.schema == name.schema for fact in dirty.facts("object")):
        yield f"Others in schema {name.schema} are redeployed, but propagation through it is off (sparkdeploy.yaml)."
    elif schema_fact(name.schema) not in dirty:
        yield f"Nothing else in schema {name.schema} is redeployed."


def _computes(planned: Planned, dirty: Dirty, new: ObjectDef) -> Iterator[str]:
    for compute in new.computes:
        if not planned.repository.settings.propagation.through_compute(new.name.schema):
            yield f"Propagation through compute {compute} is off for schema {new.name.schema} (sparkdeploy.yaml)."
        elif compute_fact(compute) not in dirty:
            yield f"Nothing that uses compute {compute} changed."

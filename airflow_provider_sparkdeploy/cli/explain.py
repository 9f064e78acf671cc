"""``explain``: why an object is in the plan, or why it is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import click

from ..core.diagnostics import SparkDeployError, problem
from ..core.diff import Diff, ObjectDiff
from ..core.dirty import Dirty, Fact, index_fact, object_fact
from ..core.names import ObjectName, display, near_object, parse_name
from ..core.operations import objects_of
from ..core.planner import Planned, Request
from ..telling.changes import place_of, text_diff
from ..telling.output import echo_json, echo_lines
from ..telling.reasons import changed_causes, reason_tree
from ..telling.tree import Why
from .clean import why_clean
from .options import catalog_option, force_option, format_option, place_options, selection_options
from .place import Place
from .planning import plan_here
from .problems import errors_to_exit, problem_lists, show_problems

_FEW = 10
_MANY = 1000  # chains in JSON; there can be exponentially many
_DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@click.command()
@click.argument("name", metavar="OBJECT")
@place_options
@selection_options
@force_option
@catalog_option
@click.option("--all", "every", is_flag=True, help="All reasons of everything, not only the nearest.")
@format_option("text", "json")
@errors_to_exit()
def explain(
    name: str, repository: Path, env: str | None, log: Path | None, overrides: tuple[str, ...],
    select: tuple[str, ...], exclude: tuple[str, ...], force_schema: tuple[str, ...], catalog: Path | None,
    every: bool, output: str,
) -> None:  # fmt: skip
    """Why OBJECT is in the plan, down to the changed file and line, or why it is not."""
    place = Place(repository, env, log, overrides)
    planned = plan_here(place, Request(select, exclude, force_schema), catalog)
    diff, dirty = planned.diff, planned.dirty
    if diff is None or dirty is None:
        raise SparkDeployError(planned.plan.errors)
    found = _find(diff, name)
    entry = diff.objects[found]
    facts = [fact for fact in _facts(entry) if fact in dirty]
    problems = [
        item for item in planned.plan.diagnostics if item.object == str(found) or item.severity == "error"
    ]
    if output == "json":
        said = _as_json(planned, diff, dirty, entry, facts, _MANY if every else _FEW)
        echo_json(json.dumps({**said, **problem_lists(problems)}, indent=2, ensure_ascii=False))
    else:
        echo_lines(_explanation(planned, diff, dirty, entry, facts, None if every else _FEW))
        show_problems(problems)
    if planned.plan.errors:
        raise SystemExit(1)


def _find(diff: Diff, text: str) -> ObjectName:
    parts = tuple(part.casefold() for part in parse_name(text) or ())
    matches = [name for name in diff.objects if parts in (tuple(name), (name.object,))]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise problem(
            "SD505",
            f"{text} is not clear: {', '.join(map(str, matches))}",
            advice="Name it as schema.object.",
        )
    raise problem(
        "SD505",
        f"there is no object {text}, neither in the repository nor in the deploy log",
        advice=near_object(text, diff.objects) or "sparkdeploy graph --format json lists all objects.",
    )


def _facts(entry: ObjectDiff) -> list[Fact]:
    """Everything about an object that may be dirty: itself, and each of its indexes."""
    indexes = {*entry.indexes_changed, *entry.indexes_removed}
    indexes |= {index.name for index in entry.new.indexes} if entry.new else set()
    return [object_fact(entry.name), *(index_fact(entry.name, index) for index in sorted(indexes))]


def _explanation(
    planned: Planned, diff: Diff, dirty: Dirty, entry: ObjectDiff, facts: list[Fact], limit: int | None
) -> Iterator[str]:
    name = entry.name
    item = entry.new or entry.old
    title = f"{item.kind if item else 'object'} {name}"
    operations = [operation.id for operation in planned.plan.operations if name in objects_of(operation)]
    blocked = [item for item in planned.plan.blocked if name in objects_of(item.operation)]
    if any(item.object == str(name) for item in planned.plan.errors):
        yield click.style(f"{title}: cannot be planned, see the error", bold=True)
    elif not facts and not operations and not blocked:
        yield click.style(f"{title}: nothing to do", bold=True)
        yield from (f"  {line}" for line in why_clean(planned, dirty, entry))
    else:
        yield click.style(f"{title}: {', '.join(operations) or 'no operation'}", bold=True)
        yield from (f"  blocked: {item.operation.id}: {item.reason}" for item in blocked)
        if not operations and not blocked:
            yield f"  {_no_operation(planned, entry)}"
        if not facts:  # a comment, what an earlier run left, or what others of its cycle need
            yield f"    {Why(planned)(name)}"
        for fact in facts:
            if fact.kind == "index" and object_fact(name) not in facts:
                yield f"  index {fact.name[-1]}:"
            yield from (f"    {line}" for line in reason_tree(dirty, diff, fact, limit))
        if entry.new is not None and entry.new.kind == "data" and entry.status == "modified":
            yield "  The log keeps no rows: which of them are different cannot be shown."
    changes = _changes(diff, dirty, entry, facts)
    for lines in changes[:limit]:
        yield ""
        yield from (click.style(line, fg=_DIFF_COLOURS.get(line[:1])) for line in lines)
    if len(changes) > len(changes[:limit]):
        yield f"\n... and {len(changes) - len(changes[:limit]):,} more texts changed: --all shows them"


def _changes(diff: Diff, dirty: Dirty, entry: ObjectDiff, facts: list[Fact]) -> list[list[str]]:
    """What changed in the object's own text, and in the texts that it is redeployed for. What
    is new or gone as a whole is named as a reason, and not printed in full."""
    names = {fact.object: None for start in facts for fact in changed_causes(dirty, start)}
    names.pop(entry.name, None)
    others = [found for name in names if (found := diff.objects[name]).old and found.new]
    return [lines for item in (entry, *others) if (lines := list(text_diff(item)))]


def _no_operation(planned: Planned, entry: ObjectDiff) -> str:
    """Why nothing is done to an object although it is dirty."""
    if planned.plan.errors:
        return "The plan has errors, so nothing is done at all."
    if planned.selected is not None and entry.name not in planned.selected:
        return "It is not selected."
    if entry.new is not None and entry.new.lifecycle == "external":
        return "It is external: sparkdeploy never touches it."
    if entry.new is not None and entry.new.inactive:
        return "It is INACTIVE."
    if entry.new is not None and entry.new.kind == "table":
        return "It holds data: being redeployed with others gives a table no operations but its own changes."
    if entry.new is not None and entry.new.kind == "migration":
        return (
            "It runs once: being redeployed with others gives a migration no operations but its own changes."
        )
    if planned.acting is not None and object_fact(entry.name) not in planned.acting:
        return "What changed is blocked: nothing is redeployed for it before it may run."
    return "Nothing has to be run for it."


def _as_json(
    planned: Planned, diff: Diff, dirty: Dirty, entry: ObjectDiff, facts: list[Fact], limit: int
) -> dict[str, object]:
    def step(fact: Fact, rule: str) -> dict[str, object]:
        said: dict[str, object] = {"kind": fact.kind, "name": display(fact.name), "rule": rule}
        if rule in ("changed", "drift"):
            cause = diff.objects[fact.object]
            gone = cause.old.path if cause.old and cause.new is None else ""
            said["where"] = place_of(cause) or gone
        return said

    chains: list[list[dict[str, object]]] = []
    truncated = False
    for fact in facts:
        found = list(islice(dirty.chains(fact), limit + 1))
        truncated |= len(found) > limit
        chains += [[step(link, reason.rule) for link, reason in chain] for chain in found[:limit]]
    operations = [item.id for item in planned.plan.operations if entry.name in objects_of(item)]
    blocked = [item.operation.id for item in planned.plan.blocked if entry.name in objects_of(item.operation)]
    return {
        "version": 1,
        "object": str(entry.name),
        "status": entry.status,
        "dirty": bool(facts),
        "operations": operations,
        "blocked": blocked,
        "chains": chains,
        "truncated": truncated,
        "clean": [] if facts or operations or blocked else list(why_clean(planned, dirty, entry)),
        "diff": [line for lines in _changes(diff, dirty, entry, facts)[:limit] for line in lines],
    }  # fmt: skip

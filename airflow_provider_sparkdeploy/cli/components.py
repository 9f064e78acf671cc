"""``components``: materialized views that are computed together."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ..core.cycles import Component, check_cycles, reference_line
from ..core.graph import Graph
from ..core.names import Node, ObjectName
from ..core.repository import Repository
from ..core.resolve import Resolver, make_resolver
from ..core.state import State
from ..telling.output import echo_json, echo_lines, many
from .graph import read_graph
from .options import format_option, place_options
from .place import Place
from .problems import errors_to_exit, problem_lists, show_problems


@click.command()
@place_options
@format_option("text", "json")
@errors_to_exit()
def components(
    repository: Path, env: str | None, log: Path | None, overrides: tuple[str, ...], output: str
) -> None:
    """Cyclic components: their members, and whether they provably converge."""
    place = Place(repository, env, log, overrides)
    found, built = read_graph(place)
    content = place.read_log(found.settings.environment)
    legal, refused = check_cycles(found, built)
    problems = {*refused, *content.problems, *place.remarks(found)}
    if output == "json":
        shown = [_component_json(item, content.state) for item in legal]
        echo_json(
            json.dumps({"version": 1, "components": shown, **problem_lists(problems)}, indent=2, ensure_ascii=False)
        )  # fmt: skip
    else:
        if not built.cyclic:
            click.echo("No cycles: every object can be built after what it depends on.")
        resolver = make_resolver(found)
        for item in legal:
            echo_lines(_component_lines(found, built, resolver, item, content.state))
        show_problems(problems)
    if any(item.severity == "error" for item in problems):
        raise SystemExit(1)


def _component_json(item: Component, state: State) -> dict[str, Any]:
    return {
        "id": item.id,
        "members": [str(name) for name in item.members],
        "monotone": item.monotone,
        "deployed": all(name in state for name in item.members),
    }


def _component_lines(
    found: Repository, built: Graph, resolver: Resolver, item: Component, state: State
) -> Iterator[str]:
    verdict = "monotone: it converges" if item.monotone else "not proven monotone (allow_circular: unsafe)"
    yield click.style(f"component {item.id}: {many(len(item.members), 'member')}, {verdict}", bold=True)
    for name in item.members:
        source = found.objects[name]
        for target in sorted({*built.depends_on[name], *_self(built, name)} & {*item.members}):
            line = reference_line(source, Node(*name), Node(*target), resolver)
            yield f"  {name} reads {target}  ({source.path}:{line})"
    missing = [str(name) for name in item.members if name not in state]
    if not missing:
        last = max(state[name].at for name in item.members)
        yield f"  deployed{f' on {last}' if last else ''}"
    elif len(missing) == len(item.members):
        yield "  not deployed"
    else:
        yield f"  not deployed: {', '.join(missing)}"


def _self(built: Graph, name: ObjectName) -> tuple[ObjectName, ...]:
    return (name,) if Node(*name) in built.requires.get(Node(*name), ()) else ()

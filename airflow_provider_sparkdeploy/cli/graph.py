"""``graph``: how objects depend on each other."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ..core.diagnostics import SparkDeployError
from ..core.diff import Diff, Entries
from ..core.graph import Graph, build_graph
from ..core.names import ObjectName
from ..core.planner import make_universe
from ..core.repository import Repository
from ..core.select import select as select_objects
from ..telling.output import echo_json
from .drawing import dot, mermaid
from .options import format_option, place_options, selection_options
from .place import Place
from .problems import errors_to_exit, problem_lists, show_problems


@click.command()
@place_options
@selection_options
@format_option("mermaid", "dot", "json")
@errors_to_exit()
def graph(
    repository: Path, env: str | None, log: Path | None, overrides: tuple[str, ...], select: tuple[str, ...],
    exclude: tuple[str, ...], output: str,
) -> None:  # fmt: skip
    """The dependency graph of the repository."""
    place = Place(repository, env, log, overrides)
    found, built = read_graph(place)
    names = _chosen(found, built, select, exclude)
    remarks = place.remarks(found)
    if output == "json":
        drawn = {**_graph_json(found, built, names), **problem_lists(remarks)}
        echo_json(json.dumps(drawn, indent=2, ensure_ascii=False))
        return
    chosen = set(names)
    edges = [
        (str(target), str(name)) for name in names for target in built.depends_on[name] if target in chosen
    ]
    labels = {str(name): f"{found.objects[name].kind} {name.object}" for name in names}
    groups = {str(name): name.schema for name in names}
    click.echo(mermaid(labels, edges, groups) if output == "mermaid" else dot(labels, edges, groups))
    show_problems(remarks)


def read_graph(place: Place) -> tuple[Repository, Graph]:
    """A repository and its graph, both without errors."""
    found = place.open()
    built = build_graph(found)
    errors = [item for item in (*found.problems, *built.problems) if item.severity == "error"]
    if errors:
        raise SparkDeployError(errors)
    return found, built


def _chosen(
    found: Repository, built: Graph, include: tuple[str, ...], exclude: tuple[str, ...]
) -> list[ObjectName]:
    universe = make_universe(found, built, Diff(Entries({}, found.objects, {})))
    selected = select_objects(universe, include, exclude)
    return [name for name in found.objects if selected is None or name in selected]


def _graph_json(found: Repository, built: Graph, names: list[ObjectName]) -> dict[str, object]:
    chosen = set(names)
    return {
        "version": 1,
        "objects": [
            {
                "object": str(name),
                "kind": found.objects[name].kind,
                "file": found.objects[name].path,
                "depends_on": [str(target) for target in built.depends_on[name]],
                "external": list(built.external.get(name, ())),
            }
            for name in names
        ],
        "order": [str(node) for node in built.order if node.name in chosen],
    }

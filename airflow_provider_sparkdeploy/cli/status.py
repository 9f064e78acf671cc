"""``status`` and ``drift``: what is deployed, who is at work, and what differs from it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click

from ..core.catalog import Catalog
from ..core.diagnostics import SparkDeployError
from ..core.planner import Request, make_plan
from ..core.reconcile import reconcile
from ..core.repository import Repository
from ..core.state import State
from ..spark.session import Sessions
from ..telling.output import echo_json, echo_lines, many
from ..telling.tree import count_line
from .connecting import connect_to_look, spark_errors, spark_options
from .options import format_option, place_options
from .place import Place
from .problems import errors_to_exit, problem_lists, show_problems
from .progress import working


def _look(sessions: Sessions | None, repository: Repository, state: State) -> Catalog:
    """What the catalog holds; nothing, where no Spark has ever run."""
    from ..spark.catalog import wanted_objects
    from ..spark.deployment import observe

    if sessions is None:
        return Catalog(looked_for=frozenset(wanted_objects(repository, state)))
    return observe(sessions, repository, state)


@click.command()
@place_options
@spark_options
@format_option("text", "json")
@errors_to_exit()
def status(
    repository: Path, env: str | None, log: Path | None, overrides: tuple[str, ...], url: str | None,
    warehouse: Path | None, output: str,
) -> None:  # fmt: skip
    """Who holds the lock, what a killed run left, and how much is to be deployed."""
    from ..spark.apply import unfinished
    from ..spark.lock import read_lock

    place = Place(repository, env, log, overrides)
    found = place.open()
    environment = found.settings.environment
    sessions = connect_to_look(place, url, warehouse)
    with spark_errors(), working("Looking at the catalog"):
        content = place.read_log(environment)
        holder = None
        if sessions is not None:
            with sessions.open() as spark:
                holder = read_lock(spark, found.settings.log_schema)
        catalog = _look(sessions, found, content.state)
        planned = make_plan(found, content.state, catalog=catalog, request=Request())
    begun = unfinished(content.entries)
    remarks = [*content.problems, *place.remarks(found)]
    plan = planned.plan
    held = holder is not None and not holder.released
    if output == "json":
        said = {
            "version": 1,
            "environment": environment,
            "deployed": len(content.state),
            "lock": str(holder) if held else None,
            "unfinished": [item.operation.id for item in begun],
            "operations": len(plan.operations),
            "blocked": len(plan.blocked),
            **problem_lists([*remarks, *plan.diagnostics]),
        }
        echo_json(json.dumps(said, indent=2, ensure_ascii=False))
        return
    lines = [f"Environment {environment}: {many(len(content.state), 'object')} deployed."]
    lines.append(f"Lock: {holder}." if held else "Lock: free.")
    for item in begun:
        lines.append(
            f"Begun and not reported: {item.operation.id} of run {item.run}; apply finds out what became of it."
        )
    if plan.errors:
        lines.append("There is no plan.")
    else:
        todo = plan.operations or plan.blocked
        lines.append(count_line(planned) if todo else "Nothing to do.")
    echo_lines(lines)
    show_problems([*remarks, *plan.diagnostics])


@click.command()
@place_options
@spark_options
@format_option("text", "json")
@click.option("--detailed-exitcode", is_flag=True, help="Exit 0: no drift, 2: drift, 1: error.")
@errors_to_exit()
def drift(
    repository: Path, env: str | None, log: Path | None, overrides: tuple[str, ...], url: str | None,
    warehouse: Path | None, output: str, detailed_exitcode: bool,
) -> None:  # fmt: skip
    """What somebody else did to what was deployed: objects that are missing or different."""
    place = Place(repository, env, log, overrides)
    found = place.open()
    errors = [item for item in found.problems if item.severity == "error"]
    if errors:
        raise SparkDeployError(errors)
    sessions = connect_to_look(place, url, warehouse)
    with spark_errors(), working("Looking at the catalog"):
        content = place.read_log(found.settings.environment)
        healing = replace(found, settings=replace(found.settings, on_drift="heal"))
        drifted = reconcile(healing, content.state, _look(sessions, found, content.state)).drift
    remarks = [*content.problems, *place.remarks(found)]
    if output == "json":
        objects = {str(name): why for name, why in drifted.items()}
        echo_json(
            json.dumps(
                {"version": 1, "drift": objects, **problem_lists(remarks)},
                indent=2,
                ensure_ascii=False,
            )
        )
    else:
        show_problems(remarks)
        echo_lines(f"{click.style('~', fg='yellow')} {name}: {why}" for name, why in drifted.items())
        count = many(len(content.state), "deployed object")
        if drifted:
            click.echo(
                f"{many(len(drifted), 'object')} of {count} drifted; sparkdeploy apply --dry-run shows what becomes of it (on_drift: {found.settings.on_drift})."
            )
        else:
            click.echo(f"No drift: {count} in environment {found.settings.environment} as recorded.")
    if detailed_exitcode and drifted:
        raise SystemExit(2)

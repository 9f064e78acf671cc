"""``baseline``: what is there already is recorded as deployed."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ..core.deploylog import Entry, new_run
from ..core.diagnostics import SparkDeployError
from ..core.names import ObjectName
from ..core.objects import ObjectDef
from ..core.planner import Planned, Request, make_plan
from ..core.records import record_of
from ..core.state import DropObject, Effect, PutObject, State
from ..telling.output import echo_json, many
from .options import format_option, place_options, selection_options
from .place import Place
from .problems import errors_to_exit, problem_lists, show_problems
from .progress import working


@click.command()
@place_options
@selection_options
@format_option("text", "json")
@errors_to_exit()
def baseline(
    repository: Path, env: str | None, log: Path | None, overrides: tuple[str, ...], select: tuple[str, ...],
    exclude: tuple[str, ...], output: str,
) -> None:  # fmt: skip
    """Record everything (or a selection) as deployed, without running any SQL."""
    place = Place(repository, env, log, overrides)
    found = place.open()
    environment = found.settings.environment
    with working("Recording"), place.file_log(environment) as writer:
        content = place.read_log(environment)
        planned = make_plan(found, content.state, request=Request(select, exclude))
        broken = [item for item in planned.plan.errors if not item.code.startswith("SD4")]
        if broken:
            raise SparkDeployError(broken)  # what only the diff objects to is what a baseline settles
        recorded = _recorded(planned, content.state)
        run = new_run("baseline")
        writer.append(
            [
                Entry("run", run, detail={"event": "started", "kind": "baseline", "environment": environment,
                                          "fingerprint": found.fingerprint}),
                *(Entry("noted", run, effects=effects) for effects in recorded.values()),
                Entry("run", run, detail={"event": "succeeded"}),
            ]
        )  # fmt: skip
    remarks = {*content.problems, *place.remarks(found)}
    if output == "json":
        said = {
            "version": 1,
            "run": run,
            "environment": environment,
            "objects": [str(name) for name in recorded],
        }
        echo_json(json.dumps({**said, **problem_lists(remarks)}, indent=2, ensure_ascii=False))
        return
    show_problems(remarks)
    click.echo(
        f"Recorded {many(len(recorded), 'object')} of environment {environment} as deployed in {writer.path}; "
        "no SQL was run."
    )


def _recorded(planned: Planned, state: State) -> dict[ObjectName, tuple[Effect, ...]]:
    """What the log is told of each object. An older record goes first: nothing of it stays."""
    found: dict[ObjectName, tuple[Effect, ...]] = {}
    for name, item in planned.repository.objects.items():
        if (planned.selected is None or name in planned.selected) and not item.inactive and not _drops(item):
            put = PutObject(record_of(item, planned.graph.depends_on[name], planned.graph.requires))
            found[name] = (DropObject(name), put) if name in state else (put,)
    return found


def _drops(item: ObjectDef) -> bool:
    return item.dropped or bool(item.changes and item.changes[-1].drops_table)

"""``history``: the runs that a deploy log holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import click

from ..core.deploylog import LogContent
from ..core.diagnostics import problem
from ..core.names import ObjectName
from ..core.state import subject
from ..telling.output import echo_json, echo_lines, many
from .options import format_option, place_options
from .place import Place
from .problems import errors_to_exit, problem_lists, show_problems

_COLOURS = {"succeeded": "green", "failed": "red", "unfinished": "yellow"}


@click.command()
@place_options
@format_option("text", "json")
@click.option(
    "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many runs, newest first."
)
@errors_to_exit()
def history(
    repository: Path, env: str | None, log: Path | None, overrides: tuple[str, ...], output: str, limit: int
) -> None:
    """The runs that the deploy log holds, newest first."""
    place = Place(repository, env, log, overrides)
    if log is not None and not log.exists():
        raise problem(
            "SD603", f"there is no deploy log {log}", advice="Pass the --log that baseline or apply wrote."
        )
    if log is None or env is not None:
        content = place.read_log(place.environment())
    else:
        content = place.file_log("").read()  # a log says itself which environment it is of
    runs = _runs(content)
    shown = runs[::-1][:limit]
    if output == "json":
        said = {"version": 1, "runs": [_run_json(run) for run in shown], **problem_lists(content.problems)}
        echo_json(json.dumps(said, indent=2, ensure_ascii=False))
        return
    if not runs:
        click.echo("The log is empty: nothing was deployed yet.")
    echo_lines(_lines(shown, len(runs)))
    show_problems(content.problems)


@dataclass(slots=True)
class Run:
    """What the entries of one run add up to."""

    run: str
    at: str
    kind: str = "apply"
    status: str = "unfinished"
    environment: str = ""
    done: int = 0
    failed: int = 0
    touched: set[ObjectName] = field(default_factory=set)


def _runs(content: LogContent) -> list[Run]:
    runs: dict[str, Run] = {}
    for entry in content.entries:
        run = runs.setdefault(entry.run, Run(entry.run, entry.at))
        run.touched |= {subject(effect) for effect in entry.effects}
        if entry.type == "run":
            run.kind = entry.detail.get("kind", run.kind)
            run.environment = entry.detail.get("environment", run.environment)
            event = entry.detail.get("event")
            run.status = event if event in ("succeeded", "failed") else run.status
        elif entry.type == "done":
            run.done += 1
        elif entry.type == "failed":
            run.failed += 1
    return list(runs.values())


def _run_json(run: Run) -> dict[str, object]:
    data = asdict(run)
    data["objects"] = len(data.pop("touched"))
    return data


def _lines(runs: list[Run], count: int) -> Iterator[str]:
    longest = max((len(run.run) for run in runs), default=0)
    for run in runs:
        parts = [many(len(run.touched), "object")]
        if run.done or run.failed:
            parts += [f"{run.done:,} operations done", f"{run.failed:,} failed"]
        status = click.style(f"{run.status:<10}", fg=_COLOURS[run.status])
        where = f" in {run.environment}" if run.environment else ""
        yield f"{run.at}  {run.run:<{longest}}  {run.kind:<8}  {status}  {', '.join(parts)}{where}"
    if count > len(runs):
        yield click.style(f"... and {many(count - len(runs), 'older run')}: --limit shows more", dim=True)

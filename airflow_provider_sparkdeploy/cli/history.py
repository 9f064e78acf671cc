"""``history``: the runs that a deploy log holds, or the history table of an environment."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import click
from click.core import ParameterSource

from ..core.deploylog import Entry, LogContent
from ..core.diagnostics import problem
from ..core.names import ObjectName
from ..core.state import subject
from ..telling.output import echo_json, echo_lines, many
from .connecting import connect, spark_errors, spark_options
from .options import format_option, place_options
from .place import Place
from .problems import errors_to_exit, problem_lists, show_problems
from .progress import working

_COLOURS = {"succeeded": "green", "failed": "red", "unfinished": "yellow"}


@click.command()
@place_options
@spark_options
@format_option("text", "json")
@click.option(
    "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many runs, newest first."
)
@errors_to_exit()
def history(
    repository: Path, env: str | None, log: Path | None, overrides: tuple[str, ...], url: str | None,
    warehouse: Path | None, output: str, limit: int,
) -> None:  # fmt: skip
    """The runs that the deploy log holds, newest first.

    With --spark or --warehouse: those that the history table of the environment holds, whoever ran them.
    """
    place = Place(repository, env, log, overrides)
    in_table = _is_said("url") or _is_said("warehouse")
    if in_table and log is not None:
        raise click.UsageError(
            "--log names a file; --spark and --warehouse ask for the table. Pass one of them."
        )
    content = _read_table(place, url, warehouse) if in_table else _read_log(place)
    runs = _runs(content.entries)
    shown = runs[::-1][:limit]
    if output == "json":
        said = {"version": 1, "runs": [_run_json(run) for run in shown], **problem_lists(content.problems)}
        echo_json(json.dumps(said, indent=2, ensure_ascii=False))
        return
    if not runs:
        click.echo(f"The {'history table' if in_table else 'log'} is empty: nothing was deployed yet.")
    echo_lines(_lines(shown, len(runs)))
    show_problems(content.problems)


def _is_said(option: str) -> bool:
    """Whether an option is in the call itself. SPARKDEPLOY_SPARK says where the Spark of all commands is,
    not that the file is not meant."""
    return click.get_current_context().get_parameter_source(option) is ParameterSource.COMMANDLINE


def _read_table(place: Place, url: str | None, warehouse: Path | None) -> LogContent:
    from ..spark import history as table

    settings = place.settings()
    sessions = connect(place, url, warehouse)
    with spark_errors(), working("Reading the history"), sessions.open() as spark:
        found = table.read(spark, settings.log_schema, settings.environment)
    return LogContent([item.entry for item in found])


def _read_log(place: Place) -> LogContent:
    log = place.log
    if log is not None and not log.exists():
        raise problem(
            "SD603", f"there is no deploy log {log}", advice="Pass the --log that baseline or apply wrote."
        )
    if log is None or place.env is not None:
        return place.read_log(place.environment())
    return place.file_log("").read()  # a log says itself which environment it is of


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


def _runs(entries: Iterable[Entry]) -> list[Run]:
    runs: dict[str, Run] = {}
    for entry in entries:
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

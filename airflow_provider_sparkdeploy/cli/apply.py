"""``apply`` and ``refresh``: a plan, run on Spark."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..core.deploylog import new_run
from ..core.diagnostics import Diagnostic, SparkDeployError, problem
from ..core.objects import ObjectDef, Statement
from ..core.operations import Operation
from ..core.planner import Planned, Request, make_plan
from ..core.refresh import make_refresh
from ..core.repository import Repository
from ..core.state import State
from ..spark.session import Sessions
from ..telling.output import echo_lines, many
from ..telling.tree import plan_lines
from .connecting import connect, spark_errors, spark_options
from .options import Command, force_option, place_options, selection_options
from .place import Place
from .problems import errors_to_exit, show_problems
from .progress import working
from .running import stop_on_interrupt, watching

if TYPE_CHECKING:
    from ..spark.deployment import Outcome

INTERRUPTED = 130
_MARK = re.compile(r"-*\^\^\^")
_SPARKS_LINE = re.compile(r"\bline (\d+),? pos \d+")  # of what it resolves; with a comma, of what it parses
_LINES = 6  # of a message of Spark's: the first says it, the others how it came about


def run_options(command: Command) -> Command:
    for option in (
        click.option("--parallel", type=click.IntRange(1, 64), default=4, show_default=True,
                     help="How many independent operations run at once."),
        click.option("--dry-run", is_flag=True, help="Look at the catalog and show the plan; run nothing."),
        click.option("--yes", "-y", is_flag=True, help="Ask nothing: the answer is yes."),
        click.option("--allow-destructive", is_flag=True, help="Run operations that lose data, without asking."),
        spark_options,
        selection_options,
        place_options,
    ):  # fmt: skip
        command = option(command)
    return command


@click.command()
@run_options
@force_option
@errors_to_exit()
def apply(
    repository: Path, env: str | None, log: Path | None, overrides: tuple[str, ...], select: tuple[str, ...],
    exclude: tuple[str, ...], force_schema: tuple[str, ...], url: str | None, warehouse: Path | None,
    parallel: int, yes: bool, allow_destructive: bool, dry_run: bool,
) -> None:  # fmt: skip
    """Bring the catalog to what the repository says.

    Looks at the catalog, plans, asks before anything that loses data, and runs the plan. After a
    failure or a crash, run it again: it goes on where it stopped.
    """
    how = How(url, warehouse, parallel, yes or allow_destructive, dry_run)
    deploy(Place(repository, env, log, overrides), Request(select, exclude, force_schema), how)


@click.command()
@run_options
@errors_to_exit()
def refresh(
    repository: Path, env: str | None, log: Path | None, overrides: tuple[str, ...], select: tuple[str, ...],
    exclude: tuple[str, ...], url: str | None, warehouse: Path | None, parallel: int, yes: bool,
    allow_destructive: bool, dry_run: bool,
) -> None:  # fmt: skip
    """Compute materialized views anew, all or a selection, dependencies first."""
    how = How(url, warehouse, parallel, yes or allow_destructive, dry_run, kind="refresh")
    deploy(Place(repository, env, log, overrides), Request(select, exclude), how)


@dataclass(frozen=True, slots=True)
class How:
    """Where and how a plan is run. ``agreed`` says that losing data was agreed to."""

    url: str | None
    warehouse: Path | None
    parallel: int
    agreed: bool
    dry_run: bool
    kind: str = "apply"


def deploy(place: Place, request: Request, how: How) -> None:
    """Plan under the lock, ask, run, and tell how it went."""
    from ..spark.deployment import Deployment, make_runner
    from ..spark.lock import Lock

    found = place.open()
    broken = [item for item in found.problems if item.severity == "error"]
    if broken:
        raise SparkDeployError(broken)
    show_problems(place.remarks(found))
    environment = found.settings.environment
    sessions = connect(place, how.url, how.warehouse)
    if how.dry_run:
        with spark_errors(), working("Looking at the catalog"):
            planned = _plan(found, sessions, place.read_log(environment).state, request, how.kind)
        _show(planned)
        return
    with spark_errors(), place.file_log(environment) as log:
        show_problems(place.read_log(environment).problems)
        run = new_run(how.kind)
        refreshes = how.kind == "refresh"
        with Lock(sessions, found.settings.log_schema, run, log=log.identity, refreshes=refreshes) as lock:
            deployment = Deployment(found, make_runner(sessions, log, lock, found, run))
            with working("Looking at the catalog"):
                deployment.begin()
                planned = _plan(found, sessions, log.read().state, request, how.kind)
            _show(planned)
            _agree(planned, how.agreed)
            with watching(len(planned.plan.operations)) as show, stop_on_interrupt() as stop:
                outcome = deployment.run(
                    planned, kind=how.kind, parallel=how.parallel, on_event=show, stop=stop
                )
    _tell(planned, outcome)


def _tell(planned: Planned, outcome: Outcome) -> None:
    """How it went; the exit code says it, too."""
    report = outcome.report
    show_problems(outcome.problems, changed=True)
    if outcome.succeeded:
        if planned.plan.operations:
            environment = planned.repository.settings.environment
            told = f"Done: {many(len(report.done), 'operation')} in environment {environment}."
            click.echo("\n" + click.style(told, fg="green"))
        return
    counts = f"{many(len(report.done), 'operation')} done, {len(report.failed)} failed, {len(report.left)} not run."
    click.echo("\n" + click.style(counts, fg="red", bold=True), err=True)
    for operation, message in report.failed:
        item = planned.repository.objects.get(operation.object)
        where = f"  ({item.path}:{_line(item, operation, message)})" if item else ""
        told = "\n    ".join(_shortened(message))
        click.echo(f"\n{operation.id}{where}\n    {told}", err=True)
    if not report.succeeded:  # otherwise a view is left that cannot be read, and what to do was said with it
        advice = "Correct what failed, and run" if report.failed and report.reachable else "Run"
        click.echo(f"\n{advice} the same command again: it does only what is left.", err=True)
    raise SystemExit(INTERRUPTED if report.interrupted and not report.failed else 1)


def _shortened(message: str) -> list[str]:
    """The lines of a message; of the statement that Spark repeats in it, the one that it marks."""
    told, _, statement = message.strip().partition("\n== SQL ==\n")
    lines = statement.splitlines()
    marked = next((number for number, line in enumerate(lines) if _MARK.fullmatch(line)), -1)
    return [*told.strip().splitlines()[:_LINES], *(lines[max(marked - 1, 0) : marked + 1])]


def _line(item: ObjectDef, operation: Operation, message: str) -> int:
    """Where in its file the error of an operation is: where Spark says, or where its statement begins."""
    for change in item.changes:
        if change.name == operation.change or len(item.changes) == 1:
            statement = next((s for s in change.statements if s.hash == operation.hash), None)
            return (
                change.line if statement is None else statement.line + _below(statement, operation, message)
            )
    return item.line


def _below(statement: Statement, operation: Operation, message: str) -> int:
    """How many lines below the beginning of a statement an error is, where its text is what was sent."""
    told = _SPARKS_LINE.search(message)
    if told is None or operation.kind == "materialized_view":
        return 0
    line = int(told[1]) - 1
    query = statement.sql[statement.query :] if statement.query else ""
    if query and operation.sql.endswith(query):  # what stands before it may be another text
        line += statement.sql.count("\n") - operation.sql.count("\n")
    return min(max(line, 0), statement.sql.count("\n"))


def _plan(found: Repository, sessions: Sessions, state: State, request: Request, kind: str) -> Planned:
    """The plan from what is really there."""
    from ..spark.deployment import observe

    catalog = observe(sessions, found, state)
    if kind == "refresh":
        return make_refresh(found, state, catalog=catalog, include=request.select, exclude=request.exclude)
    return make_plan(found, state, catalog=catalog, request=request)


def _show(planned: Planned) -> None:
    if planned.plan.errors:
        raise SparkDeployError(planned.plan.diagnostics)
    echo_lines(plan_lines(planned))
    show_problems(planned.plan.diagnostics)


def _agree(planned: Planned, agreed: bool) -> None:
    """What loses data needs a decision: the flag, the setting, or a person at a terminal."""
    destructive = planned.plan.destructive
    if not destructive or agreed or planned.repository.settings.on_destructive == "allow":
        return
    if not sys.stdin.isatty():
        raise SparkDeployError([_refused(destructive)])
    for operation in destructive:
        click.echo(
            f"  {click.style('!', fg='red', bold=True)} {operation.id}  {' '.join(operation.sql.split())[:100]}"
        )
    if not click.confirm(f"{many(len(destructive), 'operation')} will lose data. Go on?", default=False):
        raise problem("SD805", "not agreed to; nothing was changed")


def _refused(destructive: tuple[Operation, ...]) -> Diagnostic:
    listed = ", ".join(operation.id for operation in destructive[:5])
    more = f" and {len(destructive) - 5} more" if len(destructive) > 5 else ""
    return Diagnostic(
        "", 0, "SD805", f"{many(len(destructive), 'operation')} would lose data, and nobody can be asked: {listed}{more}",
        "Look at the plan; then run it again with --allow-destructive.",
    )  # fmt: skip

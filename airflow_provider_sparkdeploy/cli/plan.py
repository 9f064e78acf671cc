"""``plan``: what would happen, and why."""

from __future__ import annotations

from pathlib import Path

import click

from ..core.codec import plan_to_json
from ..core.planner import Request
from ..telling.markdown import plan_markdown
from ..telling.output import echo_json, echo_lines
from ..telling.tree import plan_lines
from .drawing import to_dot, to_mermaid
from .options import Command, catalog_option, force_option, format_option, place_options, selection_options
from .place import Place
from .planning import failed_plan_json, plan_here
from .problems import errors_to_exit, show_problems


class _Mistake(click.UsageError):
    exit_code = 1


class PlanCommand(click.Command):
    """With --detailed-exitcode, 2 says that there are changes and nothing else: a mistake on
    the command line, which is 2 elsewhere, is 1."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        detailed = "--detailed-exitcode" in args
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if detailed:
                raise _Mistake(error.format_message(), ctx) from None
            raise


def plan_options(command: Command) -> Command:
    for option in (
        click.option("--detailed-exitcode", is_flag=True, help="Exit 0: nothing to do, 2: changes, 1: error."),
        catalog_option,
        format_option("text", "json", "markdown", "mermaid", "dot"),
        selection_options,
        place_options,
    ):  # fmt: skip
        command = option(command)
    return command


@click.command(cls=PlanCommand)
@plan_options
@force_option
@errors_to_exit(failed_plan_json)
def plan(
    repository: Path, env: str | None, log: Path | None, overrides: tuple[str, ...], select: tuple[str, ...],
    exclude: tuple[str, ...], output: str, catalog: Path | None, detailed_exitcode: bool, force_schema: tuple[str, ...],
) -> None:  # fmt: skip
    """Show what would be done, and why. Needs no Spark.

    In the tree, + is created, ~ changed, - dropped, -/+ dropped and created again, and ! must
    not run or loses data. The objects of a phase are in the order in which they are begun.
    """
    request = Request(select, exclude, force_schema)
    show_plan(Place(repository, env, log, overrides), request, output, catalog, detailed_exitcode)


def show_plan(place: Place, request: Request, output: str, catalog: Path | None, detailed: bool) -> None:
    planned = plan_here(place, request, catalog)
    found = planned.plan
    if output == "json":
        echo_json(plan_to_json(found))
    elif output == "markdown":
        click.echo(plan_markdown(planned))
        show_problems(found.errors)
    else:
        if output == "text" and not found.errors:
            echo_lines(plan_lines(planned))
        elif not found.errors:
            click.echo(to_mermaid(found) if output == "mermaid" else to_dot(found))
        show_problems(found.diagnostics)
    if found.errors:
        raise SystemExit(1)
    if detailed and (found.operations or found.blocked):
        raise SystemExit(2)

"""``rollback``: back to an older repository, with the rollback texts that the log kept."""

from __future__ import annotations

from pathlib import Path

import click

from ..core.planner import Request
from .apply import How, deploy, run_options
from .options import catalog_option, force_option, format_option
from .place import Place
from .plan import PlanCommand, show_plan
from .planning import failed_plan_json
from .problems import errors_to_exit


@click.command(cls=PlanCommand)
@run_options
@force_option
@click.option(
    "--plan", "only_plan", is_flag=True, help="Show what a rollback would do by the log; needs no Spark."
)
@catalog_option
@format_option("text", "json", "mermaid", "dot")
@click.option(
    "--detailed-exitcode", is_flag=True, help="With --plan, exit 0: nothing to do, 2: changes, 1: error."
)
@errors_to_exit(failed_plan_json)
def rollback(
    repository: Path, env: str | None, log: Path | None, overrides: tuple[str, ...], select: tuple[str, ...],
    exclude: tuple[str, ...], output: str, catalog: Path | None, detailed_exitcode: bool, only_plan: bool,
    force_schema: tuple[str, ...], url: str | None, warehouse: Path | None, parallel: int, yes: bool,
    allow_destructive: bool, dry_run: bool,
) -> None:  # fmt: skip
    """Go back to an older repository, with the rollback texts that the log kept.

    Check out the older version of the repository, and point --repository at it.
    """
    place = Place(repository, env, log, overrides)
    request = Request(select, exclude, force_schema, rollback=True)
    if only_plan:
        show_plan(place, request, output, catalog, detailed_exitcode)
    else:
        deploy(
            place, request, How(url, warehouse, parallel, yes or allow_destructive, dry_run, kind="rollback")
        )

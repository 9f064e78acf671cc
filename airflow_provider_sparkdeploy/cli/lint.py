"""``lint``: checking a repository."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ..core.lint import lint as lint_repository
from ..telling.output import echo_json, many
from .options import format_option, place_options
from .place import Place
from .problems import errors_to_exit, problem_lists, show_problems
from .progress import working


@click.command()
@place_options
@format_option("text", "json")
@click.option("--strict", is_flag=True, help="Warnings are errors.")
@errors_to_exit()
def lint(
    repository: Path, env: str | None, log: Path | None, overrides: tuple[str, ...], output: str, strict: bool
) -> None:
    """Check every file, the dependency graph, and declared against found dependencies."""
    place = Place(repository, env, log, overrides)
    found = place.open()
    with working("Checking"):
        problems = {*lint_repository(found), *place.remarks(found)}
    errors = sum(item.severity == "error" for item in problems)
    warnings = len(problems) - errors
    if output == "json":
        checked = {"version": 1, "objects": len(found.objects), **problem_lists(problems)}
        echo_json(json.dumps(checked, indent=2, ensure_ascii=False))
    else:
        show_problems(problems)
        if not errors:
            refused = " (--strict: warnings are errors)" if strict and warnings else ""
            click.echo(
                f"{many(len(found.objects), 'object')}, {many(warnings, 'warning')}, no errors.{refused}"
            )
    if errors or (strict and warnings):
        raise SystemExit(1)

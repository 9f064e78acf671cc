"""Problems, told to people and to programs: all of them at once, and never a stack trace."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, NoReturn

import click

from ..core.codec import encode_diagnostic
from ..core.diagnostics import Diagnostic, SparkDeployError
from ..telling.output import echo_json, many

Report = Callable[[tuple[Diagnostic, ...]], str]


def problems_json(problems: tuple[Diagnostic, ...]) -> str:
    """What a command that was asked for JSON says when it has no other answer."""
    return json.dumps({"version": 1, **problem_lists(problems)}, indent=2, ensure_ascii=False)


def problem_lists(problems: Iterable[Diagnostic]) -> dict[str, list[dict[str, Any]]]:
    """Warnings and errors as in the JSON of a plan."""
    found: dict[str, list[dict[str, Any]]] = {"warnings": [], "errors": []}
    for item in sorted(set(problems)):
        found[f"{item.severity}s"].append(encode_diagnostic(item))
    return found


def errors_to_exit(as_json: Report = problems_json) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Every problem once, and exit code 1: on standard error, or as JSON where that was asked for."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> None:
            report = as_json if kwargs.get("output") == "json" else None
            try:
                function(*args, **kwargs)
            except SparkDeployError as error:
                fail(error.diagnostics, report)
            except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
                raise  # click has an answer to these
            except OSError as error:
                fail([_of_system(error)], report)
            except Exception as error:
                if os.environ.get("SPARKDEPLOY_DEBUG"):
                    raise
                fail([_unexpected(error)], report)

        return wrapped

    return decorate


def _of_system(error: OSError) -> Diagnostic:
    where = f"{error.filename}: " if error.filename else ""
    return Diagnostic(
        "", 0, "SD106", f"{where}{error.strerror or error}", "Check the path and its permissions, then run it again."
    )  # fmt: skip


def _unexpected(error: Exception) -> Diagnostic:
    return Diagnostic(
        "", 0, "SD900", f"sparkdeploy itself failed: {type(error).__name__}: {error}",
        "This is a bug. SPARKDEPLOY_DEBUG=1 shows where it happened; please report it with that.",
    )  # fmt: skip


def fail(problems: Iterable[Diagnostic], as_json: Report | None = None) -> NoReturn:
    """Report, and end with exit code 1."""
    if as_json is None:
        show_problems(problems)
    else:
        echo_json(as_json(tuple(sorted(set(problems)))))
    raise SystemExit(1)


def show_problems(problems: Iterable[Diagnostic], *, changed: bool = False) -> None:
    """Problems for people, the errors last: the end of the output is what is read first.

    Errors mean that nothing was changed, unless they are about what was ``changed``.
    """
    found = sorted(set(problems), key=lambda item: (item.severity == "error", item))
    lines: list[str] = []
    for item in found:
        colour = "red" if item.severity == "error" else "yellow"
        where = f"{item.where}: " if item.file else ""
        label = click.style(f"{item.severity} {item.code}", fg=colour, bold=True)
        lines.append(f"{label} {where}{item.message}")
        if item.advice:
            lines.append(click.style(f"    {item.advice}", dim=True))
    errors = sum(item.severity == "error" for item in found)
    if errors and not changed:
        lines += ["", f"{many(errors, 'error')}; nothing was changed."]
    if lines:
        click.echo("\n".join(lines), err=True)

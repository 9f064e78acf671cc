"""The options that commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def place_options(command: Command) -> Command:
    """--repository, --env, --log, --set."""
    return _all(
        command,
        click.option("--repository", "-r", default=".", show_default=True, type=click.Path(path_type=Path),
                     help="The folder of SQL files."),
        click.option("--env", help="The environment, as named in sparkdeploy.yaml."),
        click.option("--log", type=click.Path(path_type=Path),
                     help="The deploy log; one that does not exist means that nothing is deployed. "
                          "[default: .sparkdeploy/<env>.jsonl in the repository]"),
        click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE",
                     help="A token or a setting, for this call."),
    )  # fmt: skip


def selection_options(command: Command) -> Command:
    """--select, --exclude."""
    return _all(
        command,
        click.option("--select", "-s", multiple=True, metavar="SELECTOR",
                     help="Only these: tag:, path:, schema:, kind:, name, +name, name+; several are a union."),
        click.option("--exclude", multiple=True, metavar="SELECTOR", help="Take objects out again."),
    )  # fmt: skip


def force_option(command: Command) -> Command:
    return click.option(
        "--force-schema", multiple=True, metavar="SCHEMA", help="Redeploy everything in this schema."
    )(command)


def catalog_option(command: Command) -> Command:
    return click.option(
        "--catalog",
        type=click.Path(path_type=Path),
        help="An observed catalog as JSON, to reconcile the log with.",
    )(command)


def format_option(*formats: str) -> Callable[[Command], Command]:
    """--format; the first is the default."""
    return click.option(
        "--format", "output", type=click.Choice(formats), default=formats[0], show_default=True
    )


def _all(command: Command, *options: Callable[[Command], Command]) -> Command:
    """All options, in the order in which help shows them."""
    for option in reversed(options):
        command = option(command)
    return command

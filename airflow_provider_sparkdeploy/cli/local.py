"""``local``: the embedded Spark of a warehouse folder. Starting and stopping is all there is to it."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from ..telling.output import echo_json, echo_lines
from .options import Command, format_option
from .problems import errors_to_exit
from .progress import working

if TYPE_CHECKING:
    from ..spark.local import Server


def _warehouse_option(command: Command) -> Command:
    return click.option(
        "--warehouse",
        envvar="SPARKDEPLOY_WAREHOUSE",
        default=".sparkdeploy/warehouse",
        show_default=True,
        type=click.Path(path_type=Path, file_okay=False),
        help="The folder of its tables and its catalog.",
    )(command)


@click.group()
def local() -> None:
    """The embedded Spark: one server per warehouse folder, for all processes of this machine.

    Commands that need a Spark and are given no address start it themselves.
    """


@local.command()
@_warehouse_option
@format_option("text", "json")
@errors_to_exit()
def start(warehouse: Path, output: str) -> None:
    """Start the server of a folder, or find the one that runs."""
    from ..spark.local import start

    with working("Starting Spark"):
        server = start(warehouse)
    _show(server, output)


@local.command()
@_warehouse_option
@format_option("text", "json")
@errors_to_exit()
def status(warehouse: Path, output: str) -> None:
    """Say whether the server of a folder runs, and where. Exit code 1 if it does not."""
    from ..spark.local import status

    server = status(warehouse)
    if server is None:
        _show_none(warehouse, output)
        raise SystemExit(1)
    _show(server, output)


@local.command()
@_warehouse_option
@format_option("text", "json")
@errors_to_exit()
def stop(warehouse: Path, output: str) -> None:
    """End the server of a folder. Its tables stay, and the next start finds them."""
    from ..spark.local import stop

    stopped = stop(warehouse)
    if output == "json":
        echo_json(json.dumps({"version": 1, "stopped": stopped}))
    elif stopped:
        click.echo(f"Spark in {warehouse} has ended. Its tables stay.")
    else:
        _show_none(warehouse, output)


def _show(server: Server, output: str) -> None:
    facts = {
        "address": server.address,
        "pid": next(iter(server.pids), 0),
        "warehouse": str(server.warehouse),
        "log": str(server.log),
    }
    if output == "json":
        echo_json(json.dumps({"version": 1, "running": True, **facts}, indent=2, ensure_ascii=False))
    else:
        echo_lines(f"{name:<10} {value}" for name, value in facts.items())


def _show_none(warehouse: Path, output: str) -> None:
    if output == "json":
        echo_json(json.dumps({"version": 1, "running": False}))
    else:
        click.echo(
            f"No Spark runs in {warehouse}: sparkdeploy local start --warehouse {quote(str(warehouse))}"
        )

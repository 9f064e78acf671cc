"""``sparkdeploy``: the commands, and what they have in common."""

from __future__ import annotations

import gc
from importlib import import_module

import click

from .. import __version__
from ..telling.output import set_up_streams, wants_colour

_MODULES = {
    "apply": "apply",
    "baseline": "baseline",
    "components": "components",
    "drift": "status",
    "explain": "explain",
    "graph": "graph",
    "history": "history",
    "import": "import_",
    "init": "init",
    "lint": "lint",
    "local": "local",
    "plan": "plan",
    "recover": "repair",
    "refresh": "apply",
    "resolve": "repair",
    "rollback": "rollback",
    "status": "status",
    "unlock": "repair",
}


class _Commands(click.Group):
    """Commands, each imported when it is asked for: a plan need not wait for what talks to Spark."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _MODULES:
            return None
        module = import_module(f".{_MODULES[cmd_name]}", __package__)
        command: click.Command = getattr(module, "import_" if cmd_name == "import" else cmd_name)
        return command


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="sparkdeploy")
@click.pass_context
def main(context: click.Context) -> None:
    """Deploy a folder of SQL files to a Spark catalog.

    Start with `sparkdeploy init`, look with `sparkdeploy plan`, ask with `sparkdeploy explain`,
    deploy with `sparkdeploy apply`.
    """
    gc.freeze()  # a plan makes many small values and no garbage: let the collector rest
    gc.disable()
    set_up_streams()
    context.color = wants_colour()

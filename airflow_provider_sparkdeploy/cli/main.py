"""``sparkdeploy``: the commands, and what they have in common."""

from __future__ import annotations

import gc

import click

from .. import __version__
from ..telling.output import set_up_streams, wants_colour
from .apply import apply, refresh
from .baseline import baseline
from .components import components
from .explain import explain
from .graph import graph
from .history import history
from .import_ import import_
from .init import init
from .lint import lint
from .local import local
from .plan import plan
from .repair import recover, resolve, unlock
from .rollback import rollback
from .status import drift, status


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
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


for command in (
    init, import_, lint, plan, explain, graph, components, baseline, apply, refresh, rollback, status, drift, history, resolve,
    recover, unlock, local,
):  # fmt: skip
    main.add_command(command)

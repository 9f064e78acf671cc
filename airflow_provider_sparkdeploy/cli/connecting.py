"""Where Spark is: the options that say it, and the sessions that come of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ..core.diagnostics import problem
from ..spark.session import Sessions, SparkFailure
from .options import Command
from .place import Place
from .progress import working

_SUBMIT = "sparkdeploy.submit"
_MASTER = re.compile(r"(spark|k8s)://.+|yarn|local(\[.+\])?")


def _keep(context: click.Context, option: click.Parameter, value: object) -> None:
    """Options of spark-submit concern nobody but ``connect``: no command takes them on."""
    context.meta.setdefault(_SUBMIT, {})[option.name] = value


def spark_options(command: Command) -> Command:
    """--spark, --warehouse, and what is passed on to spark-submit."""
    for option in (
        click.option("--submit-host", metavar="HOST", expose_value=False, callback=_keep,
                     help="Run the driver in the cluster (deploy mode cluster); HOST is this machine as seen from there."),
        click.option("--submit-arg", metavar="ARG", multiple=True, expose_value=False, callback=_keep,
                     help="Passed on to spark-submit as it is, e.g. --submit-arg=--queue --submit-arg=etl."),
        click.option("--submit-conf", metavar="KEY=VALUE", multiple=True, expose_value=False, callback=_keep,
                     help="A setting of Spark, where --spark is a master."),
        click.option("--warehouse", type=click.Path(path_type=Path), envvar="SPARKDEPLOY_WAREHOUSE",
                     help="The folder of the embedded Spark. [default: .sparkdeploy/warehouse in the repository]"),
        click.option("--spark", "url", metavar="URL", envvar="SPARKDEPLOY_SPARK",
                     help="A Spark Connect server, sc://host:port, or a master for spark-submit: spark://host:port, "
                          "yarn, k8s://..., local[*]. Without it, an embedded Spark is started."),
    ):  # fmt: skip
        command = option(command)
    return command


def connect(place: Place, url: str | None, warehouse: Path | None) -> Sessions:
    """Sessions on the Spark that is meant; an embedded one is started where none is named."""
    if url is not None:
        if _MASTER.fullmatch(url):
            return _submitted(url)
        if not url.startswith("sc://"):
            raise problem(
                "SD706", "--spark takes a Spark Connect address, or a master for spark-submit",
                advice="Write sc://host:port, or one of spark://host:port, yarn, k8s://..., local[*].",
            )  # fmt: skip
        from ..spark.session import ConnectSessions

        return ConnectSessions(url)
    from ..spark.local import local_sessions, may_run

    folder = _warehouse(place, warehouse)
    with working("Connecting to the embedded Spark" if may_run(folder) else "Starting the embedded Spark"):
        return local_sessions(folder)


def connect_to_look(place: Place, url: str | None, warehouse: Path | None) -> Sessions | None:
    """The same for who changes nothing. None where the embedded Spark is meant and has never run: nobody
    has to wait for it to hear that its catalog is empty."""
    from ..spark.local import has_run

    if url is None and not has_run(_warehouse(place, warehouse)):
        return None
    return connect(place, url, warehouse)


def _warehouse(place: Place, given: Path | None) -> Path:
    return given or place.repository / ".sparkdeploy" / "warehouse"


def _submitted(master: str) -> Sessions:
    """Sessions in a driver that ends with the command."""
    from ..spark.submit import SubmitSessions

    context = click.get_current_context()
    given = context.meta.get(_SUBMIT, {})
    pairs = [text.partition("=") for text in given.get("submit_conf", ())]
    if any(not (key and equals) for key, equals, _ in pairs):
        raise click.UsageError("--submit-conf takes KEY=VALUE.")  # without the text: it may be a secret
    host = given.get("submit_host")
    sessions = SubmitSessions(
        master,
        conf={key: value for key, _, value in pairs},
        arguments=given.get("submit_arg", ()),
        deploy_mode="cluster" if host else "client",
        host=host or "127.0.0.1",
    )
    context.call_on_close(sessions.close)
    return sessions


@contextmanager
def spark_errors() -> Iterator[None]:
    """What Spark refuses outside an operation, as a problem for people."""
    try:
        yield
    except SparkFailure as failure:
        advice = "Check that the server runs, and run it again." if failure.transient else ""
        raise problem("SD707", f"Spark: {failure}", advice=advice) from None

"""``resolve``, ``recover`` and ``unlock``: what a person decides when a machine cannot."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ..core.deploylog import Entry, new_run, now
from ..core.diagnostics import near_name, problem
from ..telling.output import many
from .connecting import connect, spark_errors, spark_options
from .options import place_options
from .place import Place
from .problems import errors_to_exit
from .progress import working


@click.command()
@click.argument("operation", metavar="OPERATION")
@place_options
@spark_options
@click.option("--applied", "verdict", flag_value="applied", help="It was done: record it as done.")
@click.option("--rerun", "verdict", flag_value="rerun", help="It was not done: run it again.")
@errors_to_exit()
def resolve(
    operation: str, repository: Path, env: str | None, log: Path | None, overrides: tuple[str, ...], url: str | None,
    warehouse: Path | None, verdict: str | None,
) -> None:  # fmt: skip
    """Decide what became of an operation that is uncertain.

    Look at the object first. OPERATION is its id, as the error named it. For one that Airflow ran, say
    where its Spark is (--spark or --warehouse): what it left there is decided about.
    """
    from ..spark.apply import applied, not_applied, unfinished
    from ..spark.resume import left_in_doubt

    if verdict is None:
        raise click.UsageError("Say --applied or --rerun.")
    place = Place(repository, env, log, overrides)
    environment = place.environment()
    with place.file_log(environment) as writer:
        begun = {item.operation.id: item for item in unfinished(place.read_log(environment).entries)}
        if operation not in begun and (url or warehouse):
            _resolve_mark(place, operation, verdict, url, warehouse)
            return
        if operation not in begun:
            known = (
                f"Begun and not reported: {', '.join(begun)}." if begun else "Nothing is: apply can go on."
            )
            raise problem(
                "SD811", f"{operation} is not uncertain", advice=near_name(operation, begun) or known
            )
        run = new_run("resolve")
        item, why = begun[operation], "a person has decided so"
        outcome = (
            applied(item, run, why)
            if verdict == "applied"
            else not_applied(item, run, why, left_in_doubt(item.operation))
        )
        started = {"event": "started", "kind": "resolve", "environment": environment}
        writer.append(
            [
                Entry("run", run, now(), detail=started),
                outcome,
                Entry("run", run, now(), detail={"event": "succeeded"}),
            ]
        )
    told = "done" if verdict == "applied" else "not done, and will run again"
    click.echo(f"{operation} is recorded as {told}. Go on with sparkdeploy apply.")


def _resolve_mark(
    place: Place, operation: str, verdict: str, url: str | None, warehouse: Path | None
) -> None:
    """Decide about what a free-form statement left in the catalog, whoever ran it."""
    from ..spark import marks

    settings = place.open().settings
    schema = settings.log_schema
    with spark_errors(), connect(place, url, warehouse).open() as spark:
        found = {
            mark.intent.operation: name
            for name, mark in marks.read_all(spark, schema, settings.environment).items()
            if not mark.done
        }
        if operation not in found:
            raise problem(
                "SD811", f"{operation} left nothing in the catalog to decide about",
                advice=near_name(operation, found) or "If its object is as it should be, mark its task in Airflow as a success.",
            )  # fmt: skip
        if verdict == "applied":
            marks.succeed(spark, schema, found[operation])
        else:
            marks.drop(spark, schema, [found[operation]])
    told = "done" if verdict == "applied" else "not done, and will run again"
    click.echo(f"{operation} is recorded as {told}. Go on: clear its task in Airflow.")


@click.command()
@place_options
@spark_options
@errors_to_exit()
def recover(
    repository: Path, env: str | None, log: Path | None, overrides: tuple[str, ...], url: str | None, warehouse: Path | None
) -> None:  # fmt: skip
    """Rebuild the deploy log from what is kept in the catalog.

    Reads the history table, the marks of statements that it does not hold yet, and the markers of
    tables that it does not know. A log that is there already is kept beside the new one.
    """
    from ..spark.apply import unfinished
    from ..spark.rebuild import rebuilt
    from ..spark.recover import recover as rebuild
    from ..spark.target import target_of

    place = Place(repository, env, log, overrides)
    found = place.open()
    environment = found.settings.environment
    sessions = connect(place, url, warehouse)
    schema = found.settings.log_schema
    run = new_run("recover")
    with spark_errors(), place.file_log(environment) as target:
        with working("Reading the history"), sessions.open() as spark:
            entries = rebuild(
                spark, schema, run, environment,
                lambda known, left: rebuilt(sessions, found, target_of(found.settings), known, left, run),
            )  # fmt: skip
        if not entries:
            raise problem(
                "SD812", f"there is no history in schema {schema}",
                advice="If the catalog is as the repository says, record that instead: sparkdeploy baseline.",
            )  # fmt: skip
        kept = f"{target.path}.before-{run}" if target.path.exists() else ""
        if kept:
            os.replace(target.path, kept)
        target.append(entries)
        state = target.read().state
    runs = {entry.run for entry in entries} - {run}
    click.echo(f"Recovered {many(len(state), 'object')} of {many(len(runs), 'run')} into {target.path}.")
    if kept:
        click.echo(f"The log that was there is kept as {kept}.")
    for item in unfinished(entries):
        click.echo(f"Begun and never reported: {item.operation.id} of run {item.run}.", err=True)


@click.command()
@place_options
@spark_options
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@errors_to_exit()
def unlock(
    repository: Path, env: str | None, log: Path | None, overrides: tuple[str, ...], url: str | None,
    warehouse: Path | None, yes: bool,
) -> None:  # fmt: skip
    """Take the lock of an environment away from whoever holds it.

    Needed only if a process was killed and its lock has not expired yet. A holder that still
    lives stops before its next statement.
    """
    from ..spark.lock import force_unlock, read_lock

    place = Place(repository, env, log, overrides)
    schema = place.open().settings.log_schema
    sessions = connect(place, url, warehouse)
    with spark_errors(), sessions.open() as spark:
        holder = read_lock(spark, schema)
        if holder is None or holder.released:
            click.echo("The lock is free.")
            return
        if not yes and not click.confirm(f"Take the lock from {holder}?", default=False):
            raise problem("SD805", "not agreed to; the lock is as it was")
        force_unlock(spark, schema)
    click.echo(f"Unlocked. It was held by {holder}.")

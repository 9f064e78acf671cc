"""``import``: files from a schema that is there already."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..core.catalog import Catalog
from ..core.declaration import with_tokens
from ..core.diagnostics import Diagnostic, problem
from ..core.files import Listing, SourceFile
from ..core.graph import build_graph
from ..core.names import ObjectName, display, parse_name
from ..core.planner import make_plan
from ..core.records import record_of
from ..core.repository import Repository, build_repository
from ..core.settings import Settings
from ..core.settingsfile import FILE as SETTINGS_FILE
from ..telling.output import echo_lines, many
from .connecting import connect, spark_errors, spark_options
from .options import place_options
from .place import Place
from .problems import errors_to_exit, show_problems
from .progress import working

if TYPE_CHECKING:
    from ..spark.importing import Draft, Imported


@click.command("import")
@click.argument("schemas", metavar="SCHEMA...", nargs=-1, required=True)
@place_options
@spark_options
@click.option("--folder", help="The folder for the files. [default: the schema's own name]")
@click.option("--force", is_flag=True, help="Overwrite files that are there already.")
@errors_to_exit()
def import_(
    schemas: tuple[str, ...], repository: Path, env: str | None, log: Path | None, overrides: tuple[str, ...],
    url: str | None, warehouse: Path | None, folder: str | None, force: bool,
) -> None:  # fmt: skip
    """Write files from what is in a SCHEMA: its tables, views and SQL functions.

    Looks at the catalog and changes nothing in it. Follow it with `sparkdeploy baseline`: then the
    plan is empty. What cannot be said in a file is left out, and named.
    """
    from ..spark.catalog import schema_exists
    from ..spark.importing import read_schema

    if folder is not None and len(schemas) > 1:
        raise click.UsageError("--folder takes the files of one schema.")
    repository.mkdir(parents=True, exist_ok=True)
    place = Place(repository, env, log, overrides)
    found = place.open()
    folders = _folders(schemas, folder, found, has_settings=(repository / SETTINGS_FILE).exists())
    settings = _mapped(found.settings, folders)
    sessions = connect(place, url, warehouse)
    with spark_errors(), working("Looking at the catalog"):
        with sessions.open() as spark:
            for schema in folders.values():
                if not schema_exists(spark, schema):
                    raise problem(
                        "SD507",
                        f"there is no schema {display(schema)} in the catalog",
                        advice="Name it as Spark does: schema, or catalog.schema.",
                    )
        imported = {name: read_schema(sessions, name, schema, settings) for name, schema in folders.items()}
    _write(place, found, settings, folders, imported, force=force)


def _folders(
    schemas: Sequence[str], folder: str | None, found: Repository, *, has_settings: bool
) -> dict[str, tuple[str, ...]]:
    """The folder of every schema: the one that is mapped to it, the one that was asked for, or its name."""
    mapped = {_folded(physical): name for name, physical in found.settings.schemas.items()}
    chosen: dict[str, tuple[str, ...]] = {}
    for text in schemas:
        schema = parse_name(text)
        if schema is None or len(schema) > 2:
            raise click.UsageError(f"{text} is not a schema. Write schema, or catalog.schema.")
        if schema[-1].casefold() in (found.settings.log_schema, found.settings.data_schema):
            raise problem(
                "SD508", f"{text} is where SparkDeploy keeps its own things", advice="Import another schema."
            )
        name = folder or mapped.get(_folded(schema)) or schema[-1].casefold()
        if "/" in name or "}" in name or name.startswith("."):
            raise problem("SD508", f"{name} cannot be a folder of a repository", advice="Pass --folder.")
        meant = found.settings.physical_schema(name)
        if has_settings and _folded(meant) != _folded(schema):
            raise problem(
                "SD508",
                f"in environment {found.settings.environment} the folder {name} stands for {display(meant)}, "
                f"not for {display(schema)}",
                advice=f"Add to {SETTINGS_FILE}: schemas: {{{name}: {display(schema)}}}. Then import it.",
            )
        chosen[name] = schema
    return chosen


def _folded(parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(part.casefold() for part in parts)


def _mapped(settings: Settings, folders: Mapping[str, tuple[str, ...]]) -> Settings:
    """The settings once the folders stand for their schemas."""
    return replace(settings, schemas={**settings.schemas, **folders})


def _write(
    place: Place,
    found: Repository,
    settings: Settings,
    folders: Mapping[str, tuple[str, ...]],
    imported: Mapping[str, Imported],
    *,
    force: bool,
) -> None:
    """All files that say what is there, and words about everything else."""
    drafts = [draft for item in imported.values() for draft in item.drafts]
    remarks = [
        _left_out(item.name, item.why, item.advice) for part in imported.values() for item in part.left_out
    ]
    texts = _texts(drafts, folders)
    texts, wrong = _checked(texts, settings, imported)
    remarks += wrong
    told = {draft.name: draft.remark for draft in drafts if draft.remark}
    lines: list[str] = []
    written = 0
    for draft in drafts:
        path = _path(draft)
        if path not in texts:
            continue
        there = found.objects.get(draft.name)
        target = place.repository / path
        if (there is not None and there.path != path) or (target.exists() and not force):
            known = there.path if there is not None else path
            lines.append(f"  = {place.repository / known} is there already")
            continue
        lines.append(f"  {'~' if target.exists() else '+'} {target}")
        if draft.name in told:
            remarks.append(
                Diagnostic(path, 0, "SD510", told[draft.name], severity="warning", object=str(draft.name))
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(texts[path], encoding="utf-8")
        written += 1
    settings_file = place.repository / SETTINGS_FILE
    renamed = {name: schema for name, schema in folders.items() if _folded(schema) != (name,)}
    if renamed and not settings_file.exists():
        listed = "".join(f"  {_yaml(name)}: {_yaml(display(schema))}\n" for name, schema in renamed.items())
        settings_file.write_text(f"schemas:\n{listed}", encoding="utf-8")
        lines.append(f"  + {settings_file}")
    echo_lines(lines)
    show_problems(remarks)
    left = sum(item.code == "SD509" for item in remarks)
    ending = f"; {many(left, 'object')} left out" if left else ""
    click.echo(f"\nWrote {many(written, 'file')} from {many(len(folders), 'schema')}{ending}.")
    if written:
        here = "" if place.repository == Path(".") else f" --repository {shlex.quote(str(place.repository))}"
        click.echo(f"Record them as deployed with:\n  sparkdeploy baseline{here}")


def _yaml(text: str) -> str:
    return text if text.replace(".", "").replace("_", "").isalnum() else f"'{text}'"


def _path(draft: Draft) -> str:
    return f"{draft.name.schema}/{draft.kind}/{draft.file}.sql"


def _texts(drafts: Sequence[Draft], folders: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    known = {(draft.name.schema, draft.name.object) for draft in drafts}
    texts: dict[str, str] = {}
    for draft in drafts:
        header = f"-- //// METADATA {draft.header}\n" if draft.header else ""
        texts[_path(draft)] = f"{header}{with_tokens(draft.statement, folders, known)}\n"
    return texts


def _checked(
    texts: Mapping[str, str], settings: Settings, imported: Mapping[str, Imported]
) -> tuple[dict[str, str], list[Diagnostic]]:
    """The files for which a plan has nothing to do once they are recorded: that makes them true."""
    listing = Listing(tuple(_source(path, text) for path, text in sorted(texts.items())), {}, ())
    built = build_repository(listing, settings)
    objects = {name: item for part in imported.values() for name, item in part.catalog.objects.items()}
    graph = build_graph(built)
    recorded = {
        name: record_of(item, graph.depends_on[name], graph.requires) for name, item in built.objects.items()
    }
    plan = make_plan(built, recorded, catalog=Catalog(objects)).plan
    wrong: dict[str, str] = {}
    for item in (*built.problems, *plan.errors):
        if item.severity == "error":
            wrong.setdefault(item.file, item.message)
    for operation in plan.operations:
        path = built.objects[operation.object].path
        wrong.setdefault(path, f"a plan would {operation.action} it: {operation.id}")
    names = {path: _name(path) for path in texts}
    kept = {path: text for path, text in texts.items() if path not in wrong}
    return kept, [
        _left_out(str(names[path]), why, "Write its file by hand.")
        for path, why in sorted(wrong.items())
        if path in names
    ]


def _source(path: str, text: str) -> SourceFile:
    schema, kind, file = path.split("/")
    return SourceFile(path, schema, kind, file.removesuffix(".sql"), text.encode())  # type: ignore[arg-type]


def _name(path: str) -> ObjectName:
    schema, _, file = path.split("/")
    return ObjectName(schema, file.removesuffix(".sql").casefold())


def _left_out(name: str, why: str, advice: str) -> Diagnostic:
    return Diagnostic("", 0, "SD509", f"{name} is left out: {why}", advice, severity="warning", object=name)

"""A folder of files to a repository: every object, and every problem of every file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path

from . import cache
from .collecting import without_collector
from .diagnostics import Diagnostic, near_name
from .files import FOLDER_DEFAULTS, Listing, decode
from .fingerprint import Contents, contents_of, read_contents
from .headers import Attributes, read_sections
from .lazy import Objects
from .lexer import LexError, lex, line_of
from .names import ObjectName, display, object_name
from .objects import ObjectDef
from .parse import unknown_environments
from .parsing import Surroundings, parse_files
from .settings import Settings
from .settingsfile import FILE as SETTINGS_FILE
from .tokens import built_in_tokens, substitute

_SECRET = re.compile(r"passw(or)?d|secret|credential|(api|access|private)_?key|(^|_)token$")
_MISPLACED = ("SD107", "SD110", "SD111", "SD112")  # what is said of files that declare no object
_MANY = 5  # of these are mistakes in a repository; more, and it is none
_ONE_LINE = "Keep one //// METADATA line and comments; objects have files of their own."


@dataclass(frozen=True, slots=True)
class Repository:
    """All objects of one environment, sorted by name. ``schemas`` maps every folder to its
    physical schema; ``fingerprint`` is that of ``core.fingerprint``; ``broken`` are
    the files that declare nothing because something is wrong with them."""

    objects: Objects
    settings: Settings
    schemas: Mapping[str, tuple[str, ...]]
    fingerprint: str
    problems: tuple[Diagnostic, ...] = ()
    memo: cache.Memo | None = None
    broken: frozenset[ObjectName] = frozenset()


def open_repository(
    root: Path,
    *,
    environment: str | None = None,
    overrides: tuple[str, ...] = (),
    use_cache: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Repository:
    """Read and parse the repository at ``root``."""
    contents = read_contents(root, environment=environment, overrides=overrides)
    return parse_contents(contents, root if use_cache else None, progress)


def build_repository(listing: Listing, settings: Settings) -> Repository:
    """The repository that these files are, without a cache."""
    return parse_contents(contents_of(listing, settings))


@without_collector()
def parse_contents(
    contents: Contents, root: Path | None = None, progress: Callable[[int, int], None] | None = None
) -> Repository:
    """Parse what is not in the cache, and put the objects together. The cache is that of ``root``."""
    listing, settings, digests = contents.listing, contents.settings, contents.digests
    pack = cache.Pack(f"{root.resolve()}\x1f{settings.environment}") if root is not None else None
    problems = list(listing.problems)
    files = sorted(listing.files)  # whatever order they were found in
    folders = {file.schema for file in files}
    schemas = {folder.casefold(): settings.physical_schema(folder) for folder in sorted(folders)}
    values = built_in_tokens(schemas)
    problems += _token_problems(settings, {*values, "schema"})
    problems += _folder_problems(settings, set(schemas))
    around = Surroundings(settings, {}, {**settings.tokens, **values})
    defaults = {
        (schema, kind): _folder_defaults(schema, kind, content, around, problems)
        for (schema, kind), content in sorted(listing.defaults.items())
    }

    around = replace(around, defaults=defaults)
    parsed = parse_files(zip(files, digests.values(), strict=True), around, pack, progress)
    problems += [item for packed in parsed if packed[0] for item in cache.problems_of(packed)]
    found = [packed for packed in parsed if packed[1] is not None]
    broken: dict[ObjectName, str] = {}
    for file, packed in zip(files, parsed, strict=True) if len(found) < len(parsed) else ():
        told = cache.problems_of(packed)
        if packed[1] is None and any(problem.severity == "error" for problem in told):
            name = object_name(file.schema, file.object)
            if name in broken:
                problems.append(_twice(name, file.path, broken[name]))
            broken.setdefault(name, file.path)
    shared = len({tuple(part.casefold() for part in physical) for physical in schemas.values()}) < len(
        schemas
    )
    objects = _by_name(found, shared, problems)
    problems += [
        _twice(name, max(path, objects[name].path), min(path, objects[name].path))
        for name, path in broken.items()
        if name in objects
    ]
    memo = cache.Memo(pack) if pack else None
    sure = tuple(sorted(set(problems)))
    return Repository(objects, settings, schemas, contents.fingerprint, sure, memo, frozenset(broken))


def wrong_folder(repository: Repository, root: Path) -> Diagnostic | None:
    """Where every file is in the wrong place, and the settings are in a folder above or below, or there
    is nothing that looks like a repository at all, it is the folder that is wrong: one error, not one
    for each file."""
    misplaced = [item for item in repository.problems if item.code in _MISPLACED]
    if not misplaced or repository.objects or repository.broken or (root / SETTINGS_FILE).exists():
        return None
    here = root.resolve()
    above = [parent for parent in here.parents[:2] if (parent / SETTINGS_FILE).exists()]
    below = (path.parent for depth in ("*", "*/*") for path in here.glob(f"{depth}/{SETTINGS_FILE}"))
    if folder := next(iter((*above, *sorted(below))), None):
        shown = str(folder) if root.is_absolute() else os.path.relpath(folder)
        return Diagnostic(
            "", 0, "SD100", f"{root} is not a repository: {SETTINGS_FILE} is in {shown}",
            f"Name that folder (--repository {shown}; in a DAG, repository=), or run it there.",
        )  # fmt: skip
    if len(misplaced) > _MANY and not any(item.advice.startswith("Did you mean") for item in misplaced):
        return Diagnostic(
            "", 0, "SD100",
            f"{root} is not a repository: none of its files is at <schema>/<kind>/<object>.sql, "
            f"and it has no {SETTINGS_FILE}",
            "Name another folder (--repository; in a DAG, repository=), or run it there. "
            "sparkdeploy init makes an example.",
        )  # fmt: skip
    return None


def empty_remark(repository: Repository, root: Path) -> tuple[Diagnostic, ...]:
    """An empty repository is legal, and nearly always the wrong folder."""
    if repository.objects or repository.problems:
        return ()
    return (
        Diagnostic(
            "", 0, "SD105", f"there are no objects in {root}",
            "Objects are files at <schema>/<kind>/<object>.sql. Is it the right folder (--repository; in a DAG, "
            "repository=)? sparkdeploy init makes an example.",
            severity="warning",
        ),
    )  # fmt: skip


def _token_problems(settings: Settings, built_in: set[str]) -> Iterator[Diagnostic]:
    """Tokens that would hide a built-in one, or bring a ``${name}`` that nobody replaces."""
    for name, value in sorted(settings.tokens.items()):
        line = settings.token_lines.get(name, 0)
        file = SETTINGS_FILE if line else ""
        if name in built_in:
            yield Diagnostic(
                file, line, "SD102", f"token {name} is built in", "Choose a name that no schema folder has."
            )
        if "${" in value:
            yield Diagnostic(
                file, line, "SD102", f"the value of token {name} holds another token: {value}",
                "Values are taken as they are: write the text itself.",
            )  # fmt: skip
        if _SECRET.search(name):
            yield Diagnostic(
                file, line, "SD109", f"token {name} is named like a secret, and its value is no secret",
                "The text of a statement, tokens replaced, is in logs, plans and the history. Keep secrets in the "
                "settings of Spark.", severity="warning",
            )  # fmt: skip


def _folder_problems(settings: Settings, folders: set[str]) -> Iterator[Diagnostic]:
    """Settings of a folder that is not there, where another has nearly that name: a typing error
    would deploy that one elsewhere. (Others may be of folders that are yet to come.)"""
    through = settings.propagation
    for key, named in (
        ("schemas", {*settings.schemas}),
        ("propagation", {*through.schema_by_folder, *through.compute_by_folder}),
    ):
        for name in sorted(named - folders):
            if near := near_name(name, folders - named):
                yield Diagnostic(
                    SETTINGS_FILE, 1, "SD108", f"{key}: there is no schema folder {name}", near, severity="warning"
                )  # fmt: skip


def _folder_defaults(
    schema: str,
    kind: str,
    content: bytes,
    around: Surroundings,
    problems: list[Diagnostic],
) -> Attributes:
    path = f"{schema}/{kind}/{FOLDER_DEFAULTS}"
    text, unreadable = decode(content, path)
    if unreadable:
        problems += unreadable
        return Attributes()
    text = substitute(text, around.tokens_of(schema), path, problems)
    count = len(problems)
    preface, sections = read_sections(text, path, kind.casefold(), problems)
    if [section.kind for section in sections] != ["METADATA"]:
        if len(problems) == count:
            line = sections[0].line if sections else 1
            problems.append(Diagnostic(path, line, "SD127", "must hold one //// METADATA line", _ONE_LINE))
        return Attributes()
    for start, end in ((0, preface), (sections[0].start, sections[0].end)):
        try:
            found = lex(text[start:end]).starts[:1]
        except LexError as error:
            found = [error.position]
        if found:
            line = line_of(text, start + found[0])
            problems.append(Diagnostic(path, line, "SD127", "text beside the //// METADATA line", _ONE_LINE))
    problems += unknown_environments(sections[0].attributes, around.settings.environments, path)
    return sections[0].attributes


def _check_physical(objects: Mapping[ObjectName, ObjectDef], problems: list[Diagnostic]) -> None:
    """Two folders may share a schema, but not the name of an object in it."""
    physical: dict[tuple[str, ...], ObjectDef] = {}
    for item in objects.values():
        twin = physical.setdefault(tuple(part.casefold() for part in item.physical), item)
        if twin is not item:
            problems.append(
                Diagnostic(
                    item.path,
                    1,
                    "SD114",
                    f"{display(item.physical)} is also the physical name of {twin.path}",
                    "Map the two schema folders to different schemas.",
                )
            )


def _twice(name: ObjectName, path: str, first: str) -> Diagnostic:
    return Diagnostic(path, 1, "SD113", f"{name} is already declared by {first}", "Keep one file.")


def _by_name(found: list[cache.Packed], shared: bool, problems: list[Diagnostic]) -> Objects:
    rows = sorted(found, key=itemgetter(1, 2))  # by name; of equals, the first file stays first
    objects = cache.unpack_all(rows)
    if len(objects) < len(rows):
        objects = cache.unpack_all(_without_twins(rows, problems))
    if shared:
        _check_physical(objects, problems)
    return objects


def _without_twins(rows: list[cache.Packed], problems: list[Diagnostic]) -> list[cache.Packed]:
    """The first row of every name; the others are mistakes."""
    first: dict[ObjectName, cache.Packed] = {}
    for row in rows:
        item = cache.unpack(row)
        if first.setdefault(item.name, row) is not row:
            problems.append(_twice(item.name, item.path, cache.unpack(first[item.name]).path))
    return list(first.values())

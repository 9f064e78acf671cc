"""A folder of files to a repository: every object, and every problem of every file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from . import cache
from .diagnostics import Diagnostic
from .files import FOLDER_DEFAULTS, Listing, decode, read_files, read_settings_text
from .fingerprint import content_digests, fingerprint_of
from .headers import Attributes, read_sections
from .lexer import LexError, lex, line_of
from .names import ObjectName, display, object_name
from .objects import ObjectDef
from .parse import unknown_environments
from .parsing import Surroundings, parse_files
from .settings import Settings, load_settings
from .settingsfile import FILE as SETTINGS_FILE
from .tokens import built_in_tokens, substitute

_ONE_LINE = "Keep one //// METADATA line and comments; objects have files of their own."


@dataclass(frozen=True, slots=True)
class Repository:
    """All objects of one environment, sorted by name. ``schemas`` maps every folder to its
    physical schema; ``fingerprint`` is that of ``core.fingerprint``; ``broken`` are
    the files that declare nothing because something is wrong with them."""

    objects: Mapping[ObjectName, ObjectDef]
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
    settings = load_settings(read_settings_text(root), environment=environment, overrides=overrides)
    listing = read_files(root, settings.ignore)
    pack = cache.Pack(f"{root.resolve()}\x1f{settings.environment}") if use_cache else None
    return build_repository(listing, settings, pack, progress)


def build_repository(
    listing: Listing,
    settings: Settings,
    pack: cache.Pack | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Repository:
    """Parse what is not in the cache, and put the objects together."""
    problems = list(listing.problems)
    files = sorted(listing.files, key=lambda file: file.path)  # whatever order they were found in
    folders = {file.schema for file in files}
    schemas = {folder.casefold(): settings.physical_schema(folder) for folder in sorted(folders)}
    values = built_in_tokens(schemas)
    problems += _token_problems(settings, {*values, "schema"})
    around = Surroundings(settings, {}, {**settings.tokens, **values})
    defaults = {
        (schema, kind): _folder_defaults(schema, kind, content, around, problems)
        for (schema, kind), content in sorted(listing.defaults.items())
    }

    around = replace(around, defaults=defaults)
    digests = content_digests(listing)
    found: list[ObjectDef] = []
    broken: dict[ObjectName, str] = {}
    parsed_files = parse_files(zip(files, digests.values(), strict=True), around, pack, progress)
    for file, (key, packed) in zip(files, parsed_files, strict=True):
        parsed = cache.unpack(packed, key)
        problems += parsed.problems
        if parsed.object is not None:
            found.append(parsed.object)
        elif any(item.severity == "error" for item in parsed.problems):
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
    fingerprint = fingerprint_of(listing, settings, digests)
    memo = cache.Memo(pack) if pack else None
    told = tuple(sorted(set(problems)))
    return Repository(objects, settings, schemas, fingerprint, told, memo, frozenset(broken))


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


def _by_name(found: list[ObjectDef], shared: bool, problems: list[Diagnostic]) -> dict[ObjectName, ObjectDef]:
    objects: dict[ObjectName, ObjectDef] = {}
    for item in found:
        first = objects.setdefault(item.name, item)
        if first is not item:
            problems.append(_twice(item.name, item.path, first.path))
    if shared:
        _check_physical(objects, problems)
    return dict(sorted(objects.items()))

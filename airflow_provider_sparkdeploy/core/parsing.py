"""Many files to what they declare: what was parsed before is found again, the rest is parsed now.

A file is found by everything that went into it: its content, its name, what holds for all of its
folder, and the values of the tokens where it uses any. So a plan for a repository of which little
changed parses little, and hashes every file only once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from . import cache
from .cache import Key, Packed
from .diagnostics import Diagnostic
from .files import SourceFile, decode
from .headers import Attributes
from .parallel import map_parallel
from .parse import Source, parse_object
from .settings import Settings
from .tokens import substitute, uses_tokens

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What files are parsed with, beside their own text: the defaults of folders (schema and kind,
    as spelled), and the values of all tokens."""

    settings: Settings
    defaults: Mapping[tuple[str, str], Attributes] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)

    def tokens_of(self, schema: str) -> dict[str, str]:
        """All tokens as a file of a schema folder sees them; a folder of defaults only has no own."""
        own = self.values.get(schema.casefold())
        return dict(self.values) if own is None else {**self.values, "schema": own}


def parse_files(
    files: Iterable[tuple[SourceFile, bytes]],
    around: Surroundings,
    pack: cache.Pack | None,
    progress: Progress | None = None,
) -> list[Packed]:
    """What every file, given with the hash of its content, declares."""
    known = pack.entries if pack else {}
    salts: dict[str, tuple[Key, Key]] = {}
    keys: list[Key] = []
    missing: list[tuple[Key, Key, SourceFile]] = []
    version, values = cache.version_salt(), repr(sorted(around.values.items()))
    for file, digest in files:
        folder, _, name = file.path.rpartition("/")
        salt = salts.get(folder)
        if salt is None:
            salt = salts[folder] = _salts(file, folder, around, version, values)
        key = salt[uses_tokens(file.content)] + digest + name.encode("utf-8", "surrogatepass")
        keys.append(key)
        if key not in known:
            missing.append((key, salt[0], file))
    if not missing:
        return [known[key] for key in keys]
    added = _parse_missing(missing, around, known, progress)
    known.update(added)
    if pack:
        pack.forget_others(set(keys))
        pack.append(added)
    return [known[key] for key in keys]


def _salts(
    file: SourceFile, folder: str, around: Surroundings, version: bytes, values: str
) -> tuple[Key, Key]:
    """What holds for all files of a folder: for those without tokens, and for those with ``values``."""
    settings = around.settings
    defaults = around.defaults.get((file.schema, folder.rpartition("/")[2]), Attributes())
    plain = repr((
        version, settings.environment, settings.environments, folder, settings.physical_schema(file.schema),
        sorted(defaults.values.items()), defaults.line,
    ))  # fmt: skip
    return _short(plain), _short(plain + values)


def _parse_missing(
    missing: list[tuple[Key, Key, SourceFile]],
    around: Surroundings,
    known: Mapping[Key, Packed],
    progress: Progress | None,
) -> dict[Key, Packed]:
    """Parse files that were not found by their keys. The value of a token may have changed that
    a file does not use: it is also kept, and found, by its text with all tokens replaced."""
    added: dict[Key, Packed] = {}
    sources: list[tuple[Key, Key, Source]] = []
    for key, salt, file in missing:
        source = _source(file, around)
        by_text = b""
        if uses_tokens(file.content) and not source.problems:
            by_text = salt + _short(source.text) + file.path.encode("utf-8", "surrogatepass")
        if by_text in known:
            added[key] = known[by_text]
        else:
            sources.append((key, by_text, source))
    parsed = map_parallel(_parse_packed, [source for _, _, source in sources], progress)
    for (key, by_text, _), packed in zip(sources, parsed, strict=True):
        added[key] = packed
        if by_text:
            added[by_text] = packed
    return added


def _parse_packed(source: Source) -> Packed:
    return cache.pack(parse_object(source))


def _source(file: SourceFile, around: Surroundings) -> Source:
    settings = around.settings
    text, unreadable = decode(file.content, file.path)
    undefined: list[Diagnostic] = []
    if uses_tokens(file.content):
        text = substitute(text, around.tokens_of(file.schema), file.path, undefined)
    return Source(
        path=file.path,
        schema=file.schema,
        kind=file.kind,
        object=file.object,
        text=text,
        physical_schema=settings.physical_schema(file.schema),
        environment=settings.environment,
        environments=settings.environments,
        defaults=around.defaults.get((file.schema, file.path.split("/", 2)[1]), Attributes()),
        readable=not unreadable,
        problems=(*unreadable, *undefined),
    )


def _short(text: str) -> Key:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:20]

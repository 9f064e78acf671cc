"""The fingerprint of a repository: what tells whether a plan made earlier still fits.

It is over the bytes of the files, the settings of the environment and the versions of what reads
them. Nothing is parsed for it, so it costs about what reading the files costs, and whoever keeps a
plan, as the DAG factory does, can ask at every turn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .files import Listing, read_files, read_settings_text
from .settings import Settings, load_settings


def repository_fingerprint(
    root: Path, *, environment: str | None = None, overrides: Iterable[str] = ()
) -> str:
    """The ``fingerprint`` that ``open_repository`` would give, without parsing anything.

    Reads the disk. What is wrong with the settings is raised, as there; what is wrong with a file
    is part of the fingerprint, and said by whoever parses it.
    """
    return read_contents(root, environment=environment, overrides=overrides).fingerprint


@dataclass(frozen=True, slots=True)
class Contents:
    """A repository as it was read, and nothing of it parsed. ``digests`` are the hashes of its files, by
    path, sorted."""

    settings: Settings
    listing: Listing
    digests: dict[str, bytes]
    fingerprint: str


def read_contents(root: Path, *, environment: str | None = None, overrides: Iterable[str] = ()) -> Contents:
    """Read everything once: for the fingerprint, and for whoever parses it then. Reads the disk."""
    settings = load_settings(read_settings_text(root), environment=environment, overrides=overrides)
    return contents_of(read_files(root, settings.ignore), settings)


def contents_of(listing: Listing, settings: Settings) -> Contents:
    digests = content_digests(listing)
    return Contents(settings, listing, digests, fingerprint_of(listing, settings, digests))


def content_digests(listing: Listing) -> dict[str, bytes]:
    """The hash of every object's file, by path, sorted: whatever order they were found in. BLAKE2 is as
    strong as SHA-256, and takes 0.6 times as long where a processor has no instruction for the latter."""
    blake2b = hashlib.blake2b
    return {file.path: blake2b(file.content, digest_size=32).digest() for file in sorted(listing.files)}


def fingerprint_of(listing: Listing, settings: Settings, digests: dict[str, bytes]) -> str:
    """Everything that could change a plan, in one hash. A file that declares nothing, because
    something is wrong with it, makes another plan too."""
    defaults = sorted(listing.defaults.items())
    parts = (tool_versions(), settings, sorted(listing.problems), defaults, len(digests))
    whole = hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass"))
    whole.update("\0".join(["", *digests, ""]).encode("utf-8", "surrogatepass"))  # which no path holds
    whole.update(b"".join(digests.values()))
    return whole.hexdigest()


@cache
def tool_versions() -> tuple[str, ...]:
    """Those of this tool and of the parser: both decide what a text means."""
    return tuple(map(_version, ("airflow-provider-sparkdeploy", "sqlglot")))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""

"""What a parse has planned, for the next parses on this machine.

From a change of the files until the next run, what is kept in Variables does not fit, and a parse plans
itself. The next one finds what it would plan again in the planner's cache, by everything that went into
it: the repository and the recorded state. Like all of that cache it may be deleted any time, and where it
cannot be written every parse plans.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from ..core.cache import cache_folder, read_checked, version_salt, write_checked
from .deploying import Deploying
from .keeping import View, decode_view, encode_view

Remembered = tuple[View, Mapping[str, str]]  # a graph, and the SQL of its operations


def recall(deploying: Deploying, fingerprint: str, state: str | None) -> Remembered | None:
    """What was planned for this repository and this kept state, if it was."""
    found = read_checked(_path(deploying))
    if not isinstance(found, tuple) or len(found) != 3 or found[0] != _key(deploying, fingerprint, state):
        return None
    return decode_view(found[1]), found[2]


def remember(
    deploying: Deploying, fingerprint: str, state: str | None, view: View, texts: Mapping[str, str]
) -> None:
    """For one repository and state per deployment: others replace it."""
    found = _key(deploying, fingerprint, state), encode_view(view), dict(texts)
    write_checked(_path(deploying), found)


def _key(deploying: Deploying, fingerprint: str, state: str | None) -> bytes:
    found = hashlib.sha256(repr((version_salt(), deploying.render, fingerprint)).encode())
    found.update(b"" if state is None else state.encode())
    return found.digest()


def _path(deploying: Deploying) -> Path:
    name = f"{deploying.repository.resolve()}\x1f{deploying.name}"
    return cache_folder() / f"{hashlib.sha256(name.encode()).hexdigest()[:24]}.shown"

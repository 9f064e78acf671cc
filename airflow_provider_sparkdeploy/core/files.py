"""The files of a repository: which there are, what they say, what they hash to.

This module reads the disk. A file is identified by its content; times do not count.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from .diagnostics import Diagnostic, SparkDeployError, did_you_mean, problem
from .objects import KINDS, Kind
from .settingsfile import FILE as SETTINGS_FILE

FOLDER_DEFAULTS = "package-info.txt"
_CHUNK = 1 << 14
_new = tuple.__new__  # of every file there is: half as long as calling the class
_OBJECT_FILES = (".sql", ".csv", FOLDER_DEFAULTS)  # at the top, all others are someone else's
_NEVER_WAIT = getattr(os, "O_NONBLOCK", 0)
_IGNORED_NAMES = re.compile(r"\.|readme(\.|$)|_?#|.*~$", re.IGNORECASE)


class SourceFile(NamedTuple):
    """A file that declares an object. ``path`` is relative, with forward slashes."""

    path: str
    schema: str
    kind: Kind
    object: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Listing:
    """All files of a repository in the order of their paths."""

    files: tuple[SourceFile, ...]
    defaults: dict[tuple[str, str], bytes]
    problems: tuple[Diagnostic, ...]


def read_settings_text(root: Path) -> str | None:
    """The text of ``sparkdeploy.yaml``, or None; a wrong folder is an error."""
    if not root.is_dir():
        raise problem(
            "SD100",
            f"there is no folder {root}",
            advice="Name another (--repository; in a DAG, repository=), or make one with sparkdeploy init.",
        )
    path = root / SETTINGS_FILE
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SparkDeployError(
            [_unreadable(SETTINGS_FILE, error, "It must be a file that you may read.")]
        ) from None
    text, problems = decode(content, SETTINGS_FILE)
    if problems:
        raise SparkDeployError(problems)
    return text


def decode(content: bytes, path: str) -> tuple[str, tuple[Diagnostic, ...]]:
    """UTF-8 with or without a mark, lines ended by any of the three ways; empty, and a problem,
    where it is not UTF-8: what is wrong with such a text is noise."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # the codec counts from behind the mark
        start = error.start + (3 if content.startswith(b"\xef\xbb\xbf") else 0)
        line = _line_ends(content[:start].decode("latin-1")).count("\n") + 1
        return "", (Diagnostic(path, line, "SD103", "the file is not UTF-8", "Save it as UTF-8."),)
    return _line_ends(text), ()


def _line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def read_files(root: Path, ignore: tuple[str, ...] = ()) -> Listing:
    """Read every object file below ``root``."""
    base = f"{root}/"
    files: list[SourceFile] = []
    defaults: dict[tuple[str, str], bytes] = {}
    problems: list[Diagnostic] = []
    for folder, names in _walk(root, ignore_pattern(ignore), problems):
        parts = tuple(folder.split("/")) if folder else ()
        kind = _kind_of(parts)
        ending = ".csv" if kind == "data" else ".sql"
        prefix = f"{folder}/" if folder else ""
        schema = parts[0] if parts else ""
        for name in names:
            path = prefix + name
            try:
                if kind is not None and name[-4:].lower() == ending and len(name) > 4:
                    files.append(_new(SourceFile, (path, schema, kind, name[:-4], _read(base + path))))
                elif kind is not None and name == FOLDER_DEFAULTS:
                    defaults[schema, parts[1]] = _read(base + path)
                elif not _IGNORED_NAMES.match(name) and (parts or name.endswith(_OBJECT_FILES)):
                    problems.append(_misplaced(path, parts, kind, ending))
            except OSError as error:
                problems.append(_unreadable(path, error))
    files.sort(key=itemgetter(0))
    return Listing(tuple(files), defaults, tuple(_of_folders(sorted(problems))))


def _of_folders(problems: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """What is wrong with the name of a folder once, not for each of its files."""
    told: set[str] = set()
    for item in problems:
        folder = item.file.rpartition("/")[0]
        if item.code == "SD111":
            if folder in told:
                continue
            told.add(folder)
        yield item


def _walk(root: Path, ignored: Ignored | None, problems: list[Diagnostic]) -> Iterator[tuple[str, list[str]]]:
    """Every folder with the names of its files; ignored and hidden ones are not entered."""
    pending: list[tuple[str, frozenset[str]]] = [("", frozenset())]
    while pending:
        folder, links = pending.pop()
        prefix = f"{folder}/" if folder else ""
        names: list[str] = []
        try:
            with os.scandir(os.path.join(root, folder)) as entries:
                for entry in entries:
                    name = entry.name
                    if name[0] == ".":
                        continue
                    is_folder = entry.is_dir()
                    if not is_folder and ignored is None and name.isascii():
                        names.append(name)  # nearly all of them, and nothing else can be said of it
                        continue
                    path = prefix + name
                    if ignored and ignored.entry.match(f"{path}/" if is_folder else path):
                        continue
                    if not name.isascii() and not _is_text(name):
                        problems.append(_unnamable(path))
                    elif not is_folder:
                        names.append(name)
                    elif name[-4:].lower() in (".sql", ".csv") or name == FOLDER_DEFAULTS:
                        problems.append(
                            Diagnostic(path, 1, "SD112", "is a folder, not a file", _leave("Rename it"))
                        )
                    elif not entry.is_symlink():
                        pending.append((path, links))
                    else:
                        target = os.path.realpath(entry.path)
                        here = os.path.realpath(os.path.dirname(entry.path))
                        if target in links or f"{here}/".startswith(f"{target}/"):
                            problems.append(
                                Diagnostic(
                                    path,
                                    1,
                                    "SD107",
                                    "is a link to a folder that it is in",
                                    _leave("Remove it"),
                                )
                            )
                        else:
                            pending.append((path, links | {target}))
        except OSError as error:
            problems.append(_unreadable(folder or ".", error))
        yield folder, names


def _is_text(name: str) -> bool:
    """Whether a name of a file is UTF-8; what is not can be neither written down nor shown."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unnamable(path: str) -> Diagnostic:
    shown = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return Diagnostic(shown, 1, "SD103", "the name of the file is not UTF-8", _leave("Rename it"))


def _unreadable(path: str, error: OSError, advice: str = "") -> Diagnostic:
    message = f"cannot be read: {error.strerror or type(error).__name__}"
    return Diagnostic(path, 1, "SD107", message, advice or _leave("Check what it is, and its permissions"))


def _leave(action: str) -> str:
    return f"{action}, or list it under ignore: in {SETTINGS_FILE}."


def _kind_of(parts: tuple[str, ...]) -> Kind | None:
    """The kind that a folder says, if it is one of objects."""
    return next((kind for kind in KINDS if len(parts) == 2 and parts[1].casefold() == kind), None)


def _misplaced(path: str, parts: tuple[str, ...], kind: Kind | None, ending: str) -> Diagnostic:
    """What is wrong with a file that declares no object."""
    if len(parts) != 2:
        return Diagnostic(path, 1, "SD110", "is not at <schema>/<kind>/<object>.sql", _leave("Move it"))
    if kind is None:
        advice = did_you_mean(parts[1], KINDS)
        return Diagnostic(path, 1, "SD111", f"{parts[1]} is not a kind of object", advice)
    return Diagnostic(path, 1, "SD112", f"is not a {ending} file", _leave("Rename it"))


def _read(path: str) -> bytes:
    """The content of a file, with as few calls as can be: there may be 10,000 of them.

    A pipe with the name of a file must not make the reader wait.
    """
    descriptor = os.open(path, os.O_RDONLY | _NEVER_WAIT)
    try:
        content = os.read(descriptor, _CHUNK)
        if len(content) == _CHUNK:
            with open(path, "rb") as file:
                content = file.read()
    finally:
        os.close(descriptor)
    return content


@dataclass(frozen=True, slots=True)
class Ignored:
    """``.gitignore`` patterns as one expression, ``entry``, over the relative path of a file or
    of a folder, which ends in ``/``. What is in an ignored folder is ignored with it."""

    entry: re.Pattern[str]

    def match(self, path: str) -> bool:
        """Whether a path is ignored, for itself or with one of the folders that it is in."""
        folders = [path[: slash.end()] for slash in re.finditer("/", path)]
        return any(self.entry.match(item) for item in (*folders, path))


def ignore_pattern(patterns: tuple[str, ...]) -> Ignored | None:
    """What ``ignore:`` says. Later patterns win; ``!`` takes back what an earlier one ignored."""
    expression = ""
    for pattern in patterns:
        pattern = pattern.rstrip()
        if not pattern.strip("/") or pattern.startswith("#"):
            continue
        if not pattern.startswith("!"):
            expression = f"{expression}|{_translate(pattern)}" if expression else _translate(pattern)
        elif expression:
            expression = rf"(?!{_translate(pattern[1:])})(?:{expression})"
    return Ignored(re.compile(expression)) if expression else None


_PIECE = re.compile(r"\*\*/|/\*\*/|/\*\*\Z|\*+|\?|\[[!^]?\]?[^\]]*\]|\\.|.", re.DOTALL)
_WILD = {"**/": "(?:.*/)?", "/**/": "/(?:.*/)?", "/**": "/.+", "?": "[^/]", "/": "/(?=[^/])"}


def _translate(pattern: str) -> str:
    anchored = "/" in pattern.rstrip("/")
    regex = "".join(map(_piece, _PIECE.findall(pattern.strip("/"))))
    return rf"(?:{'' if anchored else '(?:.*/)?'}{regex}{'/' if pattern.endswith('/') else '/?'}\Z)"


def _piece(piece: str) -> str:
    if piece in _WILD:
        return _WILD[piece]
    if piece[0] == "*":
        return "[^/]*"
    if piece[0] != "[" or len(piece) == 1:
        return re.escape(piece[-1])
    negated = piece[1] in "!^"
    inside = re.sub(r"([\\\[\]^&~|])", r"\\\1", piece[1 + negated : -1])
    expression = rf"(?!/)[{'^' * negated}{inside}]"
    try:
        re.compile(expression)
    except re.error:  # a range from back to front: it means nothing, to git too
        return "(?!)"
    return expression

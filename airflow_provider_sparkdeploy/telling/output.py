"""What goes to a terminal, and what to a pipe: colours, encodings, counts."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable

import click

_WIDTH = 120  # where nobody looks, lines have one length everywhere


def set_up_streams() -> None:
    """A character that a terminal cannot show must not end a command."""
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")


def wants_colour() -> bool | None:
    """False where colours are not wanted even on a terminal; None leaves it to the stream."""
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None


def width() -> int:
    """How long a line may be; the last column of a terminal stays free, some wrap there."""
    return shutil.get_terminal_size().columns - 1 if sys.stdout.isatty() else _WIDTH


def echo_lines(lines: Iterable[str]) -> None:
    """All lines in one write; colours are taken out where they do not belong."""
    if text := "\n".join(lines):
        click.echo(text)


def echo_json(text: str) -> None:
    """JSON is UTF-8 whatever the locale; what UTF-8 cannot hold is escaped, as JSON does it."""
    click.echo(text.encode("utf-8", "backslashreplace"))


def many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' if count != 1 else ''}"


def plain(line: str) -> str:
    """A line without its colours."""
    return click.unstyle(line)

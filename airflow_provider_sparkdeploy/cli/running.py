"""A run as it goes on: a live view on a terminal, one line per event elsewhere."""

from __future__ import annotations

import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from ..core.operations import Operation

if TYPE_CHECKING:  # a plan needs nothing of Spark's, nor the parser that comes with it
    from ..spark.apply import Event, Stop

_CONDITION = re.compile(r"\[[A-Z0-9_.]+\]")
_MARKS = {"done": ("✓", "green"), "failed": ("✗", "red"), "lost": ("?", "yellow")}


@contextmanager
def watching(total: int) -> Iterator[Callable[[Event], None]]:
    """Yields a function that shows events."""
    if sys.stdout.isatty():
        with _live(total) as show:
            yield show
    else:
        yield _Lines(total)


class _Lines:
    """One line per operation that has ended."""

    def __init__(self, total: int) -> None:
        self._total, self._ended = total, 0

    def __call__(self, event: Event) -> None:
        if event.status != "started":
            self._ended += 1
            click.echo(_line(event, self._ended, self._total))


def _line(event: Event, ended: int, total: int) -> str:
    mark, colour = _MARKS[event.status]
    number = f"{ended:>{len(str(total))}}/{total}"
    told = click.style(mark, fg=colour)
    return f"{told} {number}  {event.operation.id}  {event.seconds:.2f} s{_extra(event)}"


def _extra(event: Event) -> str:
    """The passes of a fixpoint; the name of an error, which is told in full at the end."""
    passes = event.detail.get("iterations")
    if passes:
        return f"  ({passes} passes)"
    named = _CONDITION.match(event.message)
    return f"  {click.style(named[0], fg=_MARKS[event.status][1])}" if named else ""


@contextmanager
def _live(total: int) -> Iterator[Callable[[Event], None]]:
    """Ended operations scroll by; the running ones and a bar stay at the bottom."""
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.text import Text

    console = Console()
    bar = Progress(
        TextColumn("Deploying"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console
    )
    task = bar.add_task("", total=total)
    running: dict[str, tuple[Operation, float]] = {}

    class View:
        def __rich__(self) -> Group:
            lines = [
                Text(f"  {operation.action:<8} {operation.id}  {time.monotonic() - since:.0f} s", style="dim")
                for operation, since in list(running.values())
            ]
            return Group(*lines, bar)

    with Live(View(), console=console, refresh_per_second=8, transient=True) as live:
        ended = 0

        def show(event: Event) -> None:
            nonlocal ended
            if event.status == "started":
                running[event.operation.id] = (event.operation, time.monotonic())
                return
            ended += 1
            running.pop(event.operation.id, None)
            bar.update(task, completed=ended)
            live.console.print(Text.from_ansi(_line(event, ended, total)))

        yield show


@contextmanager
def stop_on_interrupt() -> Iterator[Stop]:
    """Ctrl-C lets the running statements end and starts no others; a second one stops them, too; a third
    is the usual one. Nothing is raised before that: whoever runs the statements looks."""
    from ..spark.apply import Stop

    stop = Stop()
    usual: Any = signal.getsignal(signal.SIGINT)

    def ask(number: int, frame: FrameType | None) -> None:
        if not stop.after.is_set():
            stop.after.set()
            click.echo("\nStopping after the running statements; Ctrl-C again to stop them, too.", err=True)
        else:
            stop.now.set()
            signal.signal(signal.SIGINT, usual)

    signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, usual)

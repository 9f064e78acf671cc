"""Progress bars for work over half a second, on a terminal and nowhere else."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PATIENCE = 0.5


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """Yields a function that takes (done, total), or None where nobody is watching.

    The bar is drawn by the calls themselves: a thread of its own would forbid forking.
    """
    if not sys.stderr.isatty():
        yield None
        return
    started = time.monotonic()
    bar: list[tuple[Progress, TaskID]] = []

    def report(done: int, total: int) -> None:
        if not bar:
            if time.monotonic() - started < _PATIENCE:
                return
            shown = _bar(label)
            shown.start()
            bar.append((shown, shown.add_task(label, total=total)))
        shown, task = bar[0]
        shown.update(task, completed=done, total=total, refresh=True)

    try:
        yield report
    finally:
        for shown, _ in bar:
            shown.stop()


@contextmanager
def working(label: str) -> Iterator[None]:
    """A bar without an end, for work that does not say how far it is. Nothing may fork inside."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()

    def show() -> None:
        if not done.wait(_PATIENCE):
            with _bar(label, endless=True) as shown:
                shown.add_task(label, total=None)
                done.wait()

    watcher = threading.Thread(target=show, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _bar(label: str, *, endless: bool = False) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    far = () if endless else (MofNCompleteColumn(),)
    columns = (TextColumn(label), BarColumn(), *far, TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), auto_refresh=endless, transient=True)

"""One function over many items, on all cores, for work that is pure and large.

Processes are forked, so nothing is imported twice. Where forking is not safe or not worth
it, the work is done here; the result is the same.
"""

from __future__ import annotations

import marshal
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Item = TypeVar("Item")
_WORTH_FORKING = 100


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


def map_parallel(
    function: Callable[[Item], tuple[Any, ...]],
    items: Sequence[Item],
    progress: Callable[[int, int], None] | None = None,
) -> list[tuple[Any, ...]]:
    """``[function(item) for item in items]``; results must be plain values (marshal)."""
    processes = min(_cores(), 8, len(items) // _WORTH_FORKING)
    if processes < 2 or threading.active_count() > 1 or not hasattr(os, "fork"):
        return _run(function, items, progress, 1)
    children = [(n, *_spawn(function, items[n::processes])) for n in range(1, processes)]
    results: list[Any] = [None] * len(items)
    results[0::processes] = _run(function, items[0::processes], progress, processes)
    for number, pid, pipe in children:
        share = items[number::processes]
        with os.fdopen(pipe, "rb") as file:
            data = file.read()
        _, status = os.waitpid(pid, 0)
        # A child that died (out of memory, say) costs time, not correctness.
        results[number::processes] = marshal.loads(data) if status == 0 else _run(function, share, None, 1)
    return results


def _run(
    function: Callable[[Item], tuple[Any, ...]],
    items: Sequence[Item],
    progress: Callable[[int, int], None] | None,
    processes: int,
) -> list[tuple[Any, ...]]:
    if progress is None:
        return [function(item) for item in items]
    results = []
    for number, item in enumerate(items, 1):
        results.append(function(item))
        if number % 50 == 0:
            progress(number * processes, len(items) * processes)
    return results


def _spawn(function: Callable[[Item], tuple[Any, ...]], items: Sequence[Item]) -> tuple[int, int]:
    """A forked process that works through ``items``: its pid, and the pipe with its results."""
    receive, send = os.pipe()
    pid = os.fork()
    if pid:
        os.close(send)
        return pid, receive
    status = 1
    try:
        os.close(receive)
        data = marshal.dumps([function(item) for item in items])
        with os.fdopen(send, "wb") as file:
            file.write(data)
        status = 0
    finally:
        os._exit(status)

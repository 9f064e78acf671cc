"""Many questions to one Spark: shared out among a few sessions, and asked of many things at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Concatenate, ParamSpec, Self, TypeVar

from .session import Sessions, Spark, SparkFailure

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Asking:
    """A few sessions of their own threads, each opened when it is first needed."""

    def __init__(self, sessions: Sessions, threads: int) -> None:
        self._sessions = sessions
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="asking")
        self._own = threading.local()
        self._opened: list[Spark] = []

    def ask(
        self, question: Callable[Concatenate[Spark, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> Future[R]:
        """Ask as soon as a session is free. What it raises, the answer raises."""
        return self._threads.submit(lambda: question(self._session(), *args, **kwargs))

    def _session(self) -> Spark:
        found: Spark | None = getattr(self._own, "session", None)
        if found is None:
            found = self._own.session = self._sessions.open()
            self._opened.append(found)
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(cancel_futures=True)
        for session in self._opened:
            session.close()


def by_halves(ask: Callable[[Sequence[T]], Mapping[T, R]], items: Sequence[T]) -> dict[T, R]:
    """Ask of all items in one question; where Spark refuses, of its halves, down to the one that
    it refuses, of which there is no answer. A Spark that is away is no refusal."""
    if not items:
        return {}
    try:
        return dict(ask(items))
    except SparkFailure as failure:
        if failure.transient:
            raise
    if len(items) == 1:
        return {}
    middle = len(items) // 2
    return by_halves(ask, items[:middle]) | by_halves(ask, items[middle:])


def chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))

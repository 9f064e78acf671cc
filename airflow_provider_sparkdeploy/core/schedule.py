"""Which operations may run now: those whose needs are met, and whose phase has begun."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from .operations import PHASES, Operation, Phase


class Schedule:
    """The operations of a plan that are still to run. Linear in operations and edges.

    A phase begins when all of those before it are done, and never if any of it failed: nothing is
    set up beside what should be gone, and no sink tells others of half a deployment.
    """

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._waiting = {operation.id: operation for operation in operations}
        self._needs = {
            operation.id: sum(need in self._waiting for need in operation.depends_on)
            for operation in self._waiting.values()
        }
        self._dependents: dict[str, list[Operation]] = {}
        for operation in self._waiting.values():
            for need in operation.depends_on:
                if need in self._waiting:
                    self._dependents.setdefault(need, []).append(operation)
        self._open: dict[Phase, int] = dict.fromkeys(PHASES, 0)  # what may still be done in each
        self._held: dict[Phase, list[str]] = {phase: [] for phase in PHASES}
        self._ready: deque[str] = deque()
        self._lost: set[str] = set()  # what failed, and what needs it
        self._last = len(PHASES) - 1  # the last phase that may begin: the first one with a failure
        for operation in self._waiting.values():
            self._open[operation.phase] += 1
        for operation in self._waiting.values():
            if not self._needs[operation.id]:
                self._offer(operation)

    def _begun(self, phase: Phase) -> bool:
        place = PHASES.index(phase)
        return place <= self._last and not any(self._open[earlier] for earlier in PHASES[:place])

    def _offer(self, operation: Operation) -> None:
        if self._begun(operation.phase):
            self._ready.append(operation.id)
        else:
            self._held[operation.phase].append(operation.id)

    def _end(self, operation: Operation) -> None:
        """One less to wait for; the last of its phase lets the next ones begin."""
        self._open[operation.phase] -= 1
        if not self._open[operation.phase]:
            for phase in PHASES:
                if self._begun(phase):
                    self._ready.extend(self._held[phase])
                    self._held[phase].clear()

    def take(self) -> Operation | None:
        """The next operation to run; None where none may run now."""
        return self._waiting.pop(self._ready.popleft()) if self._ready else None

    def done(self, operation: Operation) -> None:
        """It succeeded: what needed only it may run."""
        for other in self._dependents.get(operation.id, ()):
            self._needs[other.id] -= 1
            if not self._needs[other.id]:
                self._offer(other)
        self._end(operation)

    def failed(self, operation: Operation) -> None:
        """It did not: what needs it, directly or not, will not run."""
        self._last = min(self._last, PHASES.index(operation.phase))
        self._lost.add(operation.id)
        queue = deque([operation])
        while queue:
            lost = queue.popleft()
            for other in self._dependents.get(lost.id, ()):
                if other.id not in self._lost:
                    self._lost.add(other.id)
                    queue.append(other)
            self._end(lost)

    @property
    def left(self) -> tuple[Operation, ...]:
        """The operations that were not taken: what failed operations left behind."""
        return tuple(self._waiting.values())

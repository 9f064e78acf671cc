"""Time and memory of a command, in a fresh process.

Memory is that of all its processes together: the peak of the sum over the process tree,
sampled every 20 ms. It counts shared pages once (PSS), so that workers forked from one
parent are not charged for the parent's pages again. Linux only; elsewhere it is not known.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_PROC = Path("/proc")
_INTERVAL = 0.02
# Shells for development may forbid compiled modules; then every start would compile them again.
_AS_USERS_RUN_IT = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONUNBUFFERED": ""}
_KB_PER_PAGE = os.sysconf("SC_PAGE_SIZE") // 1024


@dataclass(frozen=True, slots=True)
class Run:
    """A finished command. ``code`` is None when it was stopped at the time limit."""

    seconds: float
    peak_mb: float | None
    code: int | None
    output: str
    errors: str

    @property
    def reason(self) -> str:
        """Why it failed, in a line: the last that it wrote."""
        lines = (self.errors.strip() or self.output.strip() or f"exit code {self.code}").splitlines()
        return lines[-1].strip()


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    limit: float = 600,
    memory: bool = False,
) -> Run:
    """Run ``command`` to its end or for ``limit`` seconds.

    Sampling takes time from what it measures, so ask for times and for memory in two runs.
    """
    # Files, not pipes: nobody has to read while the clock runs, and no output can block.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            env={**os.environ, **_AS_USERS_RUN_IT, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        peak = None
        code: int | None
        try:
            if memory and (_PROC / str(process.pid)).exists():
                peak = _peak_mb(process, started + limit)
            code = process.wait(max(0.0, started + limit - time.perf_counter()))
        except subprocess.TimeoutExpired:
            code = None
        seconds = time.perf_counter() - started
        _end_group(process)
        return Run(seconds, peak, code, _text(output), _text(errors))


def best_of(times: int, measured: Callable[[], float]) -> float:
    """The smallest of several times: what else the machine did can only add to it."""
    return min(measured() for _ in range(times))


def best_of_each(times: int, *measured: Callable[[], float]) -> list[float]:
    """``best_of`` for things that will be compared: measured in turns, so that a busy moment of
    the machine falls on all of them."""
    rounds = [[one() for one in measured] for _ in range(times)]
    return [min(column) for column in zip(*rounds, strict=True)]


def _peak_mb(process: subprocess.Popen[bytes], deadline: float) -> float:
    peak = 0
    known = {process.pid}
    while process.poll() is None and time.perf_counter() < deadline:
        began = time.perf_counter()
        known = _tree(known)
        # PSS is never more than RSS and dearer to ask for: only a new RSS peak can be a new PSS peak.
        if sum(map(_rss_kb, known)) > peak:
            peak = max(peak, sum(map(_pss_kb, known)))
        time.sleep(max(0.001, _INTERVAL - (time.perf_counter() - began)))
    return peak / 1024


def _tree(known: set[int]) -> set[int]:
    """Those of ``known`` that still run and all their descendants. Remembering them keeps
    children whose parent has ended."""
    found: set[int] = set()
    waiting = list(known)
    while waiting:
        pid = waiting.pop()
        if pid in found:
            continue
        try:
            for thread in os.listdir(_PROC / str(pid) / "task"):
                children = (_PROC / str(pid) / "task" / thread / "children").read_text()
                waiting.extend(map(int, children.split()))
        except OSError:
            continue  # ended meanwhile
        found.add(pid)
    return found


def _rss_kb(pid: int) -> int:
    try:
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * _KB_PER_PAGE
    except (OSError, IndexError):
        return 0


def _pss_kb(pid: int) -> int:
    try:
        for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except OSError:
        pass  # ended meanwhile
    return 0


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End what is left of the command's own process group, and nothing else."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")

"""How fast the planner is, beside the least work that anyone must do and beside its peers.

    python benchmarks/bench.py [N ...] [--no-peers] [--markdown] [--runs 3]

Everything is measured in one run on one machine, so the ratios can be compared even where
the times cannot. Times are the best of several runs. Cold plans, tokenising and new processes are
measured by the clock on the wall, what happens inside one process (warm plans, reading and hashing,
graphs) by its processor time. Memory is sampled in a run of its own. A missed target is shown, never
an error.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count as numbers
from pathlib import Path
from typing import Any

import adapters
from generate import edit, generate
from measure import Run, best_of, best_of_each, run
from peers import measure_peers
from table import Line, as_markdown, as_text

_HERE = Path(__file__).resolve().parent
_EDITS = 20
_LARGE = 10_000
_WARM_RATIO = 3.0
_GRAPH_SECONDS = 3.0
_GRAPH_GROWTH = 2.0  # time per object, from 10,000 to 100,000: 1 is linear, 10 is quadratic
_PEAK_MB = 500.0


class Unavailable(Exception):
    """A command did not run; the message is its last line."""


@dataclass(frozen=True, slots=True)
class Bench:
    """A generated repository, a folder for logs and caches, and how often to measure."""

    objects: int
    folder: Path
    runs: int

    @property
    def repository(self) -> Path:
        return self.folder / "repository"

    def environment(self, cache: Path) -> dict[str, str]:
        """The checkout is importable also where it is not installed, and stays free of compiled modules."""
        paths = [str(_HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        return {
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONPYCACHEPREFIX": str(self.folder / "pycache"),
            adapters.CACHE_VARIABLE: str(cache),
            "NO_COLOR": "1",
        }

    def command(self, arguments: list[str], cache: Path, *, memory: bool = False) -> Run:
        """The command line, in a fresh process."""
        return _checked(run([*adapters.CLI, *arguments], env=self.environment(cache), memory=memory))

    def worker(self, *arguments: object, cache: Path | None = None) -> dict[str, Any]:
        """A measurement inside a fresh process."""
        command = [sys.executable, str(_HERE / "worker.py"), *map(str, arguments)]
        done = _checked(run(command, env=self.environment(cache or self.folder / "unused")))
        result: dict[str, Any] = json.loads(done.output.splitlines()[-1])
        return result

    def inner(self, what: str) -> Callable[[], float]:
        """The time of a measurement that needs nothing but the repository."""

        def measured() -> float:
            seconds: float = self.worker(what, self.repository)["seconds"]
            return seconds

        return measured


def _checked(done: Run) -> Run:
    if done.code != 0:
        raise Unavailable("took too long" if done.code is None else done.reason)
    return done


def cold_lines(bench: Bench) -> list[Line]:
    """A first plan of everything, beside tokenising every statement once."""
    tokens = bench.worker("tokenise", bench.repository)
    sqlglot = f"sqlglot {tokens['version']}, {'compiled' if tokens['compiled'] else 'NOT compiled'}"
    about = f"{tokens['statements']:,} statements; {sqlglot}"
    fresh = numbers()

    def plan(memory: bool = False) -> Run:
        """Neither log nor cache exists."""
        new = bench.folder / f"cold-{next(fresh)}"
        new.mkdir()
        arguments = adapters.plan_arguments(bench.repository, new / "log.jsonl")
        return bench.command(arguments, new / "cache", memory=memory)

    try:
        note = f"{_operations(plan()):,} operations"  # the first also compiles Python's modules
        tokenised, seconds = best_of_each(bench.runs, bench.inner("tokenise"), lambda: plan().seconds)
        peak = plan(memory=True).peak_mb
    except Unavailable as problem:
        return [
            Line(bench.objects, "tokenise", tokens["seconds"], note=about),
            Line(bench.objects, "cold plan", note=f"not available: {problem}"),
        ]
    ratio, limit = seconds / tokenised, 3.0 if bench.objects >= _LARGE else 4.0
    target = f"<= {limit:.0f}x"
    return [
        Line(bench.objects, "tokenise", tokenised, note=about),
        Line(bench.objects, "cold plan / tokenise", seconds, None, ratio, target, ratio <= limit, note),
        _memory_line(bench, peak),
    ]


def warm_lines(bench: Bench) -> list[Line]:
    """Planning again with a valid cache, beside reading and hashing every file."""
    log, cache = bench.folder / "warm.jsonl", bench.folder / "warm-cache"

    def command() -> Run:
        return bench.command(adapters.plan_arguments(bench.repository, log), cache)

    def edited() -> Run:
        edit(bench.repository, _EDITS)
        return command()

    def pair(edits: int) -> dict[str, float]:
        return bench.worker("warm", bench.repository, log, edits, 3 * bench.runs, cache=cache)

    try:
        bench.command(adapters.baseline_arguments(bench.repository, log), cache)
        idle = f"{_operations(command()):,} operations"  # also fills the cache, should baseline not do so
        imported = bench.worker("imports", bench.repository, log, 0, cache=cache)["imported"]
        calm = pair(0)
        idle_fresh = best_of(bench.runs, lambda: command().seconds)
        busy = f"{_EDITS} views edited, {_operations(edited()):,} operations"
        parser = bench.worker("imports", bench.repository, log, _EDITS, cache=cache)["imported"]
        some = pair(_EDITS)
        busy_fresh = best_of(bench.runs, lambda: edited().seconds)
    except Unavailable as problem:
        return [Line(bench.objects, "warm plan", note=f"not available: {problem}")]
    return [
        _hash_line(bench, min(calm["hash"], some["hash"])),
        _lazy_line(bench, imported),
        _warm_line(bench, "warm plan, nothing changed", calm, idle),
        _warm_line(
            bench,
            f"warm plan, {_EDITS} changed",
            some,
            f"{busy}; imports {' and '.join(parser) or 'no parser'}",
        ),
        Line(bench.objects, "the same, nothing changed, new process", idle_fresh, note=idle),
        Line(bench.objects, f"the same, {_EDITS} changed, new process", busy_fresh, note=busy),
    ]


def _warm_line(bench: Bench, what: str, found: dict[str, float], note: str) -> Line:
    ratio, target = found["plan"] / found["hash"], f"<= {_WARM_RATIO:.0f}x"
    return Line(bench.objects, what, found["plan"], None, ratio, target, ratio <= _WARM_RATIO, note)


def graph_lines(folder: Path, runs: int) -> list[Line]:
    """Dirty propagation and ordering alone, on graphs larger than any repository here."""
    lines = []
    each: dict[int, float] = {}
    for shape, count in (("chain", 10_000), ("layered", 1_000), ("layered", 10_000), ("layered", 100_000)):
        bench = Bench(count, folder, runs)
        what = "propagate + order, one chain" if shape == "chain" else "propagate + order"
        try:
            found = [bench.worker("graph", shape, count) for _ in range(runs)]
        except Unavailable as problem:
            lines.append(Line(count, what, note=f"not available: {problem}"))
            continue
        seconds = min(result["seconds"] for result in found)
        note = f"{found[0]['dirty']:,} dirty, every reason"
        if shape == "layered":
            each[count] = seconds / count
            note += f"; a chain of {count // 10:,} among them"
        large = count == 100_000
        target = f"< {_GRAPH_SECONDS:.0f} s" if large else ""
        lines.append(
            Line(
                count, what, seconds, target=target, ok=seconds < _GRAPH_SECONDS if large else None, note=note
            )
        )
    if 10_000 in each and 100_000 in each:
        growth = each[100_000] / each[10_000]
        what, note = "propagate + order, growth", "time per object, beside 10,000 objects"
        target = f"<= {_GRAPH_GROWTH:.0f}x"
        lines.append(Line(100_000, what, None, None, growth, target, growth <= _GRAPH_GROWTH, note))
    return lines


def peer_lines(count: int, plan: float | None) -> list[Line]:
    """The other tools; their ratio is to our cold plan."""
    return [
        Line(
            count,
            row.name + (" / cold plan" if plan and row.seconds else ""),
            row.seconds,
            row.peak_mb,
            row.seconds / plan if plan and row.seconds else None,
            note=row.note,
        )
        for row in measure_peers(count)
    ]


def _operations(done: Run) -> int:
    """How many operations a plan has; a plan that is not one must not count as a fast one."""
    try:
        return len(json.loads(done.output)["operations"])
    except (ValueError, KeyError, TypeError):
        raise Unavailable(f"no plan was printed: {done.reason}") from None


def _memory_line(bench: Bench, peak: float | None) -> Line:
    what, note = "cold plan, peak memory", "all processes together"
    if peak is None or bench.objects < _LARGE:
        return Line(bench.objects, what, peak_mb=peak, note=note)
    target = f"< {_PEAK_MB:.0f} MB"
    return Line(bench.objects, what, peak_mb=peak, target=target, ok=peak < _PEAK_MB, note=note)


def _hash_line(bench: Bench, seconds: float) -> Line:
    start = best_of(bench.runs, lambda: run([sys.executable, "-c", "pass"]).seconds)
    return Line(bench.objects, "read + sha256", seconds, note=f"starting Python takes {start:.3f} s")


def _lazy_line(bench: Bench, imported: list[str]) -> Line:
    names = " or ".join(adapters.LAZY_MODULES)
    note = f"imported: {', '.join(imported)}" if imported else ""
    return Line(
        bench.objects, "warm, nothing changed, imports", target=f"no {names}", ok=not imported, note=note
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the planner and its peers.")
    parser.add_argument(
        "counts", type=int, nargs="*", default=[1_000, 10_000], metavar="N", help="number of objects"
    )
    parser.add_argument("--no-peers", action="store_true", help="leave out dbt and SQLMesh")
    parser.add_argument("--markdown", action="store_true", help="print the table for docs/performance.md")
    parser.add_argument("--runs", type=int, default=3, metavar="K", help="take the best of K runs (3)")
    given = parser.parse_args()
    lines: list[Line] = []
    with tempfile.TemporaryDirectory() as folder:
        for count in given.counts:
            _say(f"{count:,} objects ...")
            bench = Bench(count, Path(folder) / str(count), given.runs)
            generate(count, bench.repository)
            cold = cold_lines(bench)
            lines += [*cold, *warm_lines(bench)]
            if not given.no_peers:
                _say(f"{count:,} objects, other tools ...")
                plan = next((line.seconds for line in cold if line.what.startswith("cold plan /")), None)
                lines += peer_lines(count, plan)
        _say("graphs ...")
        lines += graph_lines(Path(folder), given.runs)
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    print(f"Python {platform.python_version()}, {machine}\n")
    print(as_markdown(lines) if given.markdown else as_text(lines))


if __name__ == "__main__":
    main()

"""What ``bench.py`` measures inside a fresh process.

    python benchmarks/worker.py tokenise REPOSITORY
    python benchmarks/worker.py imports REPOSITORY LOG EDITS
    python benchmarks/worker.py warm REPOSITORY LOG EDITS ROUNDS
    python benchmarks/worker.py graph layered|chain N

Each prints one line of JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import Any

import adapters
from generate import DEPTH, edit, statements


def tokenise(repository: Path) -> dict[str, Any]:
    import sqlglot

    texts = list(statements(repository))
    sqlglot.tokenize("SELECT 1", dialect="spark")  # loads the dialect
    seconds = _seconds(lambda: [sqlglot.tokenize(text, dialect="spark") for text in texts])
    compiled = not str(import_module("sqlglot.parser").__file__).endswith(".py")
    return {
        "seconds": seconds,
        "statements": len(texts),
        "version": version("sqlglot"),
        "compiled": compiled,
    }


def hash_files(repository: Path) -> None:
    """Find, read and hash every file: the least that any tool must do to know what changed."""
    for folder, _, names in os.walk(repository):
        for name in names:
            with open(os.path.join(folder, name), "rb", buffering=0) as file:
                hashlib.sha256(file.read()).digest()


def imports(repository: Path, log: Path, edits: int) -> dict[str, Any]:
    """What a plan imports that finds nothing to do, or a few edited files."""
    adapters.import_engine()
    if edits:
        edit(repository, edits)
    _quietly(repository, log)
    return {"imported": [name for name in adapters.LAZY_MODULES if name in sys.modules]}


def warm(repository: Path, log: Path, edits: int, rounds: int) -> dict[str, Any]:
    """Planning again beside reading and hashing, in turns and in one process, so that both find the
    same caches and the same neighbours. With ``edits``, files are changed again before each round:
    what one round has cached is of no use to the next."""
    adapters.import_engine()
    _quietly(repository, log)
    hashed, planned = [], []
    for _ in range(rounds):
        if edits:
            edit(repository, edits)
        hashed.append(_seconds(lambda: hash_files(repository), time.process_time))
        planned.append(_seconds(lambda: _quietly(repository, log), time.process_time))
        gc.collect()
    return {"hash": min(hashed), "plan": min(planned)}


def _quietly(repository: Path, log: Path) -> None:
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
        adapters.plan_in_process(repository, log)


def graph(shape: str, count: int) -> dict[str, Any]:
    needs, changed = chain(0, count) if shape == "chain" else layered(count)
    found: list[int] = []
    seconds = _seconds(lambda: found.append(adapters.propagate_and_order(needs, changed)), time.process_time)
    return {"seconds": seconds, "dirty": found[0]}


Needs = dict[adapters.Name, tuple[adapters.Name, ...]]


def layered(count: int) -> tuple[Needs, list[adapters.Name]]:
    """Layers as in a generated repository, a tenth of all objects in one chain; 1 % changed."""
    rng = Random(count)
    links = count // 10
    width = max(1, (count - links) // (DEPTH + 1))
    needs: Needs = {}
    names: list[adapters.Name] = []
    for number in range(count - links):
        below = number // width * width  # everything in the layers below
        sources = {names[rng.randrange(below)] for _ in range(rng.randint(1, 4))} if below else set()
        names.append(_name(number))
        needs[names[-1]] = tuple(sorted(sources))
    more, first = chain(count - links, links)
    return needs | more, [*names[::100], *first]


def chain(start: int, count: int) -> tuple[Needs, list[adapters.Name]]:
    names = [_name(number) for number in range(start, start + count)]
    return {name: (names[i - 1],) if i else () for i, name in enumerate(names)}, names[:1]


def _name(number: int) -> adapters.Name:
    return (f"schema_{number % 20}", f"object_{number:06d}")


def _seconds(action: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """How long something takes. What runs in one process is better measured by its processor time,
    which other work on the machine hardly changes."""
    started = clock()
    action()
    return clock() - started


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("tokenise", "imports", "warm"):
        commands.add_parser(name).add_argument("repository", type=Path)
    for name in ("imports", "warm"):
        commands.choices[name].add_argument("log", type=Path)
    for name in ("imports", "warm"):
        commands.choices[name].add_argument("edits", type=int)
    commands.choices["warm"].add_argument("rounds", type=int)
    graphs = commands.add_parser("graph")
    graphs.add_argument("shape", choices=("layered", "chain"))
    graphs.add_argument("count", type=int)
    given = parser.parse_args()
    match given.command:
        case "tokenise":
            result = tokenise(given.repository)
        case "imports":
            result = imports(given.repository, given.log, given.edits)
        case "warm":
            result = warm(given.repository, given.log, given.edits, given.rounds)
        case _:
            result = graph(given.shape, given.count)
    print(json.dumps(result))


if __name__ == "__main__":
    main()

"""Somebody who reads in a loop: a process of its own, ended by who has started it.

Every read is a line of JSON: what was read, its rows in order, and why it failed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Rows = tuple[tuple[Any, ...], ...]


class Reader:
    """What was read so far, of each query by its name."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def reads(self) -> Iterator[tuple[str, Rows]]:
        """All that was read; an error if a read has failed."""
        text = self.path.read_text()
        for line in text[: text.rfind("\n") + 1].splitlines():
            name, rows, failure = json.loads(line)
            assert not failure, f"{name} could not be read: {failure}"
            yield name, tuple(map(tuple, rows))

    def seen(self, name: str) -> list[Rows]:
        """What a query gave, one after the other, without repetitions in a row."""
        found: list[Rows] = []
        for read, rows in self.reads():
            if read == name and rows not in found[-1:]:
                found.append(rows)
        return found

    def sees(self, name: str, rows: Rows) -> None:
        """Wait until a query gives these rows."""
        until = time.monotonic() + 120
        while self.seen(name)[-1:] != [rows]:
            assert time.monotonic() < until, f"{name}: {self.seen(name)}"
            time.sleep(0.05)


@contextmanager
def reading(address: str, folder: Path, queries: Mapping[str, str]) -> Iterator[Reader]:
    """A reader of these queries, in turn, from its first round to the end of the block."""
    path = folder / "reads"
    path.touch()
    with path.open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, __file__, address, json.dumps(queries)], stdout=out, stdin=subprocess.DEVNULL
        )
    reader = Reader(path)
    try:
        until = time.monotonic() + 120
        while len(list(reader.reads())) < len(queries):
            assert process.poll() is None, "the reader has ended"
            assert time.monotonic() < until, "the reader does not read"
            time.sleep(0.05)
        yield reader
        assert process.poll() is None, "the reader has ended"
        list(reader.reads())
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    from airflow_provider_sparkdeploy.spark.session import ConnectSessions, SparkFailure

    address, queries = sys.argv[1], json.loads(sys.argv[2])
    with ConnectSessions(address).open() as spark:
        while True:
            for name, query in queries.items():
                rows, failure = [], ""
                try:
                    rows = sorted(([*row.values()] for row in spark.sql(query)), key=repr)
                except SparkFailure as error:
                    failure = str(error)
                print(json.dumps([name, rows, failure]), flush=True)


if __name__ == "__main__":
    main()

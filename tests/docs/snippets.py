"""Fenced blocks of the documentation, run or compared.

A page is one session: its blocks are taken from top to bottom, in a folder that looks like a
checkout (the example and its history are copied into it), so what a reader types works as shown.

    ```console                    every line after ``$ `` is run in bash; what follows up to the
    $ sparkdeploy plan -r shop    next command is its output, standard error included;
                                  ``cd folder`` holds for what follows
    ```
    ```sql title="a/view/b.sql"   below dags_examples/ or tests/: a piece of that file;
    ```                           any other path: written there, from the first folder, for the commands that follow
    ```python title="a.py#x"      exactly what stands between [START x] and [END x] in that file
    ```
    ```text                       not checked: grammars, layouts

``...`` in an output or in a piece of a file stands for anything: alone on a line for any lines,
inside a line for any characters. A command that fails fails the page; one that is meant to
fail says so itself (``; echo "exit code $?"``).

A page that says ``<!-- needs Spark -->`` has a running one in its folder ``warehouse``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
GIVEN = ("dags_examples/repository_shop", "tests/golden/shop")
ANY = "..."
NEEDS_SPARK = "<!-- needs Spark -->"

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)(?P<rest>[^\n`]*)$")
_TITLE = re.compile(r'title="([^"]+)"')
_CD = re.compile(r"cd ([\w./-]+)")
_NEVER_THE_SAME = re.compile(
    r"\d+\.\d\d(?= s\b)"  # how long it took
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?"  # when
    r"|(?<=[a-z]-)\d{8}[-T]\w+(?:-\w+)*"  # which run
    r"|(?<=_)\d{14}_[0-9a-f]{6}"  # which attempt
    r"|[\w.-]+@[\w.-]+ \(process \d+\)"  # who
)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block. ``line`` is that of the opening fence, counted from 1."""

    line: int
    indent: str
    language: str
    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """A command as it is shown, its continuation lines included, and the output below it."""

    shown: tuple[str, ...]
    output: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.shown).removeprefix("$ ")


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page, without their indentation."""
    lines = page.splitlines()
    at = 0
    while at < len(lines):
        opening = _FENCE.match(lines[at])
        if opening is None:
            at += 1
            continue
        indent = opening["indent"]
        end = next((n for n in range(at + 1, len(lines)) if lines[n].strip() == "```"), None)
        assert end is not None, f"line {at + 1}: the block is not closed"
        title = _TITLE.search(opening["rest"])
        body = tuple(line.removeprefix(indent) for line in lines[at + 1 : end])
        yield Block(at + 1, indent, opening["language"], title[1] if title else "", body)
        at = end + 1


def commands(block: Block) -> list[Command]:
    """The commands of a console block."""
    found: list[Command] = []
    shown: list[str] = []
    for line in block.lines:
        if line.startswith("$ ") or (shown and shown[-1].endswith("\\")):
            shown.append(line)
            if not line.endswith("\\"):
                found.append(Command(tuple(shown), ()))
                shown = []
        else:
            assert found, f"line {block.line}: a console block begins with a command"
            found[-1] = replace(found[-1], output=(*found[-1].output, line))
    assert not shown, f"line {block.line}: the command goes on after its end"
    return found


def matches(wanted: tuple[str, ...], actual: tuple[str, ...], *, ends: bool = True) -> bool:
    """Whether lines are as shown, but for what is elided; without ``ends`` they may go on."""
    parts = []
    for line in wanted:
        if line.strip() == ANY:
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append(".*?".join(re.escape(piece) for piece in line.rstrip().split(ANY)) + "\n")
    text = "".join(f"{line.rstrip()}\n" for line in actual)
    pattern = "".join(parts)
    return (
        re.fullmatch(pattern, text) is not None if ends else re.search(f"^{pattern}", text, re.M) is not None
    )


def renewed(wanted: tuple[str, ...], actual: tuple[str, ...]) -> tuple[str, ...]:
    """The new output, elided as the old one was: its lines where they still fit, and one gap of
    lines between as many lines as before."""
    if not wanted or matches(wanted, actual):
        return wanted or actual
    gaps = [n for n, line in enumerate(wanted) if line.strip() == ANY]
    elided = [line for line in wanted if ANY in line and line.strip() != ANY]
    shown = tuple(next((old for old in elided if matches((old,), (line,))), line) for line in actual)
    if len(gaps) == 1 and len(actual) > len(wanted):
        tail = len(wanted) - gaps[0] - 1
        return (*shown[: gaps[0]], wanted[gaps[0]], *(shown[-tail:] if tail else ()))
    return shown


def section(path: Path, name: str) -> tuple[str, ...]:
    """The lines between ``[START name]`` and ``[END name]``; none where there is no such section."""
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    places = [
        number for number, line in enumerate(lines) if f"[START {name}]" in line or f"[END {name}]" in line
    ]
    return tuple(lines[places[0] + 1 : places[1]]) if len(places) == 2 else ()


def elided(output: tuple[str, ...]) -> tuple[str, ...]:
    """An output without what differs from run to run."""
    return tuple(_NEVER_THE_SAME.sub(ANY, line) for line in output)


@dataclass(slots=True)
class Session:
    """The folder in which the commands of one page run, and the Spark that they find there."""

    folder: Path
    warehouse: Path | None = None
    problems: list[str] = field(default_factory=list)
    current: str = "."

    def prepare(self) -> None:
        for path in GIVEN:
            shutil.copytree(ROOT / path, self.folder / path, ignore=shutil.ignore_patterns(".sparkdeploy"))
        if self.warehouse is not None:
            (self.folder / "warehouse").symlink_to(self.warehouse)

    def run(self, page: str) -> str:
        """Check every block; the page with the outputs that there really are."""
        lines = page.splitlines()
        for block in reversed([self._checked(block) for block in blocks(page)]):
            end = block.line + next(n for n, line in enumerate(lines[block.line :]) if line.strip() == "```")
            lines[block.line : end] = [f"{block.indent}{line}".rstrip() for line in block.lines]
        return "\n".join(lines) + "\n"

    def _checked(self, block: Block) -> Block:
        if block.language == "console":
            return replace(block, lines=tuple(self._commands(block)))
        if "#" in block.title:
            return replace(block, lines=self._section(block))
        if block.title.startswith(("dags_examples/", "tests/")):
            self._compare(block)
        elif block.title:
            path = self.folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(block.lines) + "\n", "utf-8")
        elif block.language != "text":
            self.problems.append(
                f"line {block.line}: a {block.language or 'nameless'} block that nothing checks"
            )
        return block

    def _commands(self, block: Block) -> Iterator[str]:
        for command in commands(block):
            code, output = self._call(command.text)
            if code:
                self.problems.append(
                    f"line {block.line}: exit code {code}: {command.text}\n" + "\n".join(output)
                )
            elif not matches(command.output, output):
                self.problems.append(f"line {block.line}: $ {command.text}\n" + "\n".join(output))
            yield from command.shown
            yield from renewed(command.output, elided(output))

    def _section(self, block: Block) -> tuple[str, ...]:
        """What stands between the markers of an example."""
        path, _, name = block.title.partition("#")
        found = section(ROOT / path, name)
        if not found:
            self.problems.append(f"line {block.line}: there is no section {name} in {path}")
        elif found != block.lines:
            self.problems.append(f"line {block.line}: not the section {name} of {path}")
        return found or block.lines

    def _compare(self, block: Block) -> None:
        path = self.folder / block.title
        if not path.is_file():
            self.problems.append(f"line {block.line}: there is no {block.title}")
        elif not matches(block.lines, tuple(path.read_text("utf-8").splitlines()), ends=False):
            self.problems.append(f"line {block.line}: not a piece of {block.title}")

    def _call(self, command: str) -> tuple[int, tuple[str, ...]]:
        if moved := _CD.fullmatch(command):
            self.current = os.path.normpath(os.path.join(self.current, moved[1]))
            return int(not (self.folder / self.current).is_dir()), ()
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "COLUMNS": "100", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
        environment.pop("PYTHONWARNINGS", None)  # what a reader sees is told
        if self.warehouse is not None:
            environment["SPARKDEPLOY_WAREHOUSE"] = str(self.folder / "warehouse")
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.folder / self.current, env=environment, text=True, encoding="utf-8",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        return done.returncode, tuple(line.rstrip() for line in done.stdout.splitlines())

"""What is wrong, where, and what to do: the one shape of every message.

A diagnostic is for the person who must act. Each has a stable code, and all problems of a
run are reported together.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Severity = Literal["error", "warning"]
Place = tuple[str, int]  # a file and a line
NOWHERE: Final[Place] = ("", 0)


@dataclass(frozen=True, slots=True, order=True)
class Diagnostic:
    """One problem. ``file`` is relative to the repository; ``line`` is 0 where there is none."""

    file: str
    line: int
    code: str
    message: str
    advice: str = ""
    severity: Severity = "error"
    object: str = ""

    @property
    def where(self) -> str:
        if self.file and self.line:
            return f"{self.file}:{self.line}"
        return self.file

    def __str__(self) -> str:
        where = f"{self.where}: " if self.file else ""
        advice = f"\n    {self.advice}" if self.advice else ""
        return f"{where}{self.code} {self.message}{advice}"


class SparkDeployError(Exception):
    """One or more errors, all of them; nothing was applied."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(sorted(set(diagnostics)))
        super().__init__("\n".join(map(str, self.diagnostics)))


def problem(code: str, message: str, *, advice: str = "") -> SparkDeployError:
    """An error that has no place in a file."""
    return SparkDeployError([Diagnostic("", 0, code, message, advice)])


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A suggestion, or the list of what there is when nothing is near."""
    names: Sequence[str] = sorted(set(known))
    near = difflib.get_close_matches(word.casefold(), names, n=1, cutoff=0.6)
    if not near:
        folded = {name.casefold(): name for name in names}
        near = [folded[name] for name in difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)]
    if near:
        return f"Did you mean {near[0]}?"
    return f"Known: {', '.join(names)}." if names and len(names) <= 30 else ""


def near_name(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """A suggestion only when something is near."""
    near = difflib.get_close_matches(word, sorted(set(known)), n=1, cutoff=cutoff)
    return f"Did you mean {near[0]}?" if near else ""

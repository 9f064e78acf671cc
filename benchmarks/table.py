"""The table that ``bench.py`` prints, for a terminal or for the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_HEADS = ("objects", "measured", "seconds", "MB", "ratio", "target", "", "note")
_RIGHT = {0, 2, 3, 4}


@dataclass(frozen=True, slots=True)
class Line:
    """One measurement. ``ok`` is None where there is no target, or nothing to judge."""

    objects: int
    what: str
    seconds: float | None = None
    peak_mb: float | None = None
    ratio: float | None = None
    target: str = ""
    ok: bool | None = None
    note: str = ""


def as_text(lines: Sequence[Line]) -> str:
    rows = [_HEADS, *map(_cells, lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
    rows.insert(1, tuple("-" * width for width in widths))
    return "\n".join("  ".join(map(_pad, range(len(row)), row, widths)).rstrip() for row in rows)


def as_markdown(lines: Sequence[Line]) -> str:
    rule = tuple("---:" if column in _RIGHT else "---" for column in range(len(_HEADS)))
    return "\n".join("| " + " | ".join(row) + " |" for row in (_HEADS, rule, *map(_cells, lines)))


def _cells(line: Line) -> tuple[str, ...]:
    verdict = "" if line.ok is None else "ok" if line.ok else "MISSED"
    return (
        f"{line.objects:,}",
        line.what,
        "" if line.seconds is None else _seconds(line.seconds),
        "" if line.peak_mb is None else f"{line.peak_mb:,.0f}",
        "" if line.ratio is None else f"{line.ratio:.1f}x",
        line.target,
        verdict,
        line.note,
    )


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:.2f}"


def _pad(column: int, cell: str, width: int) -> str:
    return cell.rjust(width) if column in _RIGHT else cell.ljust(width)

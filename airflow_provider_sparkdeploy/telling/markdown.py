"""A plan as Markdown, for the comment on a pull request: what happens, why, and the SQL folded away."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..core.diagnostics import Diagnostic
from ..core.operations import PHASES
from ..core.planner import Planned
from .output import many
from .tree import Why, by_object, count_line, part_of, spelled, symbols_of

_LONGEST = 60_000  # characters; GitHub takes 65,536
_BACKTICKS = re.compile(r"`{3,}")


def plan_markdown(planned: Planned) -> str:
    """The whole plan. What would be too long for a comment is cut off, and says so."""
    plan = planned.plan
    lines = [f"### SparkDeploy: environment {planned.repository.settings.environment}", "", _summary(planned)]
    if destructive := len(plan.destructive):
        lines += ["", "> [!CAUTION]", f"> {_loses(destructive)}"]
    lines += _problems(plan.diagnostics)
    if plan.operations and not plan.errors:
        lines += ["", *_table(planned)]
    if plan.blocked and not plan.errors:
        lines += ["", "| blocked | why |", "|---|---|"]
        lines += [f"| {_code(item.operation.id)} | {_cell(item.reason)} |" for item in plan.blocked]
    text = _cut(lines)
    return text if plan.errors or not plan.operations else text + _statements(planned, _LONGEST - len(text))


def _summary(planned: Planned) -> str:
    plan = planned.plan
    if plan.errors:
        return f"**There is no plan: {many(len(plan.errors), 'error')}.**"
    if not plan.operations and not plan.blocked:
        count = len(planned.repository.objects)
        if planned.selected is not None:
            return f"Nothing to do: the {many(len(planned.selected), 'selected object')}, of {count:,}, need nothing."
        return f"Nothing to do: {many(count, 'object')} as declared."
    return count_line(planned)


def _loses(count: int) -> str:
    return (
        f"{many(count, 'operation')} {'loses' if count == 1 else 'lose'} data that is not in the repository."
    )


def _problems(problems: Iterable[Diagnostic]) -> Iterator[str]:
    for number, item in enumerate(sorted(problems, key=lambda item: (item.severity != "error", item))):
        if not number:
            yield ""
        where = f"{_code(item.where)} " if item.file else ""
        advice = f"<br>{_cell(item.advice)}" if item.advice else ""
        yield f"- {item.severity} {item.code}: {where}{_cell(item.message)}{advice}"


def _table(planned: Planned) -> Iterator[str]:
    """A row per object and phase."""
    symbols = symbols_of(planned)
    why = Why(planned)
    yield "| phase | | object | why |"
    yield "|---|---|---|---|"
    for phase in PHASES:
        for name, operations in by_object(planned.plan.operations, phase).items():
            danger = " :warning:" if any(operation.destructive for operation in operations) else ""
            kind = operations[0].kind
            yield f"| {phase} | `{symbols[part_of(name, kind)]}`{danger} | {_code(str(name))} {kind} | {_cell(why(name))} |"


def _statements(planned: Planned, room: int) -> str:
    """The SQL of every operation, in a section that opens on a click."""
    operations = planned.plan.operations
    ending = "\n</details>"
    text = f"\n\n<details><summary>SQL of {many(len(operations), 'operation')}</summary>\n"
    for number, operation in enumerate(operations):
        sql = spelled(planned, operation)
        fence = "`" * max(3, *(len(item) + 1 for item in _BACKTICKS.findall(sql)), 3)
        piece = f"\n{_code(operation.id)} {operation.action}\n\n{fence}sql\n{sql}\n{fence}\n"
        if len(text) + len(piece) + len(ending) > room:
            text += f"\n... and {many(len(operations) - number, 'operation')} more: sparkdeploy plan shows them.\n"
            break
        text += piece
    return text + ending


def _cut(lines: list[str]) -> str:
    size = 0
    for number, line in enumerate(lines):
        size += len(line) + 1
        if size > _LONGEST - 200:
            return "\n".join([*lines[:number], "", f"... and {len(lines) - number:,} lines more."])
    return "\n".join(lines)


def _code(text: str) -> str:
    """In a table a bar ends the cell, also in code."""
    fence = "``" if "`" in text else "`"
    space = " " if "`" in text else ""
    return f"{fence}{space}{_cell(text)}{space}{fence}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")

"""What one task of a refresh computes, as a value that can be kept. Light: every parse imports it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..core.names import ObjectName


@dataclass(frozen=True, slots=True)
class Unit:
    """A materialized view, or all views of a cycle. ``id`` is that of its operation in a plan. ``after``
    are the units that it reads, directly or by way of other objects. ``schedules`` are cron expressions;
    ``problems`` tell of those that are none. An ``index`` of a member is a unit of its own, after the one
    that computes it."""

    id: str
    members: tuple[ObjectName, ...]
    after: tuple[str, ...] = ()
    schedules: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    index: bool = False


def encode_unit(unit: Unit) -> list[Any]:
    members = [list(name) for name in unit.members]
    return [unit.id, members, list(unit.after), list(unit.schedules), list(unit.problems), int(unit.index)]


def decode_unit(data: Sequence[Any]) -> Unit:
    name, members, after, schedules, problems, *index = data
    names = tuple(ObjectName(*member) for member in members)
    return Unit(name, names, tuple(after), tuple(schedules), tuple(problems), any(index))

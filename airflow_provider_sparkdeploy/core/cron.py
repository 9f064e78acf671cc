"""Whether a schedule can be read, without the library that reads it: a typing error is told when the
file is looked at, not when nothing is ever refreshed."""

from __future__ import annotations

import re

PRESETS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@quarterly": "0 0 1 */3 *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}  # as Airflow and cron read them

_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# What the values of each field are, by number and by name; seconds and years may follow.
_FIELDS = ((0, 59, ()), (0, 23, ()), (1, 31, ()), (1, 12, _MONTHS), (0, 7, _DAYS))
_ENTRY = re.compile(r"(?:\*|\?|(\w+)(?:-(\w+))?)(?:/\d+|#\d)?")


def is_schedule(text: str) -> bool:
    """Whether it is a cron expression or the name of one; in doubt it is."""
    if text in PRESETS:
        return True
    fields = text.casefold().split()
    if not len(_FIELDS) <= len(fields) <= len(_FIELDS) + 2:
        return False
    return all(
        _is_entry(entry, *known)
        for field, known in zip(fields, _FIELDS, strict=False)
        for entry in field.split(",")
    )


def _is_entry(entry: str, first: int, last: int, named: tuple[str, ...]) -> bool:
    match = _ENTRY.fullmatch(entry)
    return match is not None and all(
        first <= int(value) <= last if value.isdigit() else value in named or "l" in value
        for value in match.groups()
        if value
    )

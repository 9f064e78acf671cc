"""What the factories make of their arguments: checked, relative to the file that calls them, and told where they are wrong."""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from airflow.sdk import DAG

from ..core.diagnostics import did_you_mean

_HERE = Path(__file__).parent


def check(factory: type, given: Mapping[str, Any], known: Sequence[str]) -> None:
    """That everything that was ``given`` beyond the arguments of a factory is ``known`` to what it passes it on to."""
    for name in given:
        if name not in known:
            parameters = inspect.signature(factory).parameters.values()
            own = [item.name for item in parameters if item.kind is item.KEYWORD_ONLY]
            near = did_you_mean(name, [*known, *own])
            raise TypeError(f"{factory.__name__} has no argument {name}. {near}".strip())


def check_runs(dag_id: str, dag_arguments: Mapping[str, Any]) -> None:
    given = dag_arguments.get("max_active_runs", 1)
    if given != 1:
        raise ValueError(
            f"{dag_id}: there is no max_active_runs={given!r}: two runs of one deployment exclude each other. "
            "It is always 1: leave it out."
        )


def known_to_dag() -> tuple[str, ...]:
    import attrs

    return tuple(field.alias or field.name for field in attrs.fields(DAG) if field.init)


def check_zone(dag_id: str, timezone: str) -> None:
    try:
        ZoneInfo(timezone)
    except (ValueError, ZoneInfoNotFoundError):
        near = did_you_mean(timezone, available_timezones())
        raise ValueError(f"{dag_id}: there is no timezone={timezone!r}. {near}".strip()) from None


def caller() -> str:
    """The file that calls the factory."""
    frame = sys._getframe()
    while frame.f_back is not None and Path(frame.f_code.co_filename).parent == _HERE:
        frame = frame.f_back
    return frame.f_code.co_filename


def tell(dag_id: str, repository: Path, problems: Sequence[str]) -> None:
    """What is wrong with a repository, to whoever parses the file: on the terminal of ``python dag.py``, and in
    the log of the DAG processor. It is no import error, by which Airflow would take the DAG away with its runs:
    the task ``plan`` shows the same, and fails."""
    if problems:
        listed = "\n".join(problems)
        logging.getLogger(__name__).warning("%s: there is no plan of %s\n%s", dag_id, repository, listed)


def folder(repository: str | Path, file: str) -> Path:
    path = Path(repository).expanduser()
    return path if path.is_absolute() else Path(file).parent / path


def pairs(overrides: Mapping[str, str] | Sequence[str]) -> tuple[str, ...]:
    if isinstance(overrides, Mapping):
        return tuple(f"{key}={value}" for key, value in overrides.items())
    return tuple(overrides)

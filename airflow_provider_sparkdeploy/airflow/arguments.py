"""What the factories make of their arguments: checked, relative to the file that calls them, and told where they are wrong."""

from __future__ import annotations

import functools
import inspect
import logging
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from airflow.sdk import DAG

from ..core.diagnostics import did_you_mean

_HERE = Path(__file__).parent
P = ParamSpec("P")


def checked(
    known_beyond: Callable[[], Collection[str]],
) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Of the constructor of a factory: what neither it knows nor what it passes the rest on to is an error with a
    suggestion. That is looked at first, because Python only says which argument is missing then."""

    def wrap(constructor: Callable[P, None]) -> Callable[P, None]:
        parameters = inspect.signature(constructor).parameters.values()
        own = {item.name for item in parameters if item.kind is not item.VAR_KEYWORD} - {"self"}

        @functools.wraps(constructor)
        def construct(*args: P.args, **kwargs: P.kwargs) -> None:
            known = own.union(known_beyond())
            for name in kwargs:
                if name not in known:
                    factory = constructor.__qualname__.partition(".")[0]
                    raise TypeError(
                        f"{factory} has no argument {name}. {did_you_mean(name, sorted(known))}".strip()
                    )
            constructor(*args, **kwargs)

        return construct

    return wrap


def check_runs(dag_id: str, dag_arguments: Mapping[str, Any]) -> None:
    given = dag_arguments.get("max_active_runs", 1)
    if given != 1:
        raise ValueError(
            f"{dag_id}: there is no max_active_runs={given!r}: two runs of one deployment exclude each other. "
            "It is always 1: leave it out."
        )


def known_to_dag() -> Collection[str]:
    import attrs

    return [field.alias or field.name for field in attrs.fields(DAG) if field.init]


def known_to_group() -> Collection[str]:
    return (
        "dag",
        "default_args",
        "doc_md",
        "group_display_name",
        "parent_group",
        "tooltip",
        "ui_color",
        "ui_fgcolor",
    )


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

"""The Python reference, made from signatures and docstrings: ``docs/python.md`` below its marker.

Every public name, its arguments with their types and defaults, and what its docstring says. A
parameter that is not described, or described and not there, is an error.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

import airflow_provider_sparkdeploy as package

MARKER = "<!-- made by tests/docs/reference.py -->"
_FIELD = re.compile(r"^:param (\w+): ", re.M)
_CODE = re.compile(r"``([^`]+)``")
_MODULES = re.compile(r"\b(?:collections\.abc|pathlib|datetime|typing)\.")
# These take the arguments of another name, and say so in their docstrings.
SAME_AS = {"SparkDeployTaskGroup": "SparkDeployDag"}
# Passed on to Airflow as they are.
PASSED_ON = {"params", "kwargs", "dag_arguments", "group_arguments"}


@dataclass(frozen=True, slots=True)
class Described:
    """A docstring taken apart: the text before the parameters, they themselves, and the text behind."""

    before: str
    parameters: dict[str, str]
    after: str


def names() -> list[str]:
    return list(package.__all__)


def reference() -> str:
    """The whole reference."""
    return "\n".join(line for name in names() for line in _entry(name))


def described(name: str) -> Described:
    text = inspect.cleandoc(inspect.getdoc(getattr(package, name)) or "")
    parts = _FIELD.split(text)
    parameters: dict[str, str] = {}
    after = ""
    for parameter, value in zip(parts[1::2], parts[2::2], strict=True):
        told, _, rest = value.partition("\n\n")
        parameters[parameter] = " ".join(told.split())
        after = rest
    return Described(parts[0].strip(), parameters, after.strip())


def parameters(name: str) -> dict[str, inspect.Parameter]:
    """The arguments of a function, or of the constructors of a class and its parents of ours."""
    thing = getattr(package, name)
    if not inspect.isclass(thing):
        return dict(inspect.signature(thing).parameters)
    found: dict[str, inspect.Parameter] = {}
    for parent in thing.__mro__:
        if parent.__module__.startswith(package.__name__) and "__init__" in vars(parent):
            own = inspect.signature(parent.__init__).parameters
            found = {**own, **found} if found else dict(own)
    return {key: item for key, item in found.items() if key != "self"}


def undescribed(name: str) -> set[str]:
    """Arguments that the docstring does not have, and those that only the docstring has."""
    told = set(described(name).parameters)
    if name in SAME_AS:
        told |= set(described(SAME_AS[name]).parameters) - {"dag_id"}
    return (set(parameters(name)) - PASSED_ON) ^ told


def _entry(name: str) -> Iterator[str]:
    found = described(name)
    yield f"## `{name}`"
    yield ""
    yield _text(found.before)
    yield ""
    yield "```text"
    yield f"{name}("
    yield from (f"    {line}" for line in _signature(name))
    yield ")"
    yield "```"
    yield ""
    for parameter, told in found.parameters.items():
        yield f"`{parameter}`"
        yield f":   {_text(told)}"
        yield ""
    if found.after:
        yield _text(found.after)
        yield ""


def _signature(name: str) -> Iterator[str]:
    """A line per argument, the one that is given by position first."""
    found = sorted(parameters(name).values(), key=lambda item: item.kind)
    keyword_only = False
    for item in found:
        if item.kind is item.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            yield "*,"
        if item.kind is item.VAR_KEYWORD:
            yield "**arguments,"
            continue
        default = "" if item.default is item.empty else f" = {_spelled(item.default)}"
        kind = _MODULES.sub("", str(item.annotation)).strip("'\"")
        yield f"{item.name}: {kind}{default},"


def _spelled(value: object) -> str:
    return (
        _MODULES.sub("", repr(value))
        if type(value).__name__ != "timedelta"
        else f"timedelta(seconds={value.seconds})"
    )  # type: ignore[attr-defined]


def _text(text: str) -> str:
    """Docstrings as Markdown: paragraphs keep their lines, code gets one back quote."""
    return _CODE.sub(r"`\1`", textwrap.dedent(text)).replace("<", "&lt;")

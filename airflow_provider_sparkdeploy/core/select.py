"""Which part of a repository a plan is about.

    tag:core  path:sales/view/*  schema:sales  kind:view  sales.orders  orders  sales.*
    +name (with everything it depends on)   name+ (with everything that depends on it)

Several selectors are a union; ``--exclude`` takes away. Removed objects can be selected too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from .diagnostics import Diagnostic, SparkDeployError, did_you_mean
from .names import ObjectName, near_object
from .objects import KINDS, ObjectDef
from .state import DeployedObject

_METHODS = ("tag", "path", "schema", "kind")


@dataclass(frozen=True, slots=True)
class Universe:
    """Everything that can be selected, and how it hangs together."""

    objects: Mapping[ObjectName, ObjectDef]
    removed: Mapping[ObjectName, DeployedObject] = field(default_factory=dict)
    depends_on: Mapping[ObjectName, tuple[ObjectName, ...]] = field(default_factory=dict)
    dependents: Mapping[ObjectName, tuple[ObjectName, ...]] = field(default_factory=dict)

    @property
    def names(self) -> list[ObjectName]:
        return [*self.objects, *self.removed]


def select(
    universe: Universe, include: Iterable[str], exclude: Iterable[str]
) -> frozenset[ObjectName] | None:
    """The selected objects; None when nothing restricts the plan."""
    problems: list[Diagnostic] = []
    wanted = list(_split(include, "--select", problems))
    unwanted = list(_split(exclude, "--exclude", problems))
    if not wanted and not unwanted and not problems:
        return None
    chosen = [_evaluate(universe, word, "--select", problems) for word in wanted]
    left_out = [_evaluate(universe, word, "--exclude", problems) for word in unwanted]
    if problems:
        raise SparkDeployError(problems)
    found = set().union(*chosen) if wanted else set(universe.names)
    return frozenset(found.difference(*left_out))


def _split(texts: Iterable[str], option: str, problems: list[Diagnostic]) -> Iterator[str]:
    """The selectors: at commas and blanks, but not inside back quotes. Somebody who selects nothing
    does not mean everything: it is a variable that was never set."""
    for text in texts:
        words = re.findall(r"(?:`(?:[^`]|``)*`|[^\s,])+", text)
        if not words:
            advice = "Write a selector, or leave the option out."
            problems.append(Diagnostic("", 0, "SD501", f"{option} is empty", advice))
        yield from words


def _evaluate(universe: Universe, word: str, option: str, problems: list[Diagnostic]) -> set[ObjectName]:
    up, down = word.startswith("+"), word.endswith("+")
    core = word.removeprefix("+").removesuffix("+")
    method, value = _method(core)
    wrong = _wrong(method, value)
    found = set() if wrong else set(filter(_matcher(universe, method, value), universe.names))
    if not found:
        message, advice = wrong or ("matches nothing", _near(universe, method, value))
        problems.append(Diagnostic("", 0, "SD501", f"{option} {word}: {message}", advice))
    result = set(found)
    if up:
        result |= _reach(found, universe.depends_on)
    if down:
        result |= _reach(found, universe.dependents)
    return result


def _method(core: str) -> tuple[str, str]:
    """A selector and its value, folded; a name has none. A colon inside back quotes is a name's."""
    method, colon, value = core.casefold().partition(":")
    return (method, value) if colon and "`" not in method else ("name", core.casefold())


def _wrong(method: str, value: str) -> tuple[str, str] | None:
    """What is wrong with a selector whatever there is to select, and what to do."""
    if method != "name" and method not in _METHODS:
        return f"{method}: is not a selector", did_you_mean(method, _METHODS)
    if not value:
        return "there is nothing to match", "Write a name, or tag:, path:, schema: or kind: and a value."
    if method == "kind" and value not in KINDS:
        return f"{value} is not a kind", did_you_mean(value, KINDS)
    return None


def _near(universe: Universe, method: str, value: str) -> str:
    """What was probably meant, or what there is."""
    objects = universe.objects.values()
    if method == "name" and (near := near_object(value, universe.names)):
        return near
    known: dict[str, set[str]] = {
        "name": {str(name) for name in universe.names},
        "schema": {name.schema for name in universe.names},
        "tag": {tag for item in objects for tag in item.tags},
        "path": {item.path for item in objects},
        "kind": set(KINDS),
    }
    return did_you_mean(value, known[method]) or "sparkdeploy graph shows all objects."


def _matcher(universe: Universe, method: str, value: str) -> Callable[[ObjectName], bool]:
    objects = universe.objects
    if method == "name":
        return lambda name: _matches_name(name, value)
    if method == "schema":
        return lambda name: fnmatchcase(name.schema, value)
    if method == "kind":
        return lambda name: (objects.get(name) or universe.removed[name]).kind == value
    if method == "tag":
        return lambda name: name in objects and any(fnmatchcase(tag, value) for tag in objects[name].tags)
    return lambda name: name in objects and _matches_path(objects[name].path.casefold(), value)


def _matches_name(name: ObjectName, pattern: str) -> bool:
    return fnmatchcase(str(name), pattern) or fnmatchcase(name.object, pattern)


def _matches_path(path: str, pattern: str) -> bool:
    return fnmatchcase(path, pattern) or path.startswith(pattern.rstrip("/") + "/")


def _reach(start: set[ObjectName], edges: Mapping[ObjectName, tuple[ObjectName, ...]]) -> set[ObjectName]:
    found: set[ObjectName] = set()
    pending = list(start)
    while pending:
        for name in edges.get(pending.pop(), ()):
            if name not in found:
                found.add(name)
                pending.append(name)
    return found

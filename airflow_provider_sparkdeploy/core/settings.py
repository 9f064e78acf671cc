"""``sparkdeploy.yaml``: what a project decides, as one environment sees it.

Every key is optional. An environment may override any policy of the project, and the
command line (``--set``) may override both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from .diagnostics import Diagnostic, SparkDeployError, did_you_mean, near_name
from .names import parse_name
from .settingsfile import AS_MAPPING, FILE, read_yaml

Redeploy = Literal["replace", "recreate"]
OnDrift = Literal["heal", "adopt", "warn", "fail"]
OnDestructive = Literal["approve", "allow", "block"]
AllowCircular = Literal["false", "true", "unsafe"]

_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "redeploy": ("replace", "recreate"),
    "on_drift": ("heal", "adopt", "warn", "fail"),
    "on_destructive": ("approve", "allow", "block"),
    "allow_circular": ("false", "true", "unsafe"),
    "materialized_views": ("managed", "native"),
}
_CATALOG_TYPES: Final = ("builtin", "delta", "iceberg", "jdbc")
_SIDE_SCHEMAS: Final = ("log_schema", "data_schema")
_SCALARS: Final = (*_CHOICES, *_SIDE_SCHEMAS, "max_fixpoint_iterations", "retention")
_NAMED: Final = ("tokens", "schemas", "catalogs")  # mappings of names, merged name by name
_SETTABLE: Final = (*_SCALARS, "propagation.schema", "propagation.compute")
_SHARED: Final = (*_SCALARS, *_NAMED, "propagation")
_TOP: Final = (*_SHARED, "environments", "default_environment", "ignore")
_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION: Final = re.compile(r"([0-9]{1,9})\s*([smhd]?)\Z")
_COUNT: Final = re.compile(r"0*[1-9][0-9]{0,8}\Z")
_FLAGS: Final = {"true": True, "on": True, "yes": True, "1": True} | dict.fromkeys(
    ("false", "off", "no", "0"), False
)
_PROPAGATION: Final = "Write {schema: false}, {compute: false} or {schemas: {<folder>: false}}."


@dataclass(frozen=True, slots=True)
class Propagation:
    """Which rules of the dirty propagation hold; per-schema exceptions by folder."""

    schema: bool = True
    compute: bool = True
    schema_by_folder: Mapping[str, bool] = field(default_factory=dict)
    compute_by_folder: Mapping[str, bool] = field(default_factory=dict)

    def through_schema(self, folder: str) -> bool:
        return self.schema_by_folder.get(folder, self.schema)

    def through_compute(self, folder: str) -> bool:
        return self.compute_by_folder.get(folder, self.compute)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one environment. Names of tokens and folders are case-folded;
    ``environments`` are all that the file declares; ``token_lines`` says where a token is
    defined, and is part of no plan."""

    environment: str = "default"
    environments: tuple[str, ...] = ()
    tokens: Mapping[str, str] = field(default_factory=dict)
    token_lines: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)
    schemas: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    catalogs: Mapping[str, str] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    redeploy: Redeploy = "replace"
    on_drift: OnDrift = "heal"
    on_destructive: OnDestructive = "approve"
    allow_circular: AllowCircular = "false"
    materialized_views: Literal["managed", "native"] = "managed"
    log_schema: str = "sparkdeploy"
    data_schema: str = "sparkdeploy_data"
    max_fixpoint_iterations: int = 100
    retention: int = 3600
    propagation: Propagation = Propagation()

    def physical_schema(self, folder: str) -> tuple[str, ...]:
        """The name in Spark of a schema folder, catalog first where one is mapped."""
        return self.schemas.get(folder.casefold(), (folder,))

    def catalog_type(self, physical: tuple[str, ...]) -> str:
        """The type of the catalog that a physical object name lies in."""
        return self.catalogs.get(physical[0], "builtin") if len(physical) > 2 else "builtin"


def load_settings(
    text: str | None, *, environment: str | None = None, overrides: Iterable[str] = ()
) -> Settings:
    """Settings from the text of ``sparkdeploy.yaml`` (None where there is none) and ``--set``."""
    document, lines, problems = read_yaml(text) if text else ({}, {}, [])
    reader = _Reader(lines, problems)
    reader.known(document, _TOP, ())
    values = reader.shared(document, ())
    environments = reader.mapping(document, "environments", ())
    own: dict[str, dict[str, Any]] = {}
    for name in environments:
        path = ("environments", name)
        section = reader.mapping(environments, name, path[:1])
        reader.known(section, _SHARED, path)
        own[name] = reader.shared(section, path)
    chosen = _choose(reader, environment, document.get("default_environment"), tuple(environments))
    for key, value in own.get(chosen, {}).items():
        values[key] = {**values.get(key, {}), **value} if key in _NAMED else value
    ignore = document.get("ignore") or []
    if not isinstance(ignore, list) or not all(isinstance(item, str) for item in ignore):
        reader.error(
            ("ignore",), "ignore must be a list of patterns", "Write one pattern per line, after a dash."
        )
        ignore = []
    token_lines = {
        key[-1].casefold(): line
        for section_path in (("tokens",), ("environments", chosen, "tokens"))
        for key, line in lines.items()
        if key[:-1] == section_path
    }
    for override in overrides:
        if token := _override(reader, values, override):
            token_lines.pop(token, None)
    reader.finish()
    return Settings(
        environment=chosen,
        environments=tuple(sorted(environments)),
        ignore=tuple(ignore),
        token_lines=token_lines,
        **values,
    )


def _choose(reader: _Reader, asked: str | None, default: object, names: tuple[str, ...]) -> str:
    """The environment that is asked for, as the file spells it."""
    chosen = asked or (str(default) if default else None)
    if chosen is None:
        if not names:
            return "default"
        if len(names) == 1:
            return names[0]
        chosen = next((name for name in names if name.casefold() == "default"), None)
        if chosen is not None:
            return chosen
        reader.error(
            ("environments",),
            f"no environment was chosen, and there are {len(names)}: {', '.join(sorted(names))}",
            "Choose one (--env; in a DAG, environment=), or name one in default_environment.",
        )
        return names[0]
    if not names:
        return chosen
    for name in names:
        if name.casefold() == chosen.casefold():
            return name
    where = "environments" if asked else "default_environment"
    reader.error((where,), f"environment {chosen} is not defined", did_you_mean(chosen, names))
    return chosen


def _override(reader: _Reader, values: dict[str, Any], override: str) -> str:
    """``--set key=value``: a setting where the key is one, else a token, whose name is returned."""
    key, equals, value = override.partition("=")
    key = key.strip()
    section, dot, rule = key.partition(".")
    tokens: Mapping[str, str] = values.get("tokens", {})
    if not equals or not key or (dot and not rule):
        reader.report("", 0, f"--set {override} is not key=value", "Write --set name=value.")
    elif key in _SCALARS:
        values |= reader.shared({key: value}, ("--set",))
    elif dot and section == "propagation":
        on = _FLAGS.get(value.strip().casefold())
        if rule not in ("schema", "compute"):
            reader.report(
                "", 0, f"--set: unknown setting {key}", "Known: propagation.schema, propagation.compute."
            )
        elif on is None:
            reader.report(
                "", 0, f"--set: {key} must be true or false, not {value}", f"Write --set {key}=false."
            )
        else:
            values["propagation"] = replace(values.get("propagation", Propagation()), **{rule: on})
    elif dot and section in _NAMED and key.casefold() not in tokens:
        given = reader.shared({section: {rule: value}}, ("--set",))
        values[section] = {**values.get(section, {}), **given[section]}
        return rule.casefold() if section == "tokens" else ""
    elif key in _TOP and key not in tokens:
        reader.report(
            "",
            0,
            f"--set: {key} cannot be set here",
            f"Change it in {FILE}; --set takes {', '.join(_SETTABLE)}, and {', '.join(f'{name}.<name>' for name in _NAMED)}.",
        )
    elif key.casefold() not in tokens and (
        near := near_name(key.casefold(), (*_SETTABLE, *tokens), cutoff=0.8)
    ):
        advice = f"{near} If it is meant as a token of its own, declare it under tokens: in {FILE} first."
        reader.report("", 0, f"--set: {key} is neither a setting nor a token, but nearly one", advice)
    else:
        name = key.casefold()
        values["tokens"] = {**tokens, name: reader.token(key, value, ("--set",))}
        return name
    return ""


class _Reader:
    """Checks values and collects every problem of the file before it raises."""

    def __init__(self, lines: Mapping[tuple[str, ...], int], problems: list[Diagnostic]) -> None:
        self.lines = lines
        self.problems = problems

    def report(self, file: str, line: int, message: str, advice: str) -> None:
        self.problems.append(Diagnostic(file, line, "SD101", message, advice))

    def error(self, path: tuple[str, ...], message: str, advice: str) -> None:
        line = next((self.lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.lines), 1)
        if path[:1] == ("--set",):
            self.report("", 0, f"--set: {message}", advice)
        else:
            self.report(FILE, line, message, advice)

    def finish(self) -> None:
        if self.problems:
            raise SparkDeployError(self.problems)

    def known(self, section: Mapping[str, object], names: tuple[str, ...], path: tuple[str, ...]) -> None:
        for key in section:
            if key not in names:
                self.error((*path, str(key)), f"unknown setting {key}", did_you_mean(str(key), names))

    def mapping(self, section: Mapping[str, Any], key: str, path: tuple[str, ...]) -> dict[str, Any]:
        value = section.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.error((*path, str(key)), f"{key} must be a mapping of names to values", AS_MAPPING)
            return {}
        return value

    def shared(self, section: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
        """The settings that a project, an environment and ``--set`` may all give."""
        values: dict[str, Any] = {}
        for key, choices in _CHOICES.items():
            if key in section:
                value = str(section[key]).casefold()
                if value not in choices:
                    self.error(
                        (*path, key),
                        f"{key}: {section[key]} is not one of {', '.join(choices)}",
                        did_you_mean(value, choices),
                    )
                values[key] = value
        if "max_fixpoint_iterations" in section:
            values["max_fixpoint_iterations"] = self._count(section, path)
        for key in _SIDE_SCHEMAS:
            if key in section:
                values[key] = self._side_schema(str(section[key]), (*path, key))
        if "retention" in section:
            values["retention"] = self._duration(str(section["retention"]), (*path, "retention"))
        if tokens := self.mapping(section, "tokens", path):
            values["tokens"] = {key.casefold(): self.token(key, value, path) for key, value in tokens.items()}
        if schemas := self.mapping(section, "schemas", path):
            values["schemas"] = {
                key.casefold(): self._name(value, (*path, "schemas", key)) for key, value in schemas.items()
            }
        if catalogs := self.mapping(section, "catalogs", path):
            values["catalogs"] = dict(catalogs)
            for key, value in catalogs.items():
                if value not in _CATALOG_TYPES:
                    self.error(
                        (*path, "catalogs", key),
                        f"catalog {key}: {value} is not one of {', '.join(_CATALOG_TYPES)}",
                        did_you_mean(str(value), _CATALOG_TYPES),
                    )
        if "propagation" in section:
            values["propagation"] = self._propagation(section["propagation"], (*path, "propagation"))
        return values

    def _count(self, section: Mapping[str, Any], path: tuple[str, ...]) -> int:
        text = str(section["max_fixpoint_iterations"]).strip()
        if _COUNT.match(text):
            return int(text)
        self.error(
            (*path, "max_fixpoint_iterations"),
            f"max_fixpoint_iterations: {text} is not a number above 0",
            "Write a number, like 100.",
        )
        return 1

    def _side_schema(self, text: str, path: tuple[str, ...]) -> str:
        parts = parse_name(text.strip())
        if parts is None or len(parts) != 1:
            self.error(
                path,
                f"{path[-1]}: {text} is not a schema",
                "Name one schema of the session catalog, without a catalog.",
            )
            return ""
        return parts[0]

    def _duration(self, text: str, path: tuple[str, ...]) -> int:
        if match := _DURATION.match(text.strip().casefold()):
            return int(match[1]) * _UNITS[match[2]]
        self.error(path, f"retention: {text} is not a duration", "Write a number and s, m, h or d, like 1h.")
        return 0

    def token(self, key: str, value: object, path: tuple[str, ...]) -> str:
        if isinstance(value, str) and "\n" not in value and "\r" not in value:
            return value
        self.error(
            (*path, "tokens", key),
            f"token {key} is not one line of text",
            "Write its value on one line, in quotes.",
        )
        return ""

    def _name(self, value: object, path: tuple[str, ...]) -> tuple[str, ...]:
        parts = parse_name(value) if isinstance(value, str) else None
        if parts is None:
            self.error(path, f"{value or 'nothing'} is not a name", "Write schema, or catalog.schema.")
            return ("",)
        return parts

    def _propagation(self, value: object, path: tuple[str, ...]) -> Propagation:
        if isinstance(value, bool):
            return Propagation(schema=value, compute=value)
        if not isinstance(value, dict):
            self.error(path, "propagation must be true, false or a mapping", _PROPAGATION)
            return Propagation()
        flags = {"schema": True, "compute": True}
        folders: dict[str, dict[str, bool]] = {"schema": {}, "compute": {}}
        named = {(*path, key): item for key, item in value.items() if key not in flags and key != "schemas"}
        for where in named:
            if near := near_name(where[-1].casefold(), (*flags, "schemas")):
                advice = f"{near} If it is a schema folder, put it under schemas: there."
                self.error(where, f"unknown setting propagation.{where[-1]}", advice)
        named |= {(*path, "schemas", key): item for key, item in self.mapping(value, "schemas", path).items()}
        for key in flags:
            if key in value and isinstance(value[key], bool):
                flags[key] = value[key]
            elif key in value:
                self.error((*path, key), f"propagation.{key} must be true or false", _PROPAGATION)
        for where, section in named.items():
            folder = where[-1]
            rules = {"schema": section, "compute": section} if isinstance(section, bool) else section
            if not isinstance(rules, dict) or not all(isinstance(item, bool) for item in rules.values()):
                self.error(where, f"propagation of {folder} must be true, false or a mapping", _PROPAGATION)
                continue
            self.known(rules, tuple(flags), where)
            for key in flags.keys() & rules.keys():
                folders[key][folder.casefold()] = rules[key]
        return Propagation(flags["schema"], flags["compute"], folders["schema"], folders["compute"])

"""Markers: the lines that cut a file into sections, and the attributes on them.

    //// METADATA tags=core,finance compute=etl
    //// CHANGE name=add_region dependencies=ref.regions.init
    // ROLLBACK
    //// INDEX name=by_region

An optional ``-- `` before a marker keeps the file readable for SQL editors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from .diagnostics import NOWHERE, Diagnostic, Place, did_you_mean, near_name

SectionKind = Literal["METADATA", "CHANGE", "INDEX"]
KNOWN_SECTIONS: Final = ("METADATA", "CHANGE", "INDEX")

_MARKER = re.compile(
    r"^[ \t]*(?P<dashes>--[ \t]*)?////[ \t]*(?P<section>[^\s=]*)(?P<rest>[^\n]*)$", re.MULTILINE
)
_ROLLBACK = re.compile(r"^[ \t]*(?P<dashes>--[ \t]*)?//(?!/)[ \t]*(?P<word>[^\n]*)$", re.MULTILINE)
# A marker in all but the number of its slashes. What stands behind it tells it from prose.
_ALMOST = re.compile(
    r"^[ \t]*(?:--[ \t]*)?(?P<slashes>/{2,})[ \t]*(?P<section>METADATA|CHANGE|INDEX|ROLLBACK)"
    r"(?P<rest>[ \t]*|[ \t]+[A-Za-z_][\w-]*[ \t]*=[^\n]*)$",
    re.MULTILINE,
)
# Where SQL hides what looks like a marker: literals and bracketed comments.
_HIDING = re.compile(
    r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?:[^`]|``)*`|\$\$.*?\$\$|--[^\n]*|/\*""", re.DOTALL
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
# A value is quoted, or runs to the next blank; blanks around commas belong to a list, but a
# blank and ``key=`` begin the next attribute.
_KEY = r"[A-Za-z_][\w-]*"
_ITEM = r"(?:`(?:[^`]|``)*`|[^\s,\"'`])+"
_BLANK = rf"(?:\s+(?!{_KEY}\s*=))?"
_ATTRIBUTE = re.compile(
    rf"""\s*(?P<key>{_KEY})
        (?:\s*=(?:\s*"(?P<double>[^"]*)"|\s*'(?P<single>[^']*)'
               |{_BLANK}(?P<bare>{_ITEM}(?:\s*,{_BLANK}{_ITEM})*(?:\s*,)?|)))?
        (?=\s|$)""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class _Attribute:
    """Where an attribute may stand, and what its value is."""

    name: str
    sections: tuple[SectionKind, ...]
    form: Literal["text", "list", "flag", "toggle"] = "text"
    kinds: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()


_EVERY: Final[tuple[SectionKind, ...]] = ("METADATA", "CHANGE", "INDEX")
_WITH_TABLE: Final = ("table", "materialized_view", "view", "data")
ATTRIBUTES: Final[Mapping[str, _Attribute]] = {
    item.name.casefold(): item
    for item in (
        _Attribute("name", ("CHANGE", "INDEX")),
        _Attribute("dependencies", ("METADATA", "CHANGE"), "list"),
        _Attribute("includeDependencies", ("METADATA", "CHANGE"), "list"),
        _Attribute("excludeDependencies", ("METADATA", "CHANGE"), "list"),
        _Attribute("includeEnvs", _EVERY, "list"),
        _Attribute("excludeEnvs", _EVERY, "list"),
        _Attribute("baselinedChanges", ("CHANGE",), "list"),
        _Attribute("tags", ("METADATA",), "list"),
        _Attribute("compute", _EVERY),
        _Attribute("replacement", ("METADATA",), "flag"),
        _Attribute("lifecycle", ("METADATA",), choices=("managed", "protected", "external")),
        _Attribute("schedule", ("METADATA",), kinds=("materialized_view",)),
        _Attribute("keys", ("METADATA",), "list", kinds=("data",)),
        _Attribute("comment", ("METADATA",), kinds=_WITH_TABLE),
        _Attribute("DROP_TABLE", ("METADATA", "CHANGE"), "toggle", kinds=("table",)),
        _Attribute("INACTIVE", ("METADATA", "CHANGE"), "toggle"),
    )
}


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of one header, checked; lists are trimmed tuples. ``inherited`` are the places of
    those that another header gave."""

    values: Mapping[str, str] = field(default_factory=dict)
    line: int = 0
    path: str = ""
    inherited: Mapping[str, Place] = field(default_factory=dict)

    def text(self, name: str) -> str | None:
        return self.values.get(name.casefold())

    def items(self, name: str) -> tuple[str, ...] | None:
        value = self.values.get(name.casefold())
        if value is None:
            return None
        return tuple(item for part in _split_list(value) if (item := part.strip()))

    def on(self, name: str) -> bool:
        return self.values.get(name.casefold(), "false").casefold() == "true"

    def place(self, name: str) -> Place:
        """The file and the line where an attribute is written; neither where it is not."""
        if name.casefold() not in self.values:
            return NOWHERE
        return self.inherited.get(name.casefold(), (self.path, self.line))

    def over(self, defaults: Attributes) -> Attributes:
        """These attributes, with those of ``defaults`` where they are silent."""
        if not defaults.values:
            return self
        inherited = {name: defaults.place(name) for name in defaults.values if name not in self.values}
        return Attributes(
            {**defaults.values, **self.values}, self.line, self.path, {**self.inherited, **inherited}
        )


@dataclass(frozen=True, slots=True)
class Section:
    """A header with the text below it, as positions in the file."""

    kind: SectionKind
    line: int
    attributes: Attributes
    start: int
    end: int
    rollback: tuple[int, int] | None = None


def _split_list(value: str) -> list[str]:
    """At commas, but not inside back quotes."""
    return re.findall(r"(?:`(?:[^`]|``)*`|[^,`])+", value)


def read_sections(text: str, path: str, kind: str, problems: list[Diagnostic]) -> tuple[int, list[Section]]:
    """Where the text before the first marker ends, and all sections; problems are collected."""
    if "//" not in text:
        return len(text), []
    hidden = _hidden(text) if kind != "data" else []
    markers = [
        marker
        for marker in _MARKER.finditer(text)
        if not _is_comment(marker, "section", (*KNOWN_SECTIONS, "ROLLBACK"), kind)
        and not _is_hidden(marker.start(), hidden)
    ]
    almost = _almost_markers(text, hidden) if kind != "data" else {}
    if almost:
        markers = sorted(
            {marker.start(): marker for marker in (*markers, *almost.values())}.values(), key=re.Match.start
        )
    sections: list[Section] = []
    lines = _Lines(text)
    for number, marker in enumerate(markers):
        line = lines.at(marker.start())
        start = min(marker.end() + 1, len(text))
        end = markers[number + 1].start() if number + 1 < len(markers) else len(text)
        word = marker["section"].upper()
        if marker.start() in almost:
            problems.append(_miscounted(marker, path, line))
            if word == "ROLLBACK":
                continue
        elif word not in KNOWN_SECTIONS:
            problems.append(
                Diagnostic(
                    path,
                    line,
                    "SD120",
                    f"unknown marker //// {marker['section']}".rstrip(),
                    near_name(word, ["ROLLBACK"]).replace("ROLLBACK", "// ROLLBACK")
                    or did_you_mean(word, KNOWN_SECTIONS),
                )
            )
            continue
        section: SectionKind = word  # type: ignore[assignment]
        attributes = read_attributes(marker["rest"], section, kind, path, line, problems)
        rollback = None
        if kind != "data":  # a row may begin with slashes
            rollback = _rollback(text, start, end, section, path, lines, hidden, problems)
        sections.append(
            Section(
                section,
                line,
                attributes,
                start,
                rollback[0] if rollback else end,
                (rollback[1], end) if rollback else None,
            )
        )
    preface = markers[0].start() if markers else len(text)
    if kind != "data" and (not sections or sections[0].kind == "INDEX"):  # else it is all comments
        misplaced = _rollback(text, 0, preface, "", path, lines, hidden, problems)
        preface = misplaced[0] if misplaced else preface
    return preface, sections


def _is_comment(match: re.Match[str], group: str, known: tuple[str, ...], kind: str = "") -> bool:
    """``-- ////////`` is decoration; ``-- //// CHNAGE`` is a typo, and is reported."""
    return bool(match["dashes"] or kind == "data") and not near_name(match[group].strip().upper(), known)


def _almost_markers(text: str, hidden: list[tuple[int, int]]) -> dict[int, re.Match[str]]:
    """Markers with too few or too many slashes, by their position. As comments they would be read over:
    a ``-- //// ROLLBACK`` would let the statements below it run with those above."""
    return {
        found.start(): found
        for found in _ALMOST.finditer(text)
        if found["slashes"] != _slashes(found["section"]) and not _is_hidden(found.start(), hidden)
    }


def _slashes(word: str) -> str:
    return "//" if word == "ROLLBACK" else "////"


def _miscounted(marker: re.Match[str], path: str, line: int) -> Diagnostic:
    word = marker["section"]
    return Diagnostic(
        path,
        line,
        "SD120",
        f"unknown marker {marker['slashes']} {word}",
        f"Did you mean {_slashes(word)} {word}?",
    )


def _hidden(text: str) -> list[tuple[int, int]]:
    """The literals and bracketed comments of several lines, in which nothing is a marker.

    A literal that seems to hold a whole ``////`` marker is one that somebody forgot to close:
    it hides nothing, so that the marker counts and the open quote is reported.
    """
    spans: list[tuple[int, int]] = []
    position = 0
    while match := _HIDING.search(text, position):
        start, position = match.span()
        found = match.group()
        if found == "/*":
            end = _comment_end(text, start)
            if end is None:
                break  # it is reported, and hides nothing
            spans.append((start, end))
            position = end
        elif found[0] == "-" or "\n" not in found:
            continue
        elif any(
            item["section"].upper() in KNOWN_SECTIONS for item in _MARKER.finditer(text, start, position)
        ):
            position = start + 1
        else:
            spans.append((start, position))
    return spans


def _comment_end(text: str, start: int) -> int | None:
    """Where a bracketed comment ends, with those inside it; None if it does not."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, start):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    return None


def _is_hidden(position: int, spans: list[tuple[int, int]]) -> bool:
    return any(start < position < end for start, end in spans)


def _rollback(
    text: str,
    start: int,
    end: int,
    section: SectionKind | Literal[""],
    path: str,
    lines: _Lines,
    hidden: list[tuple[int, int]],
    problems: list[Diagnostic],
) -> tuple[int, int] | None:
    """The edges of a ``// ROLLBACK`` line inside a section, or before the first (no ``section``). What
    is behind one in the wrong place is not read: one mistake gives one message."""
    found = None
    where = f"is not for {section}" if section else "without a CHANGE"
    for match in _ROLLBACK.finditer(text, start, end):
        line = lines.at(match.start())
        if _is_comment(match, "word", ("ROLLBACK",)) or _is_hidden(match.start(), hidden):
            continue
        if match["word"].strip().upper() != "ROLLBACK":
            problems.append(
                Diagnostic(
                    path,
                    line,
                    "SD120",
                    f"unknown marker // {match['word']}".rstrip(),
                    near_name(match["word"].upper(), ["ROLLBACK"]) or "The only // marker is // ROLLBACK.",
                )
            )
        elif section != "CHANGE":
            problems.append(
                Diagnostic(path, line, "SD121", f"// ROLLBACK {where}", "It belongs under a CHANGE.")
            )
            found = found or (match.start(), match.end())
        elif found:
            problems.append(
                Diagnostic(path, line, "SD121", "a second // ROLLBACK in one CHANGE", "Keep one.")
            )
        else:
            found = (match.start(), match.end())
    return found


def read_attributes(
    rest: str, section: SectionKind, kind: str, path: str, line: int, problems: list[Diagnostic]
) -> Attributes:
    """The attributes of one header line."""
    values: dict[str, str] = {}

    def report(code: str, message: str, advice: str) -> None:
        problems.append(Diagnostic(path, line, code, message, advice))

    position, rest = 0, rest.rstrip()
    while position < len(rest):
        match = _ATTRIBUTE.match(rest, position)
        if match is None:
            report(
                "SD122",
                f"cannot read the header from: {rest[position:].strip()}",
                "Write key=value pairs; quote a whole value that holds blanks: tags='a b, c'.",
            )
            break
        position = match.end()
        key = match["key"]
        attribute = ATTRIBUTES.get(key.casefold())
        if attribute is None:
            report(
                "SD123", f"unknown attribute {key}", did_you_mean(key, [a.name for a in ATTRIBUTES.values()])
            )
            continue
        if section not in attribute.sections:
            report(
                "SD124",
                f"{attribute.name} is not an attribute of {section}",
                f"It belongs on {' or '.join(attribute.sections)}.",
            )
            continue
        if attribute.kinds and kind not in attribute.kinds:
            report(
                "SD124",
                f"{attribute.name} has no meaning for a {kind}",
                f"It is for {', '.join(attribute.kinds)}.",
            )
            continue
        if key.casefold() in values:
            report("SD125", f"{attribute.name} is given twice", "Keep one.")
            continue
        value = next((match[name] for name in ("double", "single", "bare") if match[name] is not None), None)
        if problem := _check(attribute, value):
            report("SD126", *problem)
            continue
        values[key.casefold()] = "true" if value is None else value.strip()
    return Attributes(values, line, path)


def _check(attribute: _Attribute, value: str | None) -> tuple[str, str] | None:
    """What is wrong with a value, and what to write instead."""
    name = attribute.name
    if attribute.form == "toggle":
        if value is None or value.casefold() in ("true", "false"):
            return None
        return f"{name}={value}: it is a toggle, and takes no value", f"Write {name} alone, or leave it out."
    example = attribute.choices[0] if attribute.choices else "true" if attribute.form == "flag" else "..."
    if value is None:
        return f"{name} needs a value", f"Write {name}={example}."
    if attribute.form == "flag" and value.casefold() not in ("true", "false"):
        return f"{name}={value} is neither true nor false", f"Write {name}=true, or leave it out."
    if attribute.choices and value.casefold() not in attribute.choices:
        known = ", ".join(attribute.choices)
        return f"{name}={value} is not one of {known}", did_you_mean(value, attribute.choices)
    if attribute.form == "text" and not value.strip() and name != "comment":
        otherwise = "" if name == "name" else ", or leave it out"
        return f"{name} is empty", f"Write {name}={example}{otherwise}."
    return None


class _Lines:
    """Line numbers of ascending positions, without counting from the start each time."""

    def __init__(self, text: str) -> None:
        self.text, self.position, self.line = text, 0, 1

    def at(self, position: int) -> int:
        if position < self.position:
            self.position, self.line = 0, 1
        self.line += self.text.count("\n", self.position, position)
        self.position = position
        return self.line

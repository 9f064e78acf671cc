"""One file to one object: sections, statements, references and hashes.

Pure: the text of a file, the defaults of its folder and the name of the environment go in;
an object and its problems come out. So the result can be cached by content, and files can
be parsed in several processes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from .cron import is_schedule
from .csvdata import load_sql, read_data
from .diagnostics import Diagnostic, did_you_mean, near_name
from .headers import Attributes, Section, read_sections
from .lexer import Lexemes, LexError, combined_hash, lex, line_of, split, token_hash, tokens
from .names import SESSION_CATALOG, display, object_name
from .objects import DEPENDENCY_RULES, Change, DependencyRules, Index, Kind, ObjectDef, Statement, TableDef
from .references import find_references
from .squash import Squashes, circles, inner
from .statement import (
    Head,
    action_of,
    is_destructive,
    query_at,
    read_head,
    statement_text,
    swappable_query,
    unquoted,
)
from .tabledef import table_definition

_INDEXED = ("table", "materialized_view", "data")
_NOUN = {"table": "TABLE", "view": "VIEW", "function": "FUNCTION", "materialized_view": "MATERIALIZED VIEW"}


@dataclass(frozen=True, slots=True)
class Source:
    """What ``parse_object`` needs to know of a file. ``text`` has its tokens replaced."""

    path: str
    schema: str
    kind: Kind
    object: str
    text: str
    physical_schema: tuple[str, ...]
    environment: str
    defaults: Attributes = Attributes()
    environments: tuple[str, ...] = ()  # all that the project declares
    readable: bool = True
    problems: tuple[Diagnostic, ...] = ()  # what was found before it was parsed


class Parsed(NamedTuple):
    """``object`` is None when the environment leaves the file out, or it is beyond use."""

    object: ObjectDef | None
    problems: tuple[Diagnostic, ...] = ()


def parse_object(source: Source) -> Parsed:
    """The object that a file declares, and everything that is wrong with it."""
    if not source.readable:
        return Parsed(None, source.problems)
    reader = _FileReader(source)
    found = reader.read()
    return Parsed(found, (*source.problems, *reader.problems, *reader.warnings))


def in_environment(attributes: Attributes, environment: str) -> bool:
    """Whether includeEnvs and excludeEnvs let a section take part; ``*`` is a wildcard."""
    included = attributes.items("includeEnvs")
    excluded = attributes.items("excludeEnvs") or ()
    if included is not None and not _is_one_of(environment, included):
        return False
    return not _is_one_of(environment, excluded)


def unknown_environments(
    attributes: Attributes, environments: tuple[str, ...], path: str
) -> Iterator[Diagnostic]:
    """Patterns that fit no declared environment, where that is hardly meant: a declared one has
    nearly that name, or the section would take part in none at all. A typing error leaves an object
    out silently, and drops what is deployed of it."""
    for name in ("includeEnvs", "excludeEnvs") if environments else ():
        patterns = attributes.items(name) or ()
        strange = [
            pattern for pattern in patterns if not any(_is_one_of(one, (pattern,)) for one in environments)
        ]
        nowhere = name == "includeEnvs" and len(strange) == len(patterns)
        for pattern in strange:
            if near_name(pattern.casefold(), environments) or nowhere:
                message = f"{name}: no environment is called {pattern}"
                advice = did_you_mean(pattern, environments)
                yield Diagnostic(path, attributes.line, "SD144", message, advice, severity="warning")


def _is_one_of(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether a name fits a pattern, in any case; every character but ``*`` is itself."""
    return any(
        re.fullmatch(".*".join(map(re.escape, pattern.casefold().split("*"))), name.casefold(), re.DOTALL)
        for pattern in patterns
    )


class _FileReader:
    """Collects the problems of one file while its parts are read."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.problems: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []

    def report(self, line: int, code: str, message: str, advice: str) -> None:
        self.problems.append(Diagnostic(self.source.path, line, code, message, advice))

    def _check_schedule(self, metadata: Attributes) -> None:
        schedule = metadata.text("schedule")
        if schedule is not None and not is_schedule(schedule):
            message = f"schedule={schedule} is not a cron expression: nothing refreshes by it"
            advice = 'Write five fields, such as schedule="0 2 * * *", or @daily.'
            self.warnings.append(
                Diagnostic(*metadata.place("schedule"), "SD140", message, advice, severity="warning")
            )

    def read(self) -> ObjectDef | None:
        source = self.source
        preface_end, sections = read_sections(source.text, source.path, source.kind, self.problems)
        for section in sections:
            self.warnings += unknown_environments(section.attributes, source.environments, source.path)
        metadata = Attributes()
        body_start, body_end = 0, preface_end
        if sections and sections[0].kind == "METADATA":
            metadata = sections[0].attributes
            self._no_text(0, preface_end, "METADATA")
            body_start, body_end = sections[0].start, sections[0].end
            sections = sections[1:]
        metadata = metadata.over(source.defaults)
        if not in_environment(metadata, source.environment):
            return None
        self._check_schedule(metadata)
        for section in sections:
            if section.kind == "METADATA":
                self.report(
                    section.line,
                    "SD127",
                    "METADATA must be the first section, and there is one",
                    "Move or merge it.",
                )
        changes = [section for section in sections if section.kind == "CHANGE"]
        indexes = self._indexes([section for section in sections if section.kind == "INDEX"])
        definition: TableDef | None = None
        dropped = metadata.on("DROP_TABLE")
        if source.kind == "migration" or (source.kind == "table" and changes):
            if changes:
                self._no_text(body_start, body_end, "CHANGE")
            body = self._changes(changes, metadata)
        else:
            for section in changes:
                self.report(
                    section.line,
                    "SD128",
                    f"a {source.kind} has no CHANGE sections",
                    "Keep its text under METADATA.",
                )
            change, definition = self._body(body_start, body_end, metadata, dropped)
            body = (change,) if change else ()
        if not body and not dropped:
            if not self.problems and not changes:  # else the environment has none of them
                self.report(1, "SD129", "the file holds no statement", "Write one, or delete the file.")
            return None
        found = ObjectDef(
            name=object_name(source.schema, source.object),
            kind=source.kind,
            path=source.path,
            line=body[0].line if body else 1,
            physical=(*source.physical_schema, source.object),
            changes=body,
            indexes=indexes,
            definition=definition,
            tags=tuple(sorted({tag.casefold() for tag in metadata.items("tags") or ()})),
            compute=_folded(metadata.text("compute")),
            replacement=metadata.on("replacement"),
            lifecycle=(metadata.text("lifecycle") or "managed").casefold(),  # type: ignore[arg-type]
            schedule=metadata.text("schedule"),
            keys=_names(metadata, "keys"),
            comment=metadata.text("comment"),
            inactive=metadata.on("INACTIVE"),
            dropped=dropped,
        )
        names = tuple(change.name for change in body)
        return found._replace(
            change_names=names, computes=_computes(found), digest=_digest(found), needs=_needs(found)
        )

    def _no_text(self, start: int, end: int, before: str) -> None:
        """Only comments may stand before the first marker."""
        found = self._lex(start, end)
        if found and found.texts:
            line = line_of(self.source.text, start + found.starts[0])
            self.report(
                line, "SD131", f"text before the first {before}", f"Move it under a //// {before} marker."
            )

    def _lex(self, start: int, end: int) -> Lexemes | None:
        try:
            return lex(self.source.text[start:end])
        except LexError as error:
            self.report(line_of(self.source.text, start + error.position), "SD201", str(error), "Close it.")
            return None

    def _statements(self, start: int, end: int) -> list[tuple[Lexemes, Head, Statement]] | None:
        """The statements between two positions of the file, with what they refer to; None, and a
        problem, where something stays open."""
        source = self.source
        text = source.text[start:end]
        lexemes = self._lex(start, end)
        if lexemes is None:
            return None
        try:
            parts = split(lexemes)
        except LexError as error:
            self.report(
                line_of(source.text, start + error.position), "SD201", str(error), "Close the block with END."
            )
            return None
        found = []
        for part in parts:
            head = read_head(part)
            references, parsed = find_references(text, part, head)
            found.append((
                part,
                head,
                Statement(
                    sql=statement_text(text, part),
                    line=line_of(source.text, start + part.starts[0]),
                    hash=token_hash(part),
                    action=action_of(head, source.kind),
                    references=references,
                    destructive=is_destructive(head, part),
                    parsed=parsed,
                    query=swappable_query(part, head),
                ),
            ))  # fmt: skip
        return found

    def _changes(self, sections: list[Section], metadata: Attributes) -> tuple[Change, ...]:
        misplaced = {"SD120", "SD121"}.intersection(item.code for item in self.problems)
        if not sections and not misplaced:  # a misspelled marker may have been one
            self.report(
                1,
                "SD129",
                f"a {self.source.kind} without a CHANGE section",
                "Add //// CHANGE name=init above its SQL.",
            )
        lines: dict[str, int] = {}
        found: list[Change] = []
        for section in sections:
            attributes = section.attributes
            name = self._name(section, lines)
            if not in_environment(attributes, self.source.environment):
                continue
            read = self._statements(section.start, section.end)
            statements = tuple(statement for _, _, statement in read or ())
            drops = attributes.on("DROP_TABLE")
            if read == [] and not drops:
                self.report(
                    section.line,
                    "SD134",
                    "this CHANGE holds no statement",
                    "Write one, or remove the section.",
                )
            rollback: tuple[str, ...] = ()
            if section.rollback:
                rollback = tuple(item.sql for _, _, item in self._statements(*section.rollback) or ())
            if not name:
                continue
            found.append(
                Change(
                    name=name,
                    line=section.line,
                    hash=combined_hash(*(statement.hash for statement in statements)),
                    statements=statements,
                    rollback=rollback,
                    compute=_folded(attributes.text("compute") or metadata.text("compute")),
                    dependencies=_rules(attributes.over(_only_dependencies(metadata))),
                    baselines=_names(attributes, "baselinedChanges"),
                    inactive=attributes.on("INACTIVE"),
                    drops_table=drops,
                )
            )
        dropping = [change.name for change in found if change.drops_table]
        if dropping and found[-1].name != dropping[0]:
            self.report(
                found[-1].line,
                "SD135",
                f"CHANGE {found[-1].name} comes after {dropping[0]}, which drops the table",
                "DROP_TABLE must be on the last CHANGE.",
            )
        squashes = {change.name: change.baselines for change in found if not change.inactive}
        for circle in circles(squashes):
            line = lines[circle[0]]
            if len(circle) == 1:
                self.report(
                    line, "SD145", f"CHANGE {circle[0]} has itself in baselinedChanges", "Take it out."
                )
            else:
                self.report(
                    line,
                    "SD145",
                    f"CHANGE {', '.join(circle)} stand for each other by baselinedChanges",
                    "Only the newer of two changes stands for the older.",
                )
        return _without_baselined(found, squashes)

    def _name(self, section: Section, lines: dict[str, int]) -> str:
        """The name of a section, or nothing, and a problem, where it cannot be told apart."""
        name = unquoted(section.attributes.text("name") or " ").strip().casefold()
        if not name:
            if not any(item.line == section.line for item in self.problems):  # what is wrong there may be it
                self.report(section.line, "SD133", f"{section.kind} without a name", "Add name=...")
        elif name in lines:
            self.report(
                section.line,
                "SD132",
                f"{section.kind} {name} is already in line {lines[name]}",
                "Choose another name.",
            )
            return ""
        lines[name] = section.line
        return name

    def _indexes(self, sections: list[Section]) -> tuple[Index, ...]:
        lines: dict[str, int] = {}
        found: list[Index] = []
        for section in sections:
            if self.source.kind not in _INDEXED:
                self.report(
                    section.line,
                    "SD128",
                    f"a {self.source.kind} has no indexes",
                    f"INDEX is for {', '.join(_INDEXED)}.",
                )
                continue
            name = self._name(section, lines)
            statements = self._statements(section.start, section.end)
            if statements is not None and in_environment(section.attributes, self.source.environment):
                if len(statements) != 1:
                    self.report(
                        section.line,
                        "SD134",
                        f"INDEX {name} needs one statement, and has {len(statements)}",
                        "Give each index a //// INDEX section of its own.",
                    )
                    continue
                if not name:
                    continue
                statement = statements[0][2]
                compute = _folded(section.attributes.text("compute"))
                found.append(Index(name, section.line, statement.sql, statement.hash, compute))
        return tuple(found)

    def _body(
        self, start: int, end: int, metadata: Attributes, dropped: bool
    ) -> tuple[Change | None, TableDef | None]:
        """The one unnamed change of a kind without CHANGE sections."""
        source = self.source
        compute, rules = _folded(metadata.text("compute")), _rules(metadata)
        if source.kind == "data":
            first_line = line_of(source.text, start)
            data = read_data(
                source.text[start:end], _names(metadata, "keys"), source.path, first_line, self.problems
            )
            if data is None:
                return None, None
            physical = (*source.physical_schema, source.object)
            load = Statement(load_sql(physical, data), first_line, data.hash, "load")
            return Change("", first_line, data.hash, (load,), (), compute, rules), data.definition
        found = self._statements(start, end)
        if not found:
            return None, None
        line = found[0][2].line
        definition = None
        if source.kind != "sink":
            if len(found) > 1:
                self.report(
                    found[1][2].line,
                    "SD137",
                    f"a {source.kind} file holds one statement, this one {len(found)}",
                    "Give each object a file of its own.",
                )
            definition = self._check_create(found[0])
            if source.kind == "table" and definition is None and not dropped and not self.problems:
                self.report(
                    line,
                    "SD136",
                    "a table without CHANGE sections must declare its columns",
                    "Write CREATE TABLE name (column type, ...), or put the statement under //// CHANGE name=init.",
                )
        statements = tuple(statement for _, _, statement in found)
        digest = statements[0].hash if len(statements) == 1 else combined_hash(*(s.hash for s in statements))
        return Change("", line, digest, statements, (), compute, rules), definition

    def _check_create(self, found: tuple[Lexemes, Head, Statement]) -> TableDef | None:
        """A file must create what its path says; returns the columns that it declares."""
        source = self.source
        part, head, statement = found
        noun = head.noun.upper()
        if "materialized" in head.words:
            noun = f"MATERIALIZED {noun}"
        expected = _NOUN[source.kind]
        if head.verb != "create" or noun != expected:
            self.report(
                statement.line,
                "SD138",
                f"a {source.kind} file must hold one CREATE {expected} statement",
                self._other_kind(noun),
            )
            return None
        if head.words & {"temporary", "temp", "global"}:
            self.report(statement.line, "SD138", "a temporary object cannot be deployed", "Remove TEMPORARY.")
        self._check_name(head, statement.line)
        if source.kind in ("view", "materialized_view") and query_at(part, head) is None:
            self.report(
                statement.line, "SD138", f"CREATE {expected} without AS and a query", "Add AS SELECT ..."
            )
        if source.kind in ("table", "materialized_view") and part.texts[head.after : head.after + 1] == ["("]:
            return table_definition(tokens(statement.sql))
        return None

    def _other_kind(self, noun: str) -> str:
        """Where a statement belongs that is not in a file of its kind."""
        kind = next((kind for kind, word in _NOUN.items() if word == noun), None)
        if kind and kind != self.source.kind:
            return f"Move the file to {self.source.schema}/{kind}/."
        return "Write one, or make it a migration: statements that are run once."

    def _check_name(self, head: Head, line: int) -> None:
        source = self.source
        expected = (*source.physical_schema, source.object)
        spelled = tuple(part.casefold() for part in head.name)
        wanted = tuple(part.casefold() for part in expected)
        if len(wanted) == 2:
            wanted = (SESSION_CATALOG, *wanted)
        if not spelled and "${" in source.text:  # with an undefined token nobody can tell
            return
        if not spelled or spelled != wanted[-len(spelled) :]:
            self.report(
                line,
                "SD139",
                f"the file creates {display(head.name) or 'nothing'}, its path says {display(expected)}",
                "Rename one of them; ${schema} is the physical name of the folder.",
            )


def _without_baselined(changes: list[Change], squashes: Squashes) -> tuple[Change, ...]:
    """All but those that another change stands for: they may stay in the file, and never run beside it.
    What they stand for themselves is kept with the one that stands for them."""
    covered = {name for names in squashes.values() for name in names}
    return tuple(
        change._replace(squashed=inner(change.baselines, squashes)) if change.baselines else change
        for change in changes
        if change.name not in covered
    ) or tuple(changes)


def _computes(item: ObjectDef) -> tuple[str, ...]:
    """The computes that the statements of an object use: only explicit ones count."""
    found = {change.compute for change in item.changes if change.compute}
    return tuple(sorted(found | {item.compute})) if item.compute else tuple(sorted(found))


def _digest(item: ObjectDef) -> str:
    """One hash over everything that a diff compares, and that the log keeps of a header."""
    changes = [
        (c.name, [s.hash for s in c.statements] or c.hash, c.inactive, c.drops_table, c.baselines, c.compute)
        + ((c.squashed,) if c.squashed else ())
        for c in item.changes
    ]
    indexes = [(index.name, index.hash, index.compute) for index in item.indexes]
    header = (
        item.kind,
        item.comment,
        item.lifecycle,
        item.replacement,
        item.compute,
        item.inactive,
        item.dropped,
    )
    return combined_hash(repr((changes, indexes, header, item.physical)))[:34]


def _needs(item: ObjectDef) -> bytes:
    """One hash over everything of the object that decides what it depends on."""
    changes = [(c.name, [s.references for s in c.statements], c.dependencies[:-1]) for c in item.changes]
    said = repr((item.path, changes))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).digest()[:16]


def _folded(text: str | None) -> str | None:
    return text.casefold() if text else None


def _names(attributes: Attributes, name: str) -> tuple[str, ...]:
    """A list of names that have one part each, which may be back-quoted."""
    return tuple(unquoted(item).casefold() for item in attributes.items(name) or ())


def _only_dependencies(metadata: Attributes) -> Attributes:
    """Dependency rules on METADATA hold for every change that has none of its own."""
    names = {name.casefold() for name in DEPENDENCY_RULES}
    return replace(metadata, values={key: value for key, value in metadata.values.items() if key in names})


def _rules(attributes: Attributes) -> DependencyRules:
    return DependencyRules(
        replace=attributes.items("dependencies"),
        include=attributes.items("includeDependencies") or (),
        exclude=attributes.items("excludeDependencies") or (),
        places=tuple(map(attributes.place, DEPENDENCY_RULES)),
    )

"""A catalog that only pretends: it runs the statements of a plan as strictly as Spark would.

What is created must not be there, what is dropped, altered or read must be, and as what the
statement calls it. It knows nothing of effects or of the deploy log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_provider_sparkdeploy.core.graph import Graph
from airflow_provider_sparkdeploy.core.lexer import combined_hash
from airflow_provider_sparkdeploy.core.names import Node, ObjectName
from airflow_provider_sparkdeploy.core.operations import Operation
from airflow_provider_sparkdeploy.core.state import PutObject
from airflow_provider_sparkdeploy.core.statement import view_text

_STATEMENT = re.compile(
    r"\s*(CREATE|DROP|ALTER|COMMENT ON)( OR REPLACE)? (TABLE|VIEW|FUNCTION|MATERIALIZED VIEW|INDEX)\b( IF EXISTS)?(.*)",
    re.DOTALL,
)
_COLUMN = re.compile(r"\bw\d")
Reads = Mapping[ObjectName, tuple[ObjectName, ...]]


def _needed(operation: Operation, graph: Graph) -> set[ObjectName]:
    if operation.change is None:
        return {*graph.depends_on[operation.object]}
    return {node.name for node in graph.requires[Node(*operation.object, operation.change)]} - {
        operation.object
    }


class Refused(Exception):
    """Spark would not do this."""


@dataclass
class Held:
    """What stands under a name. ``content`` is what a query would see: of what is computed once,
    as it was then."""

    noun: str
    text: str = ""
    comment: str = ""
    ran: list[str] = field(default_factory=list)
    columns: frozenset[str] = frozenset()
    indexes: dict[str, str] = field(default_factory=dict)
    content: str = ""


class Pretended:
    """``nameless`` are names that nothing stands under when they are read: those of migrations and
    sinks, and of the other members of a component, which are made empty. ``managed`` materialized
    views get a new table whenever they are computed."""

    def __init__(self) -> None:
        self.held: dict[ObjectName, Held] = {}
        self.nameless: set[ObjectName] = set()
        self.managed = True

    def run(self, operation: Operation, graph: Graph) -> None:
        """Do what an operation says; ``graph`` has the dependencies of the repository as it is now."""
        reads, sql = graph.depends_on, operation.sql
        if operation.phase != "teardown":
            for target in _needed(operation, graph):
                if target not in self.held and target not in self.nameless:
                    raise Refused(f"{operation.id}: there is no {target}")
        if operation.action == "fixpoint":
            self._fixpoint(operation, reads)
        elif operation.action in ("load", "refresh") or operation.kind in ("migration", "sink"):
            self._compute(operation, reads)
        elif match := _STATEMENT.match(sql):
            verb, replacing, noun, _, rest = match.groups()
            if noun == "INDEX":
                self._index(operation, verb, rest)
            elif verb == "CREATE":
                self._create(operation, noun, bool(replacing), reads)
            else:
                self._there(operation, noun)
                self._change(operation, verb, rest, reads)
        else:
            held = self._there(operation, "TABLE")
            held.ran.append(operation.hash)
            held.content = self._seen(operation.object, reads)

    def _there(self, operation: Operation, noun: str) -> Held:
        held = self.held.get(operation.object)
        if held is None or (held.noun != noun and not (noun == "VIEW" and held.noun == "MATERIALIZED VIEW")):
            raise Refused(f"{operation.id}: it is {held and held.noun}, not {noun}")
        return held

    def _create(self, operation: Operation, noun: str, replacing: bool, reads: Reads) -> None:
        name = operation.object
        old = self.held.get(name)
        anew = operation.action == "create"
        if old is not None and (anew or old.noun != noun or not (replacing or noun == "MATERIALIZED VIEW")):
            raise Refused(f"{operation.id}: there is one already")
        if old is None and not anew:
            raise Refused(f"{operation.id}: there is nothing to replace")
        self.held[name] = held = Held(noun, operation.hash)
        if old and noun == "MATERIALIZED VIEW":
            held.comment = old.comment  # its data is swapped, it is not made again
            held.indexes = {} if self.managed else old.indexes
        if operation.kind == "table":
            held.columns = frozenset(_COLUMN.findall(operation.sql))
            held.text = ""  # a table is what its columns are, whatever became of it
            if operation.change is not None:
                held.ran.append(operation.hash)
        held.content = self._seen(name, reads)

    def _change(self, operation: Operation, verb: str, rest: str, reads: Reads) -> None:
        held = self.held[operation.object]
        if verb == "DROP":
            del self.held[operation.object]
        elif verb == "COMMENT ON" or "'comment'" in rest:
            held.comment = "" if rest.endswith(("NULL", "IS ''")) or "UNSET" in rest else rest[-8:]
        elif held.noun == "VIEW":
            assert view_text(f"CREATE VIEW {rest}") is not None
            held.text = operation.hash
        elif "DROP COLUMN" in rest:
            held.columns -= {*_COLUMN.findall(rest)}
        else:
            held.columns |= {*_COLUMN.findall(rest)}
        if operation.object in self.held:
            held.content = self._seen(operation.object, reads)

    def _index(self, operation: Operation, verb: str, rest: str) -> None:
        held = self.held.get(operation.object)
        made, _, _ = rest.strip().replace("`", "").partition(" ")
        if held is None:
            raise Refused(f"{operation.id}: there is no table")
        if (verb == "CREATE") == (operation.index in held.indexes):
            raise Refused(f"{operation.id}: {made} of {held.indexes}")
        assert operation.index is not None
        if verb == "CREATE":
            held.indexes[operation.index] = made
        elif held.indexes.pop(operation.index) != made:
            raise Refused(f"{operation.id}: there is no {made}")

    def _compute(self, operation: Operation, reads: Reads) -> None:
        name = operation.object
        if operation.kind in ("migration", "sink"):
            return
        held = self._there(operation, "TABLE" if operation.kind == "data" else "MATERIALIZED VIEW")
        held.text = operation.hash
        held.content = self._seen(name, reads)
        if operation.kind == "materialized_view" and self.managed:
            held.indexes.clear()  # its rows are in a new table

    def _fixpoint(self, operation: Operation, reads: Reads) -> None:
        members = {effect.record.name for effect in operation.effects if isinstance(effect, PutObject)}
        if not members <= self.held.keys():
            raise Refused(f"{operation.id}: {members - self.held.keys()} is not there")
        outside = {target for name in members for target in reads[name]} - members
        content = combined_hash(operation.hash, *sorted(self._content(name, reads) for name in outside))
        for name in members:
            self.held[name].text = self.held[name].content = content
            self.held[name].indexes.clear()

    def _seen(self, name: ObjectName, reads: Reads) -> str:
        held = self.held[name]
        below = sorted(self._content(target, reads) for target in reads.get(name, ()) if target in self.held)
        return combined_hash(
            held.noun, held.text, *(below if held.noun != "TABLE" else (*sorted(held.columns), "", *held.ran))
        )

    def _content(self, name: ObjectName, reads: Reads) -> str:
        """What a query of it gives: a view and a function look at what they read at that time."""
        if name not in self.held:
            return ""
        stored = self.held[name].noun in ("TABLE", "MATERIALIZED VIEW")
        return self.held[name].content if stored else self._seen(name, reads)

    def shown(self) -> dict[ObjectName, tuple[object, ...]]:
        """Everything that can be compared between two catalogs."""
        return {
            name: (one.noun, one.text, one.comment, tuple(sorted(one.indexes.items())), one.content)
            for name, one in sorted(self.held.items())
        }

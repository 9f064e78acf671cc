"""What a repository holds, as values: objects, their changes, statements and indexes.

Every kind has the same shape: an object is a sequence of changes, a change a sequence of
statements. A view is an object with one unnamed change of one statement; nothing after
this module needs to treat it apart.

They are tuples with names, because a plan makes some for every object, and one of 10,000 objects
would spend most of its time making anything else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from .diagnostics import NOWHERE, Place
from .names import Node, ObjectName
from .squash import Inner

Kind = Literal["table", "migration", "view", "function", "materialized_view", "sink", "data"]
Lifecycle = Literal["managed", "protected", "external"]
Action = Literal["drop", "create", "replace", "alter", "run", "refresh", "fixpoint", "index", "load"]

KINDS: tuple[Kind, ...] = (
    "table",
    "migration",
    "view",
    "function",
    "materialized_view",
    "sink",
    "data",
)


class References(NamedTuple):
    """Names that a statement mentions, as written and case-folded, before they are resolved.

    ``tables`` are read or written, ``calls`` are functions, ``words`` are all dotted words of
    a statement that could not be parsed: only those that name a known object count.
    """

    tables: tuple[tuple[str, ...], ...] = ()
    calls: tuple[tuple[str, ...], ...] = ()
    words: tuple[tuple[str, ...], ...] = ()


class Statement(NamedTuple):
    """One statement of the author's, without the ``;``. ``parsed`` says whether its
    references come from a syntax tree or from a scan for known names. ``query`` is where the
    query of a CREATE VIEW begins, if swapping it is enough to replace the view: not where a
    list of columns comes before it."""

    sql: str
    line: int
    hash: str
    action: Action
    references: References = References()
    destructive: bool = False
    parsed: bool = True
    query: int = 0


DEPENDENCY_RULES: Final = ("dependencies", "includeDependencies", "excludeDependencies")


class DependencyRules(NamedTuple):
    """What headers say about dependencies; ``replace`` is None where discovery stands. ``places`` are
    where the three are written: on the CHANGE, on METADATA, or for the folder."""

    replace: tuple[str, ...] | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    places: tuple[Place, ...] = (NOWHERE,) * len(DEPENDENCY_RULES)

    def place(self, attribute: str) -> Place:
        """The file and the line of one of ``DEPENDENCY_RULES``."""
        return self.places[DEPENDENCY_RULES.index(attribute)]


class Change(NamedTuple):
    """A unit of deployment: a CHANGE section, or the whole body of a kind without them.

    ``squashed`` says of those in ``baselines`` that stand for others themselves, for which."""

    name: str
    line: int
    hash: str
    statements: tuple[Statement, ...]
    rollback: tuple[str, ...] = ()
    compute: str | None = None
    dependencies: DependencyRules = DependencyRules()
    baselines: tuple[str, ...] = ()
    inactive: bool = False
    drops_table: bool = False
    squashed: Inner = ()


class Index(NamedTuple):
    """An INDEX section: hashed and rebuilt apart from its object."""

    name: str
    line: int
    sql: str
    hash: str
    compute: str | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column; ``type`` is in the canonical spelling of ``tabledef.canonical_type``."""

    name: str
    type: str
    nullable: bool = True
    comment: str = ""


@dataclass(frozen=True, slots=True)
class TableDef:
    """What a CREATE statement declares and a catalog can be asked about."""

    columns: tuple[Column, ...] = ()
    provider: str = ""
    partitioning: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    comment: str = ""


def columns_beyond(one: TableDef | None, other: TableDef | None) -> set[str]:
    """The names of columns that one definition has and another has not, in lower case; none where either is not known."""
    if one is None or other is None:
        return set()
    return {column.name.casefold() for column in one.columns} - {
        column.name.casefold() for column in other.columns
    }


class Outlines(NamedTuple):
    """What every plan looks at of every object, one field of all of them after the other: of 10,000 objects
    that is read without a step for each. The rest is read when somebody asks for the object. ``plain`` are
    all but sinks, replacements, and those that name a compute or have an index."""

    names: Sequence[ObjectName] = ()
    kinds: Sequence[Kind] = ()
    change_names: Sequence[tuple[str, ...]] = ()
    digests: Sequence[str] = ()
    needs: Sequence[bytes] = ()
    plain: Sequence[bool] = ()


class ObjectDef(NamedTuple):
    """One object of the repository, as one environment sees it.

    ``physical`` is the name that SQL uses, spelled as the author did, with the catalog first
    where the environment names one. ``definition`` is set for declarative tables, data, and
    for materialized views that declare columns. ``digest`` is equal for objects between
    which a diff finds nothing; ``needs`` for those that refer to the same, by the same rules.
    """

    name: ObjectName
    kind: Kind
    path: str
    line: int
    physical: tuple[str, ...]
    changes: Sequence[Change]
    indexes: tuple[Index, ...] = ()
    definition: TableDef | None = None
    tags: tuple[str, ...] = ()
    compute: str | None = None
    replacement: bool = False
    lifecycle: Lifecycle = "managed"
    schedule: str | None = None
    keys: tuple[str, ...] = ()
    comment: str | None = None
    inactive: bool = False
    dropped: bool = False
    change_names: tuple[str, ...] = ()
    computes: tuple[str, ...] = ()
    digest: str = ""
    needs: bytes = b""

    @property
    def scripted(self) -> bool:
        """Its statements are run once each, in order: CHANGE sections."""
        return self.kind == "migration" or (self.kind == "table" and self.definition is None)

    @property
    def body(self) -> Change:
        """The only change of a kind without CHANGE sections."""
        return self.changes[0]

    def nodes(self) -> Iterator[Node]:
        for change in self.changes:
            yield Node(*self.name, change.name)

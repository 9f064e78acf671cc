"""A query with holes: each reference to a member of a cycle is a slot that any relation can fill.

Semi-naive evaluation asks for the same query many times, with one reference after the other
replaced by the rows that are new. What is run stays the author's text: a syntax tree only says
where the references stand, and the text is cut there. CTEs are inlined, because one that is
used twice holds two references. No name can be captured by that: no WITH is left, but for a
recursive CTE, which is taken along whole to each place that uses it.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from .diagnostics import SparkDeployError, problem
from .lexer import LexError, lex
from .names import ObjectName, display
from .statement import is_identifier, name_at, unquoted

MemberOf = Callable[[tuple[str, ...]], ObjectName | None]


@dataclass(frozen=True, slots=True)
class Slot:
    """A place where a member is read, and the name that its columns may be qualified with."""

    member: ObjectName
    alias: str


_Piece = str | Slot
# With one of these at the top level, a query is more than the union of its branches.
_WHOLE = frozenset(
    ["intersect", "except", "minus", "order", "sort", "cluster", "distribute", "limit", "offset", "window"]
)


@dataclass(frozen=True, slots=True)
class Template:
    """The author's text, cut at its slots."""

    pieces: tuple[_Piece, ...]
    branches: tuple[Template, ...] = ()
    """The queries that the top level unites, where it does nothing else. Together they give the
    rows of the whole, but perhaps of other types: UNION finds a common one."""

    @property
    def slots(self) -> tuple[ObjectName, ...]:
        """The member that each slot reads, in the order of the text."""
        return tuple(piece.member for piece in self.pieces if isinstance(piece, Slot))

    def render(self, relations: Sequence[str]) -> str:
        """The query, with each slot filled by a relation: a table's name, or a query in brackets.

        The brackets around it keep an alias of the author's in force, and the old name where
        there is none.
        """
        filled = iter(relations)
        text = "".join(
            piece if isinstance(piece, str) else f"({next(filled)} AS {piece.alias})" for piece in self.pieces
        )
        assert next(filled, None) is None, "more relations than slots"
        return text


@dataclass(frozen=True, slots=True)
class _Cte:
    """Where a CTE's columns and body stand. Bodies are without their brackets."""

    name: str
    columns: str
    begin: int
    end: int
    recursive: bool


@dataclass(frozen=True, slots=True)
class _Edit:
    """The text from ``begin`` to ``end`` gives way to ``content``, or to nothing."""

    begin: int
    end: int
    content: _Cte | Slot | None = None


def template(query: str, member_of: MemberOf) -> Template:
    """Cut a query at its references to members.

    ``member_of`` gets the case-folded parts of a name as written, and gives the member that it
    means. Raises ``SparkDeployError`` where it is not certain what the text says.
    """
    return _Cutter(query, member_of).template()


class _Cutter:
    def __init__(self, query: str, member_of: MemberOf) -> None:
        self.query = query
        self.member_of = member_of
        self.tree = _parse(query)
        self.lexemes = lex(query)
        self.ctes: dict[int, _Cte] = {}
        self.seen: set[int] = set()  # where the names that were understood as tables begin
        self.outside: list[tuple[int, str]] = []  # unqualified tables that stay as they are
        self.columns: list[exp.Column] = []
        self.edits: list[_Edit] = []

    def template(self) -> Template:
        for clause in self.tree.find_all(exp.With):
            self.clause(clause)
        plain: dict[str, set[ObjectName | None]] = {}
        # The names in a hint are aliases, and their positions are those in the hint alone.
        named = [
            node for node in self.tree.find_all(exp.Table, exp.Column) if not node.find_ancestor(exp.Hint)
        ]
        self.columns = [node for node in named if isinstance(node, exp.Column)]
        for node in named:
            if isinstance(node, exp.Table):
                self.table(node, plain)
        for column in self.columns:
            self.column(column, plain)
        self.check_unseen()
        self.edits.sort(key=lambda edit: (edit.begin, -edit.end))
        branches = [self.cut(begin, end) for begin, end in self.branches()]
        return Template(self.cut(0, len(self.query)).pieces, tuple(branches))

    def cut(self, begin: int, end: int) -> Template:
        return Template(tuple(_joined(self.expand(begin, end, ()))))

    def branches(self) -> list[tuple[int, int]]:
        """Where the queries that the top level unites begin and end."""
        lower = self.lexemes.lower
        clause = self.tree.args.get("with_")
        at = self.place(clause.expressions[0].args["alias"].this) if clause else 0
        begin = 0
        found: list[tuple[int, int]] = []
        while at < len(lower):
            if lower[at] == "(":
                at = self.bracket(at)
            elif lower[at] in _WHOLE:
                return []
            elif lower[at] == "union":
                found.append((begin, self.lexemes.starts[at]))
                at += lower[at + 1] in ("all", "distinct")
                if lower[at + 1] == "by":
                    return []
                begin = self.end(at)
            at += 1
        return [*found, (begin, len(self.query))] if found else []

    # Where things stand

    def place(self, name: exp.Expr) -> int:
        """The number of the lexeme that an identifier is."""
        start = name.meta.get("start")
        at = (
            bisect.bisect_left(self.lexemes.starts, start)
            if isinstance(start, int)
            else len(self.lexemes.starts)
        )
        if at == len(self.lexemes.starts) or self.lexemes.starts[at] != start:
            raise _unreadable(f"it is not certain where {name.name} stands in the text")
        return at

    def end(self, at: int) -> int:
        return self.lexemes.starts[at] + len(self.lexemes.texts[at])

    def bracket(self, at: int) -> int:
        """The number of the bracket that closes the one at a place."""
        depth = 0
        for position in range(at, len(self.lexemes.texts)):
            word = self.lexemes.texts[position]
            depth += (word == "(") - (word == ")")
            if depth == 0:
                return position
        raise _unreadable("a bracket is never closed")

    # What is cut

    def clause(self, clause: exp.With) -> None:
        """A WITH goes away; its bodies go to where they are used."""
        first = last = 0
        for number, cte in enumerate(clause.expressions):
            at = self.place(cte.args["alias"].this)
            if number == 0:
                first = at - 2 if self.lexemes.lower[at - 1] == "recursive" else at - 1
            name, columns = self.lexemes.texts[at], ""
            at += 1
            if cte.args["alias"].args.get("columns"):
                close = self.bracket(at)
                columns = self.query[self.lexemes.starts[at] : self.end(close)]
                at = close + 1
            at += self.lexemes.lower[at] == "as"
            if self.lexemes.texts[at] != "(":
                raise _unreadable(f"the body of the CTE {name} was not found")
            last = self.bracket(at)
            self.ctes[id(cte)] = _Cte(
                name, columns, self.end(at), self.lexemes.starts[last], _is_recursive(clause, cte)
            )
        if self.lexemes.lower[first] != "with":
            raise _unreadable("a WITH was not found")
        self.edits.append(_Edit(self.lexemes.starts[first], self.end(last)))

    def table(self, table: exp.Table, plain: dict[str, set[ObjectName | None]]) -> None:
        names = _names(table)
        if not names:
            if isinstance(table.this, exp.Func) and table.this.name.casefold() == "identifier":
                raise _unreadable(
                    "IDENTIFIER() may name a member of the cycle", "Write the name of the table."
                )
            return
        begin, end = self.place(names[0]), self.place(names[-1])
        self.seen.add(begin)
        content: _Cte | Slot | None = None
        if len(names) == 1 and (found := _cte_of(table)) is not None:
            cte, inside = found
            if inside:
                return
            content = self.ctes[id(cte)]
        else:
            member = self.member_of(_folded(names))
            if not table.alias:
                plain.setdefault(names[-1].name.casefold(), set()).add(member)
            if member is None:
                if len(names) == 1:
                    self.outside.append((self.lexemes.starts[begin], names[0].name.casefold()))
                return
            content = Slot(member, self.lexemes.texts[end])
        self.edits.append(_Edit(self.lexemes.starts[begin], self.end(end), content))

    def column(self, column: exp.Column, plain: dict[str, set[ObjectName | None]]) -> None:
        """``schema.member.column`` loses its schema: what fills the slot has only the last name."""
        names = [part for part in column.parts if isinstance(part, exp.Identifier)]
        for length in range(len(names) - (len(names) == len(column.parts)), 1, -1):
            prefix = names[:length]
            member = self.member_of(_folded(prefix))
            same = plain.get(prefix[-1].name.casefold(), set())
            if member is None or member not in same:
                continue
            if len(same) > 1:
                raise _unreadable(
                    f"{display(_folded(prefix))} and another table of this name are read without an alias",
                    "Give each of them an alias, and qualify the columns with it.",
                )
            begin, end = self.place(prefix[0]), self.place(prefix[-1])
            self.edits.append(_Edit(self.lexemes.starts[begin], self.lexemes.starts[end]))
            return

    def check_unseen(self) -> None:
        """A member where a table stands, and where the tree has none (``TABLE m``): never missed silently."""
        texts, lower = self.lexemes.texts, self.lexemes.lower
        columns = {self.place(column.parts[0]) for column in self.columns if _names(column)}
        for at, word in enumerate(texts):
            before = lower[at - 1] if at else ""
            argument = before == "(" and lower[at - 2 : at - 1] in (["table"], ["stream"])
            if not (before in ("from", "join", "table", "stream") or argument) or not is_identifier(word):
                continue
            if at in self.seen or (at in columns and before in ("from", "join")):
                continue
            parts, end = name_at(texts, at)
            if texts[end : end + 1] == ["("]:
                continue
            member = self.member_of(tuple(part.casefold() for part in parts))
            if member is not None:
                raise _unreadable(
                    f"{display(parts)}, a member of the cycle, is read in a way that is not understood",
                    f"Write SELECT * FROM {display(parts)}.",
                )

    def expand(self, begin: int, end: int, inside: tuple[_Cte, ...]) -> Iterator[_Piece]:
        """The text between two positions, with its edits made; ``inside`` are recursive CTEs."""
        for place, name in self.outside:
            if begin <= place < end and any(name == unquoted(cte.name).casefold() for cte in inside):
                raise _unreadable(f"{name} is a table in one place, and a recursive CTE around it in another")
        at = begin
        first = bisect.bisect_left(self.edits, begin, key=lambda edit: edit.begin)
        for edit in self.edits[first:]:
            if edit.begin >= end:
                break
            if edit.begin < at:  # in a WITH that was cut
                continue
            yield self.query[at : edit.begin]
            at = edit.end
            if isinstance(edit.content, Slot):
                yield edit.content
            elif edit.content is not None:
                yield from self.inline(edit.content, inside)
        yield self.query[at:end]

    def inline(self, cte: _Cte, inside: tuple[_Cte, ...]) -> Iterator[_Piece]:
        if not cte.recursive:
            yield "(("
            yield from self.expand(cte.begin, cte.end, inside)
            yield f") AS {cte.name}{cte.columns})"
            return
        yield f"((WITH RECURSIVE {cte.name}{cte.columns} AS ("
        yield from self.expand(cte.begin, cte.end, (*inside, cte))
        yield f") SELECT * FROM {cte.name}) AS {cte.name})"


def _parse(query: str) -> exp.Expr:
    try:
        tree = sqlglot.parse_one(query, dialect="spark")
        lex(query)
    except (SqlglotError, LexError, RecursionError, LookupError) as error:
        raise _unreadable(str(error).split("\n", 1)[0].rstrip(". ")) from error
    if not isinstance(tree, exp.Query | exp.Values):
        raise _unreadable("it is not a query")
    if any(word.token_type.name == "PIPE_GT" for word in sqlglot.tokenize(query, dialect="spark")):
        raise _unreadable("the steps of a pipe are not read in their order", "Write it as SELECT.")
    return tree


def _unreadable(reason: str, advice: str = "") -> SparkDeployError:
    return problem(
        "SD820", f"the query of a member of a cycle cannot be cut at its references: {reason}", advice=advice
    )


def _names(node: exp.Table | exp.Column) -> list[exp.Identifier]:
    """The parts of a name; empty for table functions and the like."""
    parts = node.parts
    return [] if any(not isinstance(part, exp.Identifier) for part in parts) else list(parts)  # type: ignore[arg-type]


def _folded(names: Sequence[exp.Identifier]) -> tuple[str, ...]:
    return tuple(name.name.casefold() for name in names)


def _joined(pieces: Iterator[_Piece]) -> Iterator[_Piece]:
    """Neighbouring pieces of text as one."""
    text = ""
    for piece in pieces:
        if isinstance(piece, str):
            text += piece
        else:
            yield text
            yield piece
            text = ""
    yield text


def _is_recursive(clause: exp.With, cte: exp.Expr) -> bool:
    return bool(clause.args.get("recursive")) and any(
        table.name.casefold() == cte.alias.casefold() and not table.db
        for table in cte.this.find_all(exp.Table)
    )


def _cte_of(table: exp.Table) -> tuple[exp.Expr, bool] | None:
    """The CTE that an unqualified name means, and whether it is read inside itself.

    A CTE is in sight of those after it and of the query that it belongs to.
    """
    name = table.name.casefold()
    child: Any = table
    parent: Any = table.parent
    inside: Any = None  # the CTE that we climbed out of, at the WITH above it
    while parent is not None:
        if isinstance(parent, exp.CTE):
            inside = parent
        clause = parent.args.get("with_")
        if clause is not None:
            found: tuple[exp.Expr, bool] | None = None
            for cte in clause.expressions:
                own = child is clause and cte is inside
                if cte.alias.casefold() == name and (not own or clause.args.get("recursive")):
                    found = cte, own
                if own:
                    break
            if found:
                return found
        child, parent = parent, parent.parent
    return None

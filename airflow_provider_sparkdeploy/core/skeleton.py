"""The tables of a plain query, read from what is left once its expressions are cut out.

What is left of most queries is little: WITH, SELECT, FROM, joins, set operations, brackets. Reading
just that takes a tenth of the time of a syntax tree, and no parser has to be imported for it.
Whatever is not surely understood is not guessed at: the caller has the whole query parsed.
"""

from __future__ import annotations

from .lexer import Lexemes
from .shrink import Cut, counts
from .statement import name_at

_SET_WORDS = frozenset({"union", "except", "intersect", "minus"})
_JOINS = frozenset(
    {"", "natural", "inner", "cross", "semi", "anti", "left semi", "left anti"}
    | {side + outer for side in ("left", "right", "full") for outer in ("", " outer")}
)
_JOIN_WORDS = frozenset(word for kind in _JOINS for word in kind.split())
_CLAUSES = frozenset(
    {"where", "group", "having", "qualify", "order", "sort", "cluster", "distribute", "limit", "offset"}
)
_END = ""
_AFTER_CLAUSE = _SET_WORDS | _CLAUSES
_AFTER_LIST = _AFTER_CLAUSE | {"from"}
_AFTER_SOURCE = _AFTER_CLAUSE | _JOIN_WORDS | {_END, ")", ",", "join", "on", "using"}
_QUERIES = frozenset({"select", "with"})
# A table may follow them, or something that is not read here.
_UNREAD = _QUERIES | {
    _END, "from", "join", "using", "table", "values", "lateral", "unnest", "identifier", "pivot", "unpivot",
    "tablesample", "into", "window", "insert", "update", "merge", "delete", "call", "stream", "|>",
}  # fmt: skip
_KEYWORDS = _UNREAD | _AFTER_SOURCE


class _Strange(Exception):
    """The query holds something that is not read here."""


def plain_tables(found: Lexemes, cuts: list[Cut]) -> set[tuple[str, ...]] | None:
    """Every table that a query names, but for the names of CTEs; None if it is not a plain one."""
    if found.lower[0] not in ("select", "with", "("):
        return None
    reader = _Reader(found, cuts)
    try:
        reader.query(frozenset())
        reader.expect(_END)
    except (_Strange, RecursionError):
        return None
    return reader.tables


class _Reader:
    def __init__(self, found: Lexemes, cuts: list[Cut]) -> None:
        self.tables: set[tuple[str, ...]] = set()
        self.texts: list[str] = []
        self.words: list[str] = []
        self.at = 0
        kept = 0
        for begin, end, instead in cuts:
            self._keep(found, kept, begin + (1 if instead else 0))
            kept = end
        self._keep(found, kept, len(found.texts))
        self.words += [_END, _END]

    def _keep(self, found: Lexemes, begin: int, end: int) -> None:
        self.texts += found.texts[begin:end]
        lower = found.lower
        self.words += [
            word if word not in _KEYWORDS or counts(lower, at) else "`"
            for at, word in enumerate(lower[begin:end], begin)
        ]

    def expect(self, word: str) -> None:
        if self.words[self.at] != word:
            raise _Strange
        self.at += 1

    def _accept(self, word: str) -> bool:
        found = self.words[self.at] == word
        self.at += found
        return found

    def query(self, ctes: frozenset[str]) -> None:
        """[WITH name AS (query), ...] select [UNION select ...]; ``ctes`` are those in sight."""
        if self._accept("with"):
            while True:
                name = self._identifier()
                self.expect("as")
                self._bracketed(ctes)
                ctes |= {name}
                if not self._accept(","):
                    break
        self._select(ctes)
        while self.words[self.at] in _SET_WORDS:
            self.at += 1
            if self.words[self.at] in ("all", "distinct"):
                self.at += 1
            self._select(ctes)

    def _bracketed(self, ctes: frozenset[str]) -> None:
        self.expect("(")
        self.query(ctes)
        self.expect(")")

    def _select(self, ctes: frozenset[str]) -> None:
        if self.words[self.at] == "(":
            self._bracketed(ctes)
        else:
            self.expect("select")
            self._expression(ctes, _AFTER_LIST)
            if self._accept("from"):
                self._sources(ctes)
        while self.words[self.at] in _CLAUSES:
            self.at += 1
            self._expression(ctes, _AFTER_CLAUSE)

    def _sources(self, ctes: frozenset[str]) -> None:
        self._source(ctes)
        while True:
            if self._accept(","):
                self._source(ctes)
                continue
            begin = self.at
            while self.words[self.at] in _JOIN_WORDS:
                self.at += 1
            kind = " ".join(self.words[begin : self.at])
            if kind.removeprefix("natural ") not in _JOINS or not self._accept("join"):
                if kind:
                    raise _Strange
                return
            self._source(ctes)
            self._condition(ctes)

    def _source(self, ctes: frozenset[str]) -> None:
        """A table or a query in brackets, and its alias."""
        if self.words[self.at] == "(":
            if self.words[self.at + 1] not in _QUERIES:
                raise _Strange
            self._bracketed(ctes)
        else:
            self._table(ctes)
        if self._accept("as") or self.words[self.at] not in _KEYWORDS:
            self._identifier()

    def _condition(self, ctes: frozenset[str]) -> None:
        if self._accept("on"):
            self._expression(ctes, _AFTER_SOURCE)
        elif self._accept("using"):
            self.expect("(")
            self._identifier()
            while self._accept(","):
                self._identifier()
            self.expect(")")

    def _table(self, ctes: frozenset[str]) -> None:
        begin = self.at
        if self.words[begin] in _KEYWORDS or self.words[begin] == "as":
            raise _Strange
        parts, self.at = name_at(self.texts, begin)
        if not parts or any(
            text[0].isdigit() or text[0] == "." != text for text in self.texts[begin : self.at]
        ):
            raise _Strange
        folded = tuple(part.casefold() for part in parts)
        if len(folded) > 1 or folded[0] not in ctes:
            self.tables.add(folded)

    def _identifier(self) -> str:
        parts, end = name_at(self.texts, self.at)
        if len(parts) != 1 or end != self.at + 1 or self.words[self.at] in _KEYWORDS:
            raise _Strange
        self.at = end
        return parts[0].casefold()

    def _expression(self, ctes: frozenset[str], ends: frozenset[str]) -> None:
        """Anything up to one of ``ends`` outside all brackets, or to a bracket that closes more."""
        depth = 0
        while True:
            word = self.words[self.at]
            if depth == 0 and (word in ends or word == ")" or word == _END):
                return
            if word in _UNREAD:
                raise _Strange
            if word == "(" and self.words[self.at + 1] in _QUERIES:
                self._bracketed(ctes)
                continue
            if word in "()":
                depth += 1 if word == "(" else -1
            self.at += 1

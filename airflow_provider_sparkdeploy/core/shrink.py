"""A query without the expressions that cannot name a table, for a parser that looks for tables.

Select lists, conditions and sort keys are most of a query's text, and without a subquery
inside they refer to columns only. Cutting them out before parsing makes finding references
several times faster. What is cut holds none of the words that can introduce a table, so
nothing is lost; and where the rest does not parse, the caller parses the whole.
"""

from __future__ import annotations

from typing import NamedTuple

from .lexer import Lexemes

# Whatever stands behind one of these may be a table.
_TABLE_WORDS = frozenset(
    {"select", "from", "join", "table", "into", "insert", "update", "merge", "using", "with", "values"}
    | {"lateral", "pivot", "unpivot", "call", "identifier", "delete"}
)
_SET_WORDS = frozenset({"union", "except", "intersect", "minus", "|>"})
_TAIL_WORDS = frozenset(
    {"having", "order", "limit", "offset", "qualify", "sort", "cluster", "distribute", "lateral", "insert"}
)
_AFTER_SELECT = _SET_WORDS | _TAIL_WORDS | {"from", "where", "group"}
_AFTER_CONDITION = _SET_WORDS | _TAIL_WORDS | {"group", "window", "select"}
_JOIN_WORDS = frozenset(
    {"join", "left", "right", "full", "inner", "cross", "anti", "semi", "natural", "on", "using", ","}
)
_AFTER_ON = _AFTER_CONDITION | _JOIN_WORDS | {"where", "tablesample", "pivot", "unpivot"}
# Where a segment begins, where it ends, and what takes its place.
_SEGMENTS = {
    "select": (_AFTER_SELECT, "SELECT 1"),
    "where": (_AFTER_CONDITION, ""),
    "having": (_AFTER_CONDITION, ""),
    "qualify": (_AFTER_CONDITION, ""),
    "on": (_AFTER_ON, ""),
    "group": (_AFTER_CONDITION, ""),
    "order": (_AFTER_CONDITION, ""),
}
_KEYS = _TABLE_WORDS | _AFTER_ON | _AFTER_SELECT | _SEGMENTS.keys() | {"(", ")"}
_MARKS = frozenset({"(", ")", ",", "|>"})  # never a name
_CALLED = frozenset({"left", "right", "window", "insert"})  # also functions or operators


class Cut(NamedTuple):
    """The lexemes from ``begin`` up to ``end`` cannot name a table; ``instead`` takes their place."""

    begin: int
    end: int
    instead: str


def find_cuts(found: Lexemes) -> list[Cut]:
    """What can be cut out of a statement, from left to right."""
    lower = found.lower
    if lower[0] == "merge":  # ON means more in a MERGE
        return []
    keys = [
        position
        for position, word in enumerate(lower)
        if word in _KEYS and (word in _MARKS or counts(lower, position))
    ]
    cuts: list[Cut] = []
    at = 0
    while at < len(keys):
        begin = keys[at]
        segment = _SEGMENTS.get(lower[begin])
        at += 1
        if segment is None:
            continue
        end, after, plain = _segment_end(lower, keys, at, segment[0])
        if plain and end > begin + 1:
            cuts.append(Cut(begin, end, segment[1]))
            at = after
    return cuts


def shrink(text: str, found: Lexemes, cuts: list[Cut]) -> str:
    """The text of a statement without what is cut out of it."""
    starts, (kept, last) = found.starts, found.span
    pieces: list[str] = []
    for cut in cuts:
        pieces += (text[kept : starts[cut.begin]], cut.instead, " ")
        kept = starts[cut.end] if cut.end < len(starts) else last
    return "".join([*pieces, text[kept:last]])


def counts(lower: list[str], position: int) -> bool:
    """Whether a word is the keyword: not a part of a dotted name, nor IS DISTINCT FROM."""
    word = lower[position]
    if word in _MARKS:
        return True
    previous = lower[position - 1] if position else ""
    following = lower[position + 1] if position + 1 < len(lower) else ""
    if previous == "." or following == ".":
        return False
    if following == "(" and word in _CALLED:
        return False
    return not (word == "from" and previous == "distinct" and lower[position - 2] in ("is", "not"))


def _segment_end(lower: list[str], keys: list[int], at: int, ends: frozenset[str]) -> tuple[int, int, bool]:
    """Where a segment ends, the key at which to go on, and whether it names no table."""
    depth = 0
    plain = True
    for number in range(at, len(keys)):
        word = lower[keys[number]]
        if word == "(":
            depth += 1
        elif word == ")":
            if depth == 0:
                return keys[number], number, plain
            depth -= 1
        elif depth == 0 and word in ends:
            return keys[number], number, plain
        elif word in _TABLE_WORDS:
            plain = False
    return len(lower), len(keys), plain

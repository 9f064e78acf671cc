"""Spark's spellings that sqlglot misreads, in words that it understands; never run by Spark.

Names and reading positions stay what they are, so the references of the text do too.
"""

from __future__ import annotations

from itertools import compress, count

from .cursor import unescape
from .lexer import Lexemes, lex, token
from .names import parse_name, quote

_CLAUSES = frozenset({"order", "group", "sort", "cluster", "distribute"})  # names where no BY follows
# Phrases that say nothing about tables, by their last fixed word: where each begins before that
# word and ends behind it.
_PHRASES = {
    "evolution": (("with", "schema"), 1),  # MERGE WITH SCHEMA EVOLUTION
    "level": (("max", "recursion"), 2),  # WITH RECURSIVE t MAX RECURSION LEVEL 10 AS
    "exists": ((")", "if", "not"), 1),  # INSERT OVERWRITE t PARTITION (p = 1) IF NOT EXISTS
}
_ODD = _CLAUSES | _PHRASES.keys() | {"/*+", ":", "table", "stream", "identifier", "begin", "end"}
_SET_WORDS = frozenset({"union", "except", "intersect", "minus"})
# A query may stand behind these, and TABLE is one there.
_BEFORE_QUERY = _SET_WORDS | {"", "(", "as", "all", "distinct", "=>", ","}
# Behind an alias named ``table``, where it would otherwise look like the name of one.
_AFTER_ALIAS = _SET_WORDS | {"from", "where", "group", "order", "having", "limit", "lateral", "as"}

_Edit = tuple[int, int, str]  # the lexemes from, up to, and what takes their place


def respell(text: str, found: Lexemes) -> tuple[str, Lexemes]:
    """The statement as sqlglot reads it right; unchanged where it does already."""
    edits: list[_Edit] = []
    for at in compress(count(), map(_ODD.__contains__, found.lower)):
        word = found.lower[at]
        if word == "table":
            edits += _table(found, at)
        elif (edit := _edit(found, at, word)) is not None:
            edits.append(edit)
    if not edits:
        return text, found
    edits.sort()
    pieces: list[str] = []
    kept = found.starts[0]
    for begin, end, replacement in edits:
        if found.starts[begin] < kept:  # inside of one that was replaced already
            continue
        pieces += (text[kept : found.starts[begin]], replacement)
        kept = found.starts[end] if end < len(found.starts) else found.span[1]
    text = "".join([*pieces, text[kept : found.span[1]]])
    return text, lex(text)


def _edit(found: Lexemes, at: int, word: str) -> _Edit | None:
    lower = found.lower
    before = lower[at - 1] if at else ""
    after = lower[at + 1] if at + 1 < len(lower) else ""
    if word == "/*+":
        return _hint(lower, at)
    if before == ".":
        return None
    if word in _PHRASES:
        return _phrase(lower, at, *_PHRASES[word])
    if word in _CLAUSES:
        return None if after == "by" or before == "within" else (at, at + 1, f"`{word}` ")
    if word == ":":
        return _variant_path(found, at, after)
    if word == "begin" or (word == "end" and "case" not in lower):
        return at, at + 1, f"`{word}` "
    if word == "stream" and before in ("from", "join", ",") and _is_name(after):
        return at, at + 1, ""
    if word == "identifier":
        return _identifier(found, at)
    return None


def _is_name(word: str) -> bool:
    return word != "" and (word[0] in "`_(" or word[0].isalnum())


def _phrase(lower: list[str], at: int, before: tuple[str, ...], length: int) -> _Edit | None:
    if tuple(lower[max(at - len(before), 0) : at]) != before:
        return None
    kept = before[0] == ")"
    return at - len(before) + kept, at + length, " "


def _hint(lower: list[str], at: int) -> _Edit | None:
    for end in range(at + 1, len(lower) - 1):
        if lower[end] == "*" and lower[end + 1] == "/":
            return at, end + 2, " "
    return None


def _variant_path(found: Lexemes, at: int, after: str) -> _Edit | None:
    """``v:a.b`` is ``v.a.b``, and ``v:[0]`` is ``v[0]``; a parameter ``:a`` stands behind a blank."""
    if (
        at == 0
        or "struct" in found.lower
        or found.starts[at - 1] + len(found.texts[at - 1]) < found.starts[at]
    ):
        return None
    if after == "[":
        return at, at + 1, ""
    return (at, at + 1, ".") if _is_name(after) else None


def _table(found: Lexemes, at: int) -> list[_Edit]:
    """``TABLE t`` is a query, and ``TABLE(t)`` an argument."""
    texts, lower = found.texts, found.lower
    before = lower[at - 1] if at else ""
    after = lower[at + 1] if at + 1 < len(lower) else ""
    if before not in _BEFORE_QUERY or not _is_name(after) or after in _AFTER_ALIAS:
        return []
    bracket = after == "("
    end = at + 2 if bracket else at + 1
    if lower[end : end + 1] and lower[end] in ("select", "with", "values", "table", "from", "("):
        if not bracket or before == "as":
            return []
        parted = _partitioning(found, _closing(lower, at + 1) + 1)
        return [(at, at + 1, "(SELECT * FROM " if parted else ""), *parted]
    begin = end
    end += 1
    while end < len(texts) and texts[end][0] == ".":
        end += 2 if texts[end] == "." else 1
    if bracket and texts[end : end + 1] != [")"]:
        return []
    parted = _partitioning(found, end + bracket)
    name = "".join(texts[begin:end])
    return [(at, end + bracket, f"(SELECT * FROM {name} " + ("" if parted else ") ")), *parted]


def _partitioning(found: Lexemes, at: int) -> list[_Edit]:
    """``PARTITION BY a ORDER BY b`` behind a table argument, as clauses of the query that it becomes:
    what they name are columns, and the bracket of the query is closed behind them."""
    lower = found.lower
    words = lower[at : at + 3]
    if words == ["with", "single", "partition"]:
        edits, kept = [(at, at + 3, " ")], at + 3
    elif words[:2] in (["partition", "by"], ["distribute", "by"]):
        edits, kept = [(at, at + 1, "DISTRIBUTE ")], at + 2
    else:
        return []
    depth = 0
    for end in range(kept, len(lower)):
        word = lower[end]
        if depth == 0 and word in (")", ","):
            return [*edits, (end, end, ")")]
        depth += {"(": 1, ")": -1}.get(word, 0)
        if depth == 1 and word == "(" and lower[end - 1] == "by" and lower[end - 2] in ("order", "sort"):
            close = _closing(lower, end)
            if lower[close + 1 : close + 2] in ([")"], [","]):  # around all of the list, which is none of SQL
                edits += [(end, end + 1, " "), (close, close + 1, " ")]
    return []


def _closing(lower: list[str], at: int) -> int:
    """Where the bracket closes that opens at a position; the end of the text where it does not."""
    depth = 0
    for end in range(at, len(lower)):
        depth += {"(": 1, ")": -1}.get(lower[end], 0)
        if depth == 0:
            return end
    return len(lower)


def _identifier(found: Lexemes, at: int) -> _Edit | None:
    """``IDENTIFIER('s.t')`` is the name in the literal, also where several are put together."""
    if found.lower[at + 1 : at + 2] != ["("]:
        return None
    folded = _constant(found, at + 2)
    if folded is None or found.lower[folded[1] : folded[1] + 1] != [")"]:
        return None
    parts = parse_name(folded[0])
    return (at, folded[1] + 1, f"{quote(parts)} ") if parts else None


def _constant(found: Lexemes, at: int) -> tuple[str, int] | None:
    """The text that literals make from a position on, by ``||``, ``concat`` or side by side, and where
    that ends; None for any other expression."""
    texts, lower = found.texts, found.lower
    text = ""
    while True:
        begin = at
        while at < len(texts) and texts[at][-1] in "'\"":
            text += unescape(token(texts[at], 0))
            at += 1
        if at == begin:
            called = lower[at : at + 2] == ["concat", "("]
            at += called
            if lower[at : at + 1] != ["("]:
                return None
            while True:
                part = _constant(found, at + 1)
                if part is None:
                    return None
                text, at = text + part[0], part[1]
                if not called or lower[at : at + 1] != [","]:
                    break
            if lower[at : at + 1] != [")"]:
                return None
            at += 1
        if lower[at : at + 1] != ["||"]:
            return text, at
        at += 1

"""Where a statement ends: at its ``;``, or at the one behind the END of a script.

A script is a grammar of its own around ordinary statements. Its words (BEGIN, IF, CASE, END, ...)
mean something only where a statement of the script may start; an ordinary statement is passed
over up to its ``;``. So columns may be named like them, as Spark allows.
"""

from __future__ import annotations

_OPENERS = frozenset({"begin", "if", "case", "while", "for", "loop", "repeat"})
_CONDITIONS = frozenset({"if", "elseif", "case", "when"})  # up to THEN
_HEADERS = frozenset({"while", "for"})  # up to DO
_ROUTINES = frozenset({"function", "procedure"})


def statement_end(words: list[str], begin: int) -> int | None:
    """The position of the ``;`` that ends the statement, or of the end; None for an open script."""
    at = _body(words, begin)
    if at is None:
        return semicolon(words, begin)
    end = _script_end(words, at)
    if end is None and "function" in words[begin:at]:
        return semicolon(words, begin)  # it was a column of that name
    return end


def _script_end(words: list[str], at: int) -> int | None:
    """The same for a script whose BEGIN, or the label before it, is known."""
    depth = 0
    while at < len(words):
        if words[at + 1 : at + 2] == [":"]:  # a label
            at += 2
            continue
        word = words[at]
        if word == "end":
            depth -= 1
            at = semicolon(words, at)
            if depth == 0:
                return at
            at += 1
            continue
        if word in _OPENERS:
            depth += 1
        if word == "begin":
            at += 3 if words[at + 1 : at + 3] == ["not", "atomic"] else 1
        elif word in _CONDITIONS:
            at = _then(words, at)
        elif word in _HEADERS:
            at = _do(words, at)
        elif word == "until":
            at = _until(words, at)
        elif word in ("else", "loop", "repeat"):
            at += 1
        elif word == "declare" and words[at + 2 : at + 4] == ["handler", "for"]:
            at = _handled(words, at + 4)
        else:
            at = semicolon(words, at) + 1
    return None


def _body(words: list[str], begin: int) -> int | None:
    """Where the BEGIN of the statement stands; None for a statement that is no script."""
    if words[begin] == "begin" or words[begin + 1 : begin + 3] == [":", "begin"]:
        return begin
    if words[begin] == "create" and not _ROUTINES.isdisjoint(words[begin + 1 : begin + 5]):
        depth = 0
        for at in range(begin, semicolon(words, begin)):
            depth += {"(": 1, ")": -1}.get(words[at], 0)
            if words[at] == "begin" and depth == 0:
                return at
    return None


def semicolon(words: list[str], at: int) -> int:
    """The position of the next ``;``, or of the end."""
    try:
        return words.index(";", at)
    except ValueError:
        return len(words)


def _then(words: list[str], at: int) -> int:
    """Behind the THEN of a condition; a CASE in it has a THEN for each of its WHENs."""
    inner = -1 if words[at] in ("case", "when") else 0
    for place in range(at, len(words)):
        if words[place] == "when":
            inner += 1
        elif words[place] == "then":
            if inner == 0:
                return place + 1
            inner -= 1
    return len(words)


def _do(words: list[str], at: int) -> int:
    """Behind the DO of a loop."""
    depth = 0
    for place in range(at + 1, len(words)):
        word = words[place]
        if word in ("(", ")"):
            depth += 1 if word == "(" else -1
        elif word == "do" and depth == 0 and words[place - 1] != ".":
            return place + 1
    return len(words)


def _until(words: list[str], at: int) -> int:
    """At the END REPEAT behind the condition of a REPEAT."""
    for place in range(at + 1, len(words) - 1):
        if words[place] == "end" and words[place + 1] == "repeat":
            return place
    return len(words)


def _handled(words: list[str], at: int) -> int:
    """Behind the conditions of a handler, where its statement starts."""
    while at < len(words):
        if words[at] == "sqlstate":
            at += 3 if words[at + 1 : at + 2] == ["value"] else 2
        elif words[at : at + 2] == ["not", "found"]:
            at += 2
        else:
            at += 1
            while words[at : at + 1] == ["."]:
                at += 2
        if words[at : at + 1] != [","]:
            break
        at += 1
    return at

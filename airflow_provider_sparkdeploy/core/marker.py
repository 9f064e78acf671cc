"""The mark that a deployment leaves on what it makes, in the statement that makes it."""

from __future__ import annotations

from .lexer import Lexemes, lex
from .names import quote_literal
from .statement import Head, name_at, read_head

MARKER = "sparkdeploy.hash"


def marked(sql: str, digest: str) -> str:
    """A CREATE TABLE that also puts ``digest`` on the table; any other statement as it is."""
    found = lex(sql)
    head = read_head(found)
    if head.verb != "create" or head.noun != "table":
        return sql
    entry = f"{quote_literal(MARKER)} = {quote_literal(digest)}"
    present = _properties(found, head)
    if present is None:
        at = _end(found, _clauses(found, head) - 1)
        return f"{sql[:at]} TBLPROPERTIES ({entry}){sql[at:]}"
    at = _end(found, present)
    comma = "" if found.texts[present + 1] == ")" else ", "
    return f"{sql[:at]}{entry}{comma}{sql[at:]}"


def _properties(found: Lexemes, head: Head) -> int | None:
    """The bracket that opens the properties which the author wrote."""
    depth = 0
    for position in range(head.after, len(found.lower) - 1):
        word = found.lower[position]
        if word == "(":
            depth += 1
        elif word == ")":
            depth -= 1
        elif depth == 0 and word == "tblproperties" and found.texts[position + 1] == "(":
            return position + 1
    return None


def _clauses(found: Lexemes, head: Head) -> int:
    """Where the clauses of a CREATE TABLE begin: behind its name, columns and provider.

    They may stand in any order there, and the query, with or without AS, comes behind them.
    """
    lower = found.lower
    position = head.after
    if lower[position : position + 1] == ["like"]:
        return len(lower)
    if lower[position : position + 1] == ["("]:
        depth = 0
        while position < len(lower):
            depth += {"(": 1, ")": -1}.get(lower[position], 0)
            position += 1
            if depth == 0:
                break
    if lower[position : position + 1] == ["using"]:
        position = name_at(found.texts, position + 1)[1]
    return position


def _end(found: Lexemes, position: int) -> int:
    return found.starts[position] + len(found.texts[position])

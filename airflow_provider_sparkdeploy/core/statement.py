"""What a statement is, read from its first lexemes, and the few places where text is spliced.

The author's text is what Spark executes. The only splices are OR REPLACE, one TBLPROPERTIES
entry, and the query after AS; each is done at token level, never by regenerating SQL.
"""

from __future__ import annotations

from dataclasses import dataclass

from .lexer import Lexemes, lex
from .names import quote
from .objects import Action, Kind

_CREATE_NOISE = frozenset(
    {
        "or",
        "replace",
        "external",
        "temporary",
        "temp",
        "global",
        "materialized",
        "unique",
        "streaming",
        "refresh",
    }
)
_CREATED = frozenset(
    {"table", "view", "function", "index", "schema", "database", "namespace", "procedure", "catalog"}
)


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a statement. ``noun`` is what it creates, alters or drops, ``name`` the
    folded parts of its name, ``after`` the position in the lexemes behind the name."""

    verb: str
    noun: str = ""
    words: frozenset[str] = frozenset()
    name: tuple[str, ...] = ()
    name_at: int = 0
    after: int = 0


def unquoted(lexeme: str) -> str:
    """An identifier without its back quotes."""
    return lexeme[1:-1].replace("``", "`") if lexeme[0] == "`" else lexeme


def is_identifier(lexeme: str) -> bool:
    return lexeme[0] == "`" or lexeme[0] == "_" or lexeme[0].isalnum()


def name_at(texts: list[str], position: int) -> tuple[tuple[str, ...], int]:
    """The parts of the dotted name at a position, as written, and where it ends.

    ``sales.2020`` lexes as a word and the number ``.2020``: both are parts.
    """
    if position >= len(texts) or not is_identifier(texts[position]):
        return (), position
    parts = [unquoted(texts[position])]
    position += 1
    while position < len(texts):
        word = texts[position]
        if word == "." and position + 1 < len(texts) and is_identifier(texts[position + 1]):
            parts.append(unquoted(texts[position + 1]))
            position += 2
        elif word[0] == "." and len(word) > 1:
            parts.append(word[1:])
            position += 1
        else:
            break
    return tuple(parts), position


def name_start(texts: list[str], end: int) -> int:
    """Where the dotted name that ends before a position begins; ``end`` if there is none."""
    start = end
    while start:
        word = texts[start - 1]
        if word[0] == "." and len(word) > 1:  # the part itself, with its dot
            start -= 1
        elif is_identifier(word):
            start -= 1
            if start and texts[start - 1] == ".":
                start -= 1
            else:
                break
        else:
            break
    return start


def read_head(found: Lexemes) -> Head:
    """The verb, and for CREATE, REPLACE, ALTER and DROP also what and which."""
    lower = found.lower
    verb = lower[0]
    if verb not in ("create", "replace", "alter", "drop"):
        return Head(verb)
    position, words = 1, set()
    while position < len(lower) and lower[position] in _CREATE_NOISE:
        words.add(lower[position])
        position += 1
    if position >= len(lower) or (noun := lower[position]) not in _CREATED:
        return Head(verb, words=frozenset(words))
    position += 1
    for guard in (["if", "not", "exists"], ["if", "exists"]):  # either word alone is a name
        if lower[position : position + len(guard)] == guard:
            words.update(guard)
            position += len(guard)
            break
    parts, after = name_at(found.texts, position)
    return Head(verb, noun, frozenset(words), parts, position, after)


def action_of(head: Head, kind: Kind) -> Action:
    """The action that runs a statement of a file of this kind."""
    if kind not in ("migration", "sink"):
        if head.verb == "create" and head.noun == "index":
            return "index"
        if head.noun in ("table", "view", "function") and head.verb in ("create", "alter", "drop"):
            return head.verb  # type: ignore[return-value]
    return "run"


def is_destructive(head: Head, found: Lexemes) -> bool:
    """Whether running the statement loses data that is not in the repository."""
    if head.verb == "truncate":
        return True
    if head.verb == "drop":
        return head.noun in ("table", "schema", "database", "namespace", "catalog")
    if head.verb in ("create", "replace"):
        return head.noun == "table" and "replace" in (head.verb, *head.words)
    if head.verb == "alter" and head.noun == "table":
        after = found.lower[head.after : head.after + 2]
        if after[:1] == ["drop"]:
            return after[1:] in (["column"], ["columns"], ["partition"], ["if"])
        return after == ["replace", "columns"]
    return False


def index_name(sql: str) -> str:
    """The name that a CREATE INDEX gives, as it is written; empty where it gives none."""
    found = lex(sql)
    head = read_head(found)
    return head.name[-1] if head.noun == "index" and head.name else ""


def query_at(found: Lexemes, head: Head) -> int | None:
    """The position of the query of a CREATE: behind the AS outside all brackets."""
    return _behind("as", found, head)


def swappable_query(found: Lexemes, head: Head) -> int:
    """Where in the statement's text the query of a CREATE VIEW without columns begins, or 0."""
    if head.verb != "create" or head.noun != "view" or found.texts[head.after : head.after + 1] == ["("]:
        return 0
    start = query_at(found, head)
    return found.starts[start] - found.starts[0] if start is not None and start < len(found.texts) else 0


@dataclass(frozen=True, slots=True)
class ViewText:
    """A CREATE VIEW taken apart: what stands before AS, and the query behind it."""

    header: tuple[str, ...]
    query: str
    columns: bool


def view_text(sql: str) -> ViewText | None:
    """The parts of a CREATE [MATERIALIZED] VIEW; None when there is no query."""
    found = lex(sql)
    head = read_head(found)
    start = query_at(found, head)
    if start is None or start >= len(found.texts):
        return None
    between = slice(head.after, start - 1)
    pairs = zip(found.texts[between], found.lower[between], strict=True)
    header = tuple(lower if text[0].isalnum() else text for text, lower in pairs)
    return ViewText(header, sql[found.starts[start] : found.span[1]], header[:1] == ("(",))


def view_columns(header: tuple[str, ...]) -> tuple[str, ...]:
    """The names that the header of a view lists, folded; none where it has no list that can be read."""
    found: list[str] = []
    depth = 0
    for before, word, after in zip(("", *header), header, (*header[1:], ""), strict=False):
        depth += {"(": 1, ")": -1}.get(word, 0)
        if depth == 0:
            break
        if depth == 1 and before in ("(", ","):
            if not is_identifier(word) or after not in (",", ")", "comment"):
                return ()
            found.append(unquoted(word).casefold())
    return tuple(found)


def or_replace(sql: str) -> str:
    """The statement with OR REPLACE behind CREATE, and without IF NOT EXISTS."""
    found = lex(sql)
    head = read_head(found)
    if "exists" in head.words:
        sql = sql[: found.starts[head.name_at - 3]] + sql[found.starts[head.name_at] :]
    if "replace" in head.words:
        return sql
    end = found.starts[0] + len("create")
    return f"{sql[:end]} OR REPLACE{sql[end:]}"


def alter_view(physical: tuple[str, ...], query: str) -> str:
    """Swap the query of a view in one metastore call."""
    return f"ALTER VIEW {quote(physical)} AS\n{query}"


def with_query(sql: str, query: str) -> str:
    """A CREATE VIEW with another query behind its AS."""
    found = lex(sql)
    start = query_at(found, read_head(found))
    assert start is not None, "it was read as a view"
    return sql[: found.starts[start]] + query


def statement_text(text: str, found: Lexemes) -> str:
    start, end = found.span
    return text[start:end]


def body_at(found: Lexemes, head: Head) -> int | None:
    """The position of what a SQL function returns: behind the RETURN outside all brackets."""
    return _behind("return", found, head)


def function_body(sql: str) -> str | None:
    """What a SQL function returns: the text behind RETURN."""
    found = lex(sql)
    start = body_at(found, read_head(found))
    return None if start is None or start >= len(found.texts) else sql[found.starts[start] : found.span[1]]


def _behind(wanted: str, found: Lexemes, head: Head) -> int | None:
    if wanted not in found.lower:
        return None
    depth = 0
    for position in range(head.after, len(found.lower)):
        word = found.lower[position]
        if word == "(":
            depth += 1
        elif word == ")":
            depth -= 1
        elif depth == 0 and word == wanted:
            return position + 1
    return None

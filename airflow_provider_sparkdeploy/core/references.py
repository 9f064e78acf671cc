"""The names that a statement mentions: from its syntax tree, or by a scan where it has none.

sqlglot is imported only when a statement has to be parsed. Those that cannot read anything but
their target (CREATE TABLE with columns, ALTER TABLE ADD COLUMNS) never are, and plain queries are
read by their skeleton, to the same result.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from .cursor import unescape
from .lexer import Lexemes, lex, token
from .objects import References
from .respell import respell
from .shrink import find_cuts, shrink
from .skeleton import plain_tables
from .spark_builtins import BUILTINS
from .statement import Head, body_at, is_identifier, name_at, name_start, query_at, read_head, statement_text

if TYPE_CHECKING:
    from sqlglot import exp

# A text without any of these reads no table.
_READERS = frozenset({"select", "from", "join", "table", "into", "update", "merge"})
# Words before a bracket that are no call of a function of the repository.
_NEVER_CALLED = frozenset(
    {"as", "by", "from", "join", "on", "over", "select", "using", "values", "where", "with", "all"}
)
# Behind these words a name with a bracket is a list of columns, not a call.
_BEFORE_COLUMNS = frozenset({"as", "with", "recursive", "into", "table", "overwrite", "references"})
# Between a comma, FROM or JOIN and a call; any other word there is a table, and no call its alias.
_BEFORE_CALL = frozenset({"case", "not", "interval", "lateral", "distinct", "all", "stream"})
_NO_QUOTES = str.maketrans(dict.fromkeys("'\"", " "))
_WRITERS = frozenset({"Insert", "Update", "Delete", "Merge"})
_QUERY_WORDS = frozenset({"select", "with", "from", "values", "table", "("})


def find_references(text: str, found: Lexemes, head: Head) -> tuple[References, bool]:
    """The references of one statement, and whether they come from a syntax tree."""
    if head.verb == "begin" or head.noun == "procedure":
        return References((), _calls(found, head), _words(found.texts, head.name_at)), False
    respelled, lexemes = respell(text, found)
    if lexemes is not found:
        text, found, head = respelled, lexemes, read_head(lexemes)
    calls = _calls(found, head)
    named: set[tuple[str, ...]] = set()
    start: int | None = 0
    if head.verb in ("alter", "drop") and found.lower[head.name_at : head.after + 1] == ["identifier", "("]:
        return References((), calls, _words(found.texts, head.name_at)), False
    if head.name:
        named, start = _named(found, head)
        if head.noun == "function" and head.verb == "drop":
            return References((), (_fold(head.name),)), True
    query = found.slice(start, len(found.texts)) if start is not None else None
    if head.noun == "view" and query is not None and query.texts and query.texts[0][0] == "$":
        return References(tuple(sorted(named)), calls, _words(_metric_view(query.texts[0]))), False
    if query is None or (head.name and _READERS.isdisjoint(query.lower)):
        return References(tuple(sorted(named)), calls), True
    tables = _query_tables(text, query, "SELECT " if head.noun == "function" else "")
    if tables is not None:
        return References(tuple(sorted(named | tables)), calls), True
    return References((), calls, _words(found.texts, head.name_at)), False


def _named(found: Lexemes, head: Head) -> tuple[set[tuple[str, ...]], int | None]:
    """The tables that a CREATE, ALTER or DROP names outside its query, and where that begins.

    Its clauses are few and read by position, so columns may be named by any keyword.
    """
    lower, texts = found.lower, found.texts
    start = None
    if head.noun in ("table", "view") and head.verb != "drop":
        start = query_at(found, head)
    elif head.noun == "function" and head.verb == "create":
        start = body_at(found, head)
    places: list[int] = []
    if head.verb in ("alter", "drop") and head.noun in ("table", "view"):
        places.append(head.name_at)
    if head.noun == "index":
        places += [at + 1 for at in range(head.after, len(lower)) if lower[at] == "on"][:1]
        places = [at + (lower[at : at + 1] == ["table"]) for at in places]
    elif head.noun == "table":
        after = lower[head.after : head.after + 2]
        if after[:1] == ["like"] or after[:1] == ["clone"]:
            places.append(head.after + 1)
        elif after[1:] == ["clone"]:
            places.append(head.after + 2)
        clauses = lower[: start or len(lower)]
        if "references" in clauses or "with" in clauses:
            pairs = enumerate(pairwise(clauses))
            places += [at + 2 for at, (before, word) in pairs if _names_next(before, word)]
    return {_fold(parts) for at in places if (parts := name_at(texts, at)[0])}, start


def _metric_view(literal: str) -> list[str]:
    """The lexemes of a metric view, which is YAML in dollar quotes: its sources are among them."""
    text = unescape(token(literal, 0))
    return lex(text.translate(_NO_QUOTES).replace("/*", "  ")).texts


def _names_next(before: str, word: str) -> bool:
    """Whether a table's name follows: a foreign key's, or that of a partition exchange."""
    if word == "references":
        return before not in ("(", ",", ".")  # where it is a column
    return word == "table" and before == "with"


def _query_tables(text: str, found: Lexemes, prefix: str) -> set[tuple[str, ...]] | None:
    """The tables that a statement reads, by its skeleton or its syntax tree; None where it has
    neither. ``prefix`` makes a query of an expression."""
    if not found.texts:
        return None
    if found.lower[0] in _QUERY_WORDS:
        prefix = ""
    cuts = find_cuts(found)
    tables = plain_tables(found, cuts)
    if tables is not None:
        return tables
    smaller = shrink(text, found, cuts) if cuts else None
    tree = None if smaller is None else parse_tree(prefix + smaller)
    if tree is None:
        tree = parse_tree(prefix + statement_text(text, found))
    return None if tree is None else _tables(tree)


def _fold(parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.casefold() for part in parts)


@cache
def spark_dialect() -> Any:
    """sqlglot's Spark, made once; it would warn about every statement that it keeps opaque."""
    import logging

    from sqlglot.dialects.dialect import Dialect

    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    return Dialect.get_or_raise("spark")


def parse_tree(sql: str) -> exp.Expr | None:
    """The syntax tree, or None for what sqlglot does not understand or keeps opaque."""
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        trees = spark_dialect().parse(sql)
    except (SqlglotError, RecursionError):
        return None
    tree = trees[0] if len(trees) == 1 else None
    return None if tree is None or isinstance(tree, exp.Command) else tree


def _tables(tree: exp.Expr) -> set[tuple[str, ...]] | None:
    """Every table that the tree names, but for the names of CTEs; None where one has its name from an
    expression."""
    from sqlglot import exp

    found: set[tuple[str, ...]] = set()
    for table in tree.find_all(exp.Table):
        if table.this.name.casefold() == "identifier" and _is_computed(table):
            return None
        parts = _parts(table)
        if parts and not (len(parts) == 1 and _is_cte(table, parts[0])):
            found.add(parts)
    return found


def _is_computed(table: exp.Table) -> bool:
    """Whether IDENTIFIER is no table's name here, but stands before an expression."""
    from sqlglot import exp

    above = table.parent
    listed = above.expressions if isinstance(above, exp.Schema) else []  # INSERT INTO IDENTIFIER(...)
    return isinstance(table.this, exp.Func) or not all(isinstance(item, exp.Identifier) for item in listed)


def _parts(table: exp.Table) -> tuple[str, ...]:
    """The folded parts of a table's name; empty for table functions and the like."""
    from sqlglot import exp

    parts: list[str] = []
    for part in table.parts:
        if not isinstance(part, exp.Identifier):
            return ()
        parts.append(str(part.this).casefold())
    return tuple(parts)


def _is_cte(table: exp.Table, name: str) -> bool:
    """Whether an unqualified name means a CTE that is visible where it stands.

    A CTE is visible to those after it and to the query it belongs to; inside itself only
    when it is recursive. What a statement writes to is never one.
    """
    child: Any = table
    parent = table.parent
    if parent is not None and type(parent).__name__ in _WRITERS and parent.this is table:
        return False
    inside: Any = None  # the CTE that we climbed out of, at the WITH above it
    while parent is not None:
        kind = type(parent).__name__
        if kind == "CTE":
            inside = parent
        clause = parent.args.get("with_")
        if clause is not None:
            recursive = clause.args.get("recursive")
            for cte in clause.expressions:
                if child is clause and cte is inside:
                    if recursive and cte.alias.casefold() == name:
                        return True
                    break
                if cte.alias.casefold() == name:
                    return True
        child, parent = parent, parent.parent
    return False


def _calls(found: Lexemes, head: Head) -> tuple[tuple[str, ...], ...]:
    """Names that are called like functions; Spark's own are left out unless qualified."""
    texts, lower = found.texts, found.lower
    names: set[tuple[str, ...]] = set()
    at = -1
    for _ in range(lower.count("(")):
        at = lower.index("(", at + 1)
        if at == 0 or (lower[at - 1] in BUILTINS and texts[at - 2] != "."):  # most calls, and quickly
            continue
        start = name_start(texts, at)
        parts, end = name_at(texts, start)
        if not parts or end != at or start == head.name_at or _is_column_list(lower, start, at):
            continue
        if len(parts) > 1 or (lower[start] not in _NEVER_CALLED and parts[0].lower() not in BUILTINS):
            names.add(_fold(parts))
    return tuple(sorted(names))


def _is_column_list(lower: list[str], start: int, bracket: int) -> bool:
    """Whether a name before a bracket is what an alias, a CTE or a target is called."""
    before = lower[start - 1] if start else ""
    if before in _BEFORE_COLUMNS or before == ")":
        return True
    if is_identifier(before or " ") and before not in _BEFORE_CALL:
        table = name_start(lower, start)
        if table and lower[table - 1] in ("from", "join", ","):
            return True
    return before == "," and _is_cte_head(lower, bracket)


def _is_cte_head(lower: list[str], bracket: int) -> bool:
    """Whether ``AS (query`` follows behind the bracket."""
    try:
        end = lower.index(")", bracket)
    except ValueError:
        return False
    return lower[end + 1 : end + 3] == ["as", "("] and not _QUERY_WORDS.isdisjoint(lower[end + 3 : end + 4])


def _words(texts: list[str], own: int = -1) -> tuple[tuple[str, ...], ...]:
    """All dotted words but for the own name, for a comparison with the names that exist."""
    found: set[tuple[str, ...]] = set()
    position = 0
    while position < len(texts):
        parts, end = name_at(texts, position)
        if parts and position != own:
            found.add(_fold(parts))
        position = max(end, position + 1)
    return tuple(sorted(found))

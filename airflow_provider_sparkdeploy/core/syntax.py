"""A second reader for queries: where sqlglot stumbles, Spark mostly does, too.

A plan does not need it: most queries are read by their skeleton, which looks at no expression.
"""

from __future__ import annotations

from .lexer import lex
from .references import spark_dialect
from .respell import respell
from .statement import query_at, read_head


def stumble(sql: str) -> tuple[int, str] | None:
    """The word in the query of a view at which a parser stops, and on which line of the statement."""
    from sqlglot.errors import ParseError, SqlglotError

    sql, found = respell(sql, lex(sql))
    start = query_at(found, read_head(found))
    if start is None or start >= len(found.texts) or found.texts[start][0] == "$":
        return None
    begin, end = found.starts[start], found.span[1]
    try:
        spark_dialect().parse(sql[begin:end])
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        return sql.count("\n", 0, begin) + int(first.get("line") or 1), str(first.get("highlight") or "")
    except (SqlglotError, RecursionError):
        return None
    return None

"""Whether a materialized view is a set of rows that can be compared, and says of what columns.

A fixpoint has converged when a pass adds no row *by content*. So no row may occur twice, every
column must be comparable, and the columns must be declared with their types, because the
members of a cycle are created empty before any of them can be computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from .spark_builtins import GENERATORS

_INCOMPARABLE = {exp.DType.MAP: "MAP", exp.DType.VARIANT: "VARIANT"}


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something about the whole statement, with the way out where there is one."""

    operator: str
    reason: str
    advice: str = ""
    position: int = 0


def undeclared(create: exp.Create) -> Iterator[Flaw]:
    """Columns that are missing, have no type (both ``columns``), or cannot be compared."""
    schema = create.this
    declared = schema.expressions if isinstance(schema, exp.Schema) else []
    columns = [column for column in declared if isinstance(column, exp.ColumnDef | exp.Identifier)]
    untyped = [column.name for column in columns if not column.args.get("kind")]
    advice = (
        "Write them with their types after the name: CREATE MATERIALIZED VIEW name (a INT, b STRING) AS ..."
    )
    purpose = "the members of a cycle are created empty from their columns"
    if not columns:
        yield Flaw("columns", f"No columns are declared, and {purpose}.", advice)
    elif untyped:
        yield Flaw("columns", f"No type is declared for {', '.join(untyped)}, and {purpose}.", advice)
    for column in columns:
        kind = column.args.get("kind")
        held = {part.this for part in kind.find_all(exp.DataType)} if kind else set()
        for dtype, name in _INCOMPARABLE.items():
            if dtype in held:
                yield Flaw(
                    f"{name} column",
                    f"Column {column.name} holds a {name}: Spark cannot tell whether two of these are equal, "
                    "so it cannot tell whether a row is new.",
                    "Declare an ARRAY of STRUCT instead."
                    if name == "MAP"
                    else "Declare the text or the fields.",
                    position(column),
                )


def bag(query: exp.Expr) -> Flaw | None:
    """Why a query may give the same row twice, judged by its top level alone; None for a set."""
    while isinstance(query, exp.Subquery):
        query = query.this
    if isinstance(query, exp.SetOperation):
        if query.args.get("distinct"):
            return None
        name = query.key.upper()
        return Flaw(
            f"{name} ALL",
            f"{name} ALL keeps the same row twice, and a member of a cycle must be a set.",
            f"Use {name}.",
            position(query),
        )
    distinct, group = query.args.get("distinct"), query.args.get("group")
    if distinct and not distinct.args.get("on"):
        return None
    if isinstance(query, exp.Select) and group:
        return _grouped(query, group)
    return Flaw(
        "SELECT without DISTINCT" if isinstance(query, exp.Select) else query.key.upper(),
        "The result may hold the same row twice, and a member of a cycle must be a set.",
        "Write SELECT DISTINCT, or combine the parts by UNION.",
        position(query),
    )


def position(node: exp.Expr) -> int:
    """Where the first word of a node that has a place stands in the text."""
    starts = (found.meta.get("start") for found in node.walk())
    return min((start for start in starts if isinstance(start, int)), default=0)


def _grouped(select: exp.Select, group: exp.Expr) -> Flaw | None:
    """GROUP BY gives a set when the result shows all keys, each group as one row."""
    items = [item.unalias() for item in select.expressions]
    if any(_makes_rows(item) for item in items):
        return Flaw(
            "GROUP BY",
            "A function in the SELECT list makes several rows of one group, and they may be equal.",
            "Write SELECT DISTINCT.",
            position(group),
        )
    if group.args.get("all"):
        return None
    keys = [_by_position(key, items) for part in group.expressions for key in _parts(part)]
    for number, key in enumerate(keys):
        if not _selected(key, keys[:number] + keys[number + 1 :], select):
            return Flaw(
                "GROUP BY",
                f"The key {key.sql('spark')} of GROUP BY is not certain to be in the SELECT list, so two "
                "groups may give the same row.",
                "Select all keys, spelled as in GROUP BY, or write SELECT DISTINCT.",
                position(key),
            )
    return None


def _parts(key: exp.Expr) -> Iterator[exp.Expr]:
    """``(a, b)`` groups by both."""
    if isinstance(key, exp.Tuple):
        for part in key.expressions:
            yield from _parts(part)
    elif isinstance(key, exp.Paren):
        yield from _parts(key.this)
    else:
        yield key


def _by_position(key: exp.Expr, items: list[exp.Expr]) -> exp.Expr:
    """``GROUP BY 1`` is its item, which a star in the list makes uncertain."""
    if isinstance(key, exp.Literal) and key.is_int:
        number = int(key.name)
        if 1 <= number <= len(items) and not any(item.is_star for item in items):
            return items[number - 1]
    return key


def _selected(key: exp.Expr, others: list[exp.Expr], select: exp.Select) -> bool:
    items = select.expressions
    if any(_same(key, item.unalias(), select) for item in items):
        return True
    if not isinstance(key, exp.Column):
        return False
    if any(isinstance(item, exp.Star) and not any(item.args.values()) for item in items):
        return True
    # The alias of an item. A column of that name would come first, and there is no catalog to
    # ask; but then Spark would refuse the item, unless it is made of the keys alone: of the others,
    # or of that column itself, as in SELECT abs(x) AS x ... GROUP BY x.
    known = {column.name.casefold() for other in others for column in other.find_all(exp.Column)}
    return not key.table and any(
        isinstance(item, exp.Alias)
        and item.alias.casefold() == key.name.casefold()
        and any(column.name.casefold() not in known for column in item.find_all(exp.Column))
        and key.name.casefold() not in _reads(item, items[:number], select)
        for number, item in enumerate(items)
    )


def _reads(item: exp.Expr, before: list[exp.Expr], select: exp.Select) -> set[str]:
    """The columns that an item is made of, also through the aliases of items before it."""
    tables = {source.alias_or_name.casefold() for source in _sources(select)}
    found: set[str] = set()
    for column in item.find_all(exp.Column):
        names = {part.name.casefold() for part in column.parts}
        found |= names - (tables if len(column.parts) > 1 else set()) | {column.name.casefold()}
    for number in range(len(before) - 1, -1, -1):
        if before[number].alias.casefold() in found:
            found |= _reads(before[number], before[:number], select)
    return found


def _same(key: exp.Expr, item: exp.Expr, select: exp.Select) -> bool:
    one, two = _folded(key), _folded(item)
    if one == two:
        return True
    if not (isinstance(one, exp.Column) and isinstance(two, exp.Column)) or one.name != two.name:
        return False
    # ``a`` and ``t.a``: one column, if t is a table (not a struct) and no join has merged two.
    joins = select.args.get("joins") or []
    merged = any(join.args.get("using") or join.args.get("method") for join in joins)
    qualifiers = {column.table for column in (one, two) if len(column.parts) == 2}
    tables = {source.alias_or_name.casefold() for source in _sources(select)}
    return not merged and len(one.parts) + len(two.parts) == 3 and qualifiers <= tables


def _sources(select: exp.Select) -> Iterator[exp.Expr]:
    start = select.args.get("from_")
    for node in [start, *(select.args.get("joins") or [])]:
        if node:
            yield node.this


def _folded(node: exp.Expr) -> exp.Expr:
    """The same expression with the spelling of names taken away."""
    folded = node.copy()
    while isinstance(folded, exp.Paren):
        folded = folded.this
    for name in list(folded.find_all(exp.Identifier)):
        name.set("this", name.name.casefold())
        name.set("quoted", False)
    return folded


def _makes_rows(item: exp.Expr) -> bool:
    return any(
        isinstance(node, exp.UDTF) or (isinstance(node, exp.Anonymous) and node.name.casefold() in GENERATORS)
        for node in item.walk(prune=lambda node: isinstance(node, exp.Query))
    )

"""What each operator of a query does to its inputs, when one of them gets more rows.

An operator that can take rows back leaves a ``Taint`` on that input. Functions from nodes of
the syntax tree to taints; the walk in ``polarity`` decides where they belong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from .spark_builtins import AGGREGATES, BUILTINS, NONDETERMINISTIC, OF_DATES, WINDOW_FUNCTIONS


@dataclass(frozen=True, slots=True)
class Taint:
    """An operator that is not monotone in what stands below it; ``{}`` is the member.

    ``via`` are the CTEs between the operator and the reference.
    """

    operator: str
    reason: str
    advice: str = ""
    via: tuple[str, ...] = ()


Taints = tuple[Taint, ...]

# What sqlglot shows as functions but is grammar in Spark, or is added by sqlglot.
_GRAMMAR = frozenset(
    {
        "cast_to_str_type",
        "decode_case",
        "json_extract",
        "str_position",
        "table",
        "time_str_to_time",
        "timestampadd",
        "timestampdiff",
        "try_cast",
        "ts_or_ds_to_date",
    }
)
# A function that Spark also takes without parentheses, where sqlglot sees a column.
_CLOCK_WORDS = frozenset({"current_time"})

# Texts that Spark reads as the clock where it makes a date or a timestamp of them; ``epoch`` is none.
_CLOCK_TEXTS = frozenset({"now", "today", "tomorrow", "yesterday"})
_DATES = (exp.DType.DATE, exp.DType.DATE32, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMPNTZ,
          exp.DType.TIMESTAMPTZ)  # fmt: skip
# Where a text stands beside other values, it is made what these are.
_BESIDE = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Add, exp.Sub,
           exp.Between, exp.In, exp.Case, exp.If, exp.Coalesce, exp.Nullif)  # fmt: skip

_JOIN_PARTS = frozenset({"this", "on", "side", "kind", "using", "method", "hint", "pivots"})
_JOIN_KINDS = frozenset({"", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"})
_TIME_TRAVEL = frozenset({"version", "when", "system_time"})

_FROM_OUTSIDE = "Compute it in a view or materialized view that reads the component from outside."
_APART = "Do it in a CTE, view or table that reads no member, and join the result."


def changes(operator: str, what: str = "", advice: str = _FROM_OUTSIDE) -> Taint:
    """An operator whose old results can become wrong."""
    shown = what or operator
    reason = f"A new row of {{}} can change what {shown} gave before, and rows would have to be taken back."
    return Taint(operator, reason, advice)


def removes(operator: str) -> Taint:
    """An operator that subtracts this input from the other."""
    reason = f"A new row of {{}} removes rows from the result of {operator}."
    return Taint(operator, reason, "Only tables outside the component may stand there.")


def unknown(operator: str) -> Taint:
    reason = f"It is not known whether {operator} only ever adds rows when {{}} gets more of them."
    return Taint(operator, reason, _FROM_OUTSIDE)


def unknown_parts(node: exp.Expr, judged: frozenset[str]) -> Iterator[Taint]:
    """Parts of a node that nothing here looks at."""
    for name, value in node.args.items():
        if value and name in _TIME_TRAVEL:
            yield unknown("time travel")
        elif value and name not in judged:
            yield unknown(f"{node.key.upper()} ... {name.strip('_').upper()}")


def limits(node: exp.Expr) -> Iterator[Taint]:
    """Parts that choose among rows."""
    limit = node.args.get("limit")
    if limit and not (isinstance(limit, exp.Limit) and limit.expression.name == "ALL"):
        yield changes("LIMIT")
    if node.args.get("offset"):
        yield changes("OFFSET")
    if node.args.get("sample"):
        yield changes("TABLESAMPLE")


def pivots(node: exp.Expr) -> Iterator[Taint]:
    """PIVOT aggregates; UNPIVOT only turns a row into rows."""
    if any(not pivot.args.get("unpivot") for pivot in node.args.get("pivots") or ()):
        yield changes("PIVOT")


def grouping(group: exp.Expr | None) -> Iterator[Taint]:
    """GROUP BY with keys alone is DISTINCT; the forms that also give totals are not."""
    if group is None:
        return
    for name, kind in (("ROLLUP", exp.Rollup), ("CUBE", exp.Cube), ("GROUPING SETS", exp.GroupingSets)):
        if any(isinstance(node, kind) for node in within(group)):
            yield changes(name)
    yield from unknown_parts(group, frozenset({"all", "expressions", "rollup", "cube", "grouping_sets"}))
    if any(isinstance(key, exp.Tuple) and not key.expressions for key in group.expressions):
        yield changes("GROUP BY ()")


def join(node: exp.Expr) -> tuple[Taints, Taints, Taints]:
    """What a join does to its left side, its right side, and to subqueries in ON."""
    kind, side, method = (str(node.args.get(key) or "").upper() for key in ("kind", "side", "method"))
    filters = kind in ("SEMI", "ANTI")
    odd = tuple(unknown_parts(node, _JOIN_PARTS))
    if (
        odd
        or method not in ("", "NATURAL")
        or kind not in _JOIN_KINDS
        or side not in ("", "LEFT", "RIGHT", "FULL")
        or (filters and side not in ("", "LEFT"))
        or (kind == "OUTER" and not side)
    ):
        strange = odd or (unknown(" ".join(word for word in (method, side, kind, "JOIN") if word)),)
        return strange, strange, strange
    if kind == "ANTI":
        anti = (removes("LEFT ANTI JOIN"),)
        return (), anti, anti
    if filters or not side:
        return (), (), ()
    name = f"{side} JOIN"
    reason = f"A new row of {{}} takes back the row that {name} filled up with NULL without it."
    outer = (Taint(name, reason, f"Use an inner JOIN. Or: {_FROM_OUTSIDE}"),)
    return (() if side == "LEFT" else outer), (() if side == "RIGHT" else outer), outer


def value(query: exp.Expr) -> Taint:
    """A query inside an expression, named by what makes a value of it."""
    above = query.parent
    if isinstance(above, exp.Exists):
        name = "EXISTS"
    elif isinstance(above, exp.In) and query.arg_key == "query":
        name = "IN"
    elif isinstance(above, exp.Any | exp.All):
        return unknown(f"{above.key.upper()} subquery")
    else:
        return changes("scalar subquery", "the scalar subquery")
    above = above.parent
    while isinstance(above, exp.Paren):
        above = above.parent
    if isinstance(above, exp.Not):
        return removes(f"NOT {name}")
    while above is not None and not isinstance(above, exp.Query | exp.Join | exp.Where):
        if isinstance(above, exp.Not):
            return removes("NOT")
        above = above.parent
    reason = f"{name} is a value here, and a new row of {{}} can turn false into true."
    return Taint(name, reason, "Put it into WHERE, or ON of an inner join, under AND and OR only.")


def within(root: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression: also the queries in it, but not what is inside these."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, exp.Query):
            stack.extend(node.iter_expressions(reverse=True))


def functions(roots: Iterable[exp.Expr], sql: str) -> Iterator[Taint]:
    """What the functions of one SELECT do to its input.

    A query in an expression, or a LATERAL one, may be computed for each row of the SELECT: it
    groups for itself, but must be as deterministic.
    """
    stack = [(root, False) for root in roots]
    while stack:
        node, inner = stack.pop()
        if isinstance(node, exp.Hint | exp.Pivot):  # a pivot has its own taint
            continue
        inner = inner or isinstance(node, exp.Query)
        yield from _function(node, called(node, sql), inner)
        if text := clock_text(node, sql):
            reason = f"'{text}' is the clock where it becomes a date or a timestamp, so the passes over {{}} never agree."
            yield Taint(
                f"non-deterministic '{text}'", reason, f"{_APART} A text is compared by LIKE '{text}'."
            )
        stack.extend((child, inner) for child in node.iter_expressions())


def _function(node: exp.Expr, name: str, inner: bool) -> Iterator[Taint]:
    shown = name.upper()
    if isinstance(node, exp.Column) and any(part.name.casefold() == "_metadata" for part in node.parts):
        reason = "_METADATA tells of the files that the rows of {} are in, and every pass writes others."
        yield Taint("non-deterministic _METADATA", reason, _APART)
    if isinstance(node, exp.QueryTransform):
        yield unknown("TRANSFORM")
    elif isinstance(node, exp.Window) or name in WINDOW_FUNCTIONS:
        if not inner:
            yield changes("window", "the window")
    elif name in AGGREGATES or (isinstance(node, exp.AggFunc) and "start" not in node.meta):
        if not inner and not _windowed(node):
            yield changes(f"aggregate {shown}", shown)
    elif name in NONDETERMINISTIC:
        reason = f"{shown} can give another value in every pass, so the passes over {{}} never agree."
        yield Taint(f"non-deterministic {shown}", reason, _APART)
    elif name and name not in BUILTINS and name not in _GRAMMAR:
        doubt = "it may be an aggregate, or give another value in every pass over {}."
        reason = f"{name} is no function of Spark's own: {doubt}"
        yield Taint(f"unknown function {name}", reason, f"Write its expression out. Or: {_APART}")


def called(node: exp.Expr, sql: str) -> str:
    """The function that a node calls, as the author wrote it; empty if it calls none.

    The tree has its own names for many functions, so the text is asked wherever the node knows
    its place in it.
    """
    if isinstance(node, exp.Identifier | exp.Literal | exp.Star):
        return ""
    if isinstance(node, exp.Column):
        word = node.name.casefold()
        return word if word in _CLOCK_WORDS and len(node.parts) == 1 else ""
    if isinstance(node, exp.Any):
        quantifier = isinstance(node.parent, exp.Like | exp.ILike) or isinstance(node.this, exp.Query)
        return "" if quantifier else "any"
    start = node.meta.get("start")
    if isinstance(start, int):
        name = sql[start : node.meta["end"] + 1].strip("`").casefold()
    elif isinstance(node, exp.Func):
        names = [name.casefold() for name in node.sql_names()]
        name = next((name for name in names if name in BUILTINS), names[0])
    else:
        return ""
    above = node.parent
    if isinstance(above, exp.Dot) and above.expression is node:
        return f"{above.this.sql('spark')}.{name}"
    if isinstance(above, exp.Table) and above.db:
        return f"{above.db}.{name}"
    return name


def clock_text(node: exp.Expr, sql: str) -> str:
    """The text that is the clock where this value may become a date, such as 'now'; empty for any other.

    Spark makes a date of a text in a cast, in a function of dates, and beside a date: in a
    comparison, or as another result of CASE. Beside texts alone it stays a text.
    """
    text = _constant(node).strip()
    if text.casefold() not in _CLOCK_TEXTS or _constant(node.parent):
        return ""
    above = node.parent
    while isinstance(above, exp.Paren | exp.Tuple):
        node, above = above, above.parent
    if isinstance(above, exp.Cast):
        dated = above.to.this in _DATES
    elif isinstance(above, exp.If) and isinstance(above.parent, exp.Case):
        dated = node is above.args["true"] and _beside(above.parent, node)
    elif isinstance(above, _BESIDE):
        dated = _beside(above, node)
    else:
        dated = isinstance(above, exp.TsOrDsToDate) or called(above, sql) in OF_DATES if above else False
    return text if dated else ""


def _beside(above: exp.Expr, node: exp.Expr) -> bool:
    """Whether anything beside a text may be a date."""
    if isinstance(above, exp.Case) and not above.this:
        values = [item.args.get("true") for item in above.args["ifs"]] + [above.args.get("default")]
    elif isinstance(above, exp.If):
        values = [above.args.get("true"), above.args.get("false")]
    else:
        values = list(above.iter_expressions())
    return any(
        value and value is not node and not _constant(value) and not isinstance(value, exp.Null)
        for value in values
    )


def _constant(node: exp.Expr | None) -> str:
    """The text that literals make, also several that are put together."""
    if isinstance(node, exp.Literal):
        return node.name if node.is_string else ""
    if isinstance(node, exp.Paren):
        return _constant(node.this)
    if isinstance(node, exp.DPipe | exp.Concat):
        parts = [_constant(part) for part in node.iter_expressions()]
        return "".join(parts) if all(parts) else ""
    return ""


def _windowed(node: exp.Expr) -> bool:
    above = node.parent
    while isinstance(above, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        node, above = above, above.parent
    return isinstance(above, exp.Window) and above.this is node

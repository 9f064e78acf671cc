"""Whether a cycle of materialized views has one answer: the polarity of every reference.

A cyclic component is evaluated from empty until no pass adds a row. That has one well-defined
result when each query is *monotone* in the members it reads: more rows in, never fewer rows
out. Polarity belongs to a reference, not to a query: ``a LEFT JOIN b`` is monotone in ``a``,
not in ``b``; and only references to members count, whatever is done to other tables.

The walk goes from the query down to its tables and carries what stands above them: each
operator that is not monotone in one of its inputs leaves a taint on the way to that input,
and only there. A member that is reached with taints is refused, once for each. A CTE is
judged wherever it is used, with the taints of that use. What is not known to be monotone is
taken as not monotone. Nothing here asks a catalog.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from . import taints as taint
from .setvalued import Flaw, bag, position, undeclared
from .spark_builtins import AGGREGATES
from .taints import Taint, Taints, called, within

Members = Callable[[tuple[str, ...]], str | None]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why one reference, or the whole query, cannot be part of a cycle.

    ``member`` is empty for the whole query. The operator ``columns`` (none declared, or
    without types) cannot be waived: members are created empty from them.
    """

    member: str
    operator: str
    reason: str
    advice: str
    position: int


@dataclass(frozen=True, slots=True)
class _Cte:
    """``query`` is None for the name that a recursive CTE has inside itself."""

    name: str
    query: exp.Expr | None
    env: Mapping[str, _Cte]
    recursive: bool = False


_Env = Mapping[str, _Cte]


@dataclass(slots=True)
class _Block:
    """The parts of one SELECT, collected before they are judged: what stands late in the
    text (a LIMIT) decides over what stands early (the tables)."""

    taints: list[Taint] = field(default_factory=list)
    sources: list[tuple[exp.Expr, _Env, Taints]] = field(default_factory=list)
    conditions: list[tuple[exp.Expr, Taints]] = field(default_factory=list)
    expressions: list[exp.Expr] = field(default_factory=list)
    calls: list[tuple[exp.Expr, Taints]] = field(default_factory=list)  # that make rows, in FROM


# The parts of a node that are known not to matter, or are judged; any other is refused.
_FROM = frozenset({"from_", "joins", "laterals", "pivots", "sample"})
_TAIL = frozenset({"with_", "distinct", "distribute", "sort", "cluster", "order", "limit", "offset"})
_SELECT = _FROM | _TAIL | {"hint", "expressions", "where", "group", "having", "qualify", "windows"}
_SET = _TAIL | {"this", "expression"}
_TABLE = _FROM | {"this", "db", "catalog", "alias"}
_SUBQUERY = _FROM | _TAIL | {"this", "alias"}
_VALUES = _TAIL | {"expressions", "alias", "pivots"}
# The parts that are walked as what they are; all others as expressions.
_WALKED = frozenset({"with_", "from_", "joins", "laterals", "where", "this", "expression", "on"})


def refusals(sql: str, members: Members) -> tuple[Refusal, ...]:
    """Everything that keeps this materialized view out of a cycle; empty when it may be in one.

    ``sql`` is the whole CREATE statement. ``members`` gets the case-folded parts of a table
    as written, and gives the name to show if it is a member of the component.
    """
    create = _parse(sql)
    if isinstance(create, Flaw):
        return (_refusal(create),)
    query = create.expression
    found = _Walk(sql, members).run(query)
    flaws = list(undeclared(create))
    double = bag(query)
    if double and not (found and (_one_row(query, sql) or any(r.operator == double.operator for r in found))):
        flaws.append(double)
    found += map(_refusal, flaws)
    return tuple(sorted(found, key=lambda r: (r.position, r.member, r.operator, r.reason)))


def _refusal(flaw: Flaw) -> Refusal:
    return Refusal("", flaw.operator, flaw.reason, flaw.advice, flaw.position)


def _parse(sql: str) -> exp.Create | Flaw:
    unread = "so it is not known how it depends on the other members."
    try:
        tree = sqlglot.parse_one(sql, dialect="spark")
        words = sqlglot.tokenize(sql, dialect="spark") if "|>" in sql else []
    except (SqlglotError, RecursionError, LookupError) as error:
        cause = str(error).split("\n", 1)[0].rstrip(". ")
        return Flaw("unparsed", f"The statement cannot be read ({cause}), {unread}")
    for word in words:
        # sqlglot folds the steps of a pipe into one SELECT, where LIMIT and DISTINCT come last.
        if word.token_type.name == "PIPE_GT":
            reason = f"The steps of a pipe are not read in their order, {unread}"
            return Flaw("|>", reason, "Write it as SELECT.", word.start)
    if not isinstance(tree, exp.Create) or not isinstance(tree.expression, exp.Query | exp.Values):
        return Flaw("unparsed", f"The statement is not read as CREATE ... AS query, {unread}")
    return tree


def _one_row(query: exp.Expr, sql: str) -> bool:
    """An aggregate without GROUP BY: refused for that, not for rows that occur twice."""
    select = query.unnest() if isinstance(query, exp.Subquery) else query
    return (
        isinstance(select, exp.Select)
        and not select.args.get("group")
        and any(called(node, sql) in AGGREGATES for item in select.expressions for node in within(item))
    )


class _Walk:
    """A worklist of queries and tables, each with the CTEs in sight and the taints above it."""

    def __init__(self, sql: str, members: Members) -> None:
        self.sql = sql
        self.members = members
        self.found: dict[tuple[str, str, int], Refusal] = {}
        self.todo: list[tuple[exp.Expr, _Env, Taints]] = []
        self.seen: set[tuple[int, Taints]] = set()

    def run(self, query: exp.Expr) -> list[Refusal]:
        self.push(query, {}, ())
        while self.todo:
            node, env, above = self.todo.pop()
            if isinstance(node, exp.Select):
                self.select(node, env, above)
            elif isinstance(node, exp.SetOperation):
                self.set_operation(node, env, above)
            elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier | exp.Dot):
                self.reference(node, env, above)
            else:
                block = _Block()
                self.relation(node, (), env, (), block)
                self.judge(block, env, above)
        return list(self.found.values())

    def push(self, node: exp.Expr, env: _Env, above: Taints) -> None:
        # The CTEs in sight of a node are always the same, so they are no part of the key.
        key = (id(node), above)
        if key not in self.seen:
            self.seen.add(key)
            self.todo.append((node, env, above))

    def reference(self, node: exp.Table | exp.Column, env: _Env, above: Taints) -> None:
        """A name: a CTE in sight, a member, or a table outside."""
        parts = tuple(part.name.casefold() for part in node.parts)
        cte = env.get(parts[0]) if len(parts) == 1 else None
        if cte is not None:
            if cte.query is not None:
                below = tuple(replace(item, via=(*item.via, cte.name)) for item in above)
                if cte.recursive:
                    below = (*below, taint.changes("recursive CTE", f"the recursive CTE {cte.name}"))
                self.push(cte.query, cte.env, below)
            return
        member = self.members(parts) if above else None
        if member is None:
            return
        place = position(node.parts[0])
        for item in above:
            reason = item.reason.replace("{}", member)
            if item.via:
                reason += f" It is read through the CTE {', '.join(item.via)}."
            self.refuse(Refusal(member, item.operator, reason, item.advice, place))

    def refuse(self, refusal: Refusal) -> None:
        self.found.setdefault((refusal.member, refusal.operator, refusal.position), refusal)

    # Queries

    def select(self, select: exp.Select, env: _Env, above: Taints) -> None:
        env = _with(select, env)
        args = select.args
        block = _Block()
        block.taints += [*taint.limits(select), *taint.pivots(select), *taint.unknown_parts(select, _SELECT)]
        block.taints += taint.grouping(args.get("group"))
        if args.get("distinct") and args["distinct"].args.get("on"):
            block.taints.append(taint.changes("DISTINCT ON"))
        if args.get("having"):
            block.taints.append(
                taint.changes("HAVING", advice="Filter in WHERE, before the rows are grouped.")
            )
        if args.get("qualify"):
            block.taints.append(taint.changes("window", "the window"))
        if args.get("from_"):
            self.relation(args["from_"].this, args.get("joins") or (), env, (), block)
        if args.get("where"):
            block.conditions.append((args["where"].this, ()))
        block.calls.extend((lateral.this, ()) for lateral in args.get("laterals") or ())
        block.expressions.extend(_expressions(select))
        self.judge(block, env, above)

    def set_operation(self, query: exp.SetOperation, env: _Env, above: Taints) -> None:
        env = _with(query, env)
        block = _Block()
        block.taints += [*taint.limits(query), *taint.unknown_parts(query, _SET)]
        name = query.key.upper()
        right: Taints = ()
        if not isinstance(query, exp.Union | exp.Intersect | exp.Except):
            block.taints.append(taint.unknown(name))
        elif not query.args.get("distinct") and not isinstance(query, exp.Union):
            reason = f"{name} ALL counts how often a row occurs, and {{}} is a set."
            block.taints.append(Taint(f"{name} ALL", reason, f"Use {name}."))
        elif isinstance(query, exp.Except):
            right = (taint.removes("EXCEPT"),)
        block.sources += [(query.this, env, ()), (query.expression, env, right)]
        block.expressions.extend(_expressions(query))
        self.judge(block, env, above)

    def judge(self, block: _Block, env: _Env, above: Taints) -> None:
        """Hand the taints of a block, and those above it, to all that the block reads."""
        roots = [
            *block.expressions,
            *(condition for condition, _ in block.conditions),
            *(call for call, _ in block.calls),
            *(source for source, _, _ in block.sources if isinstance(source.parent, exp.Lateral)),
        ]
        common = (*above, *block.taints, *taint.functions(roots, self.sql))
        for source, sight, own in block.sources:
            self.push(source, sight, _unique(common, own))
        for condition, own in block.conditions:
            self.condition(condition, env, _unique(common, own))
        for call, own in block.calls:
            self.call(call, env, _unique(common, own))
        for expression in block.expressions:
            self.values(expression, env, _unique(common))

    # FROM

    def relation(
        self, first: exp.Expr, more: Iterable[exp.Expr], env: _Env, above: Taints, block: _Block
    ) -> None:
        """A left-deep chain of joins, from its end: a RIGHT JOIN decides over all to its left.

        A comma binds weaker than JOIN, so what stands before it is not touched. The tree shows a
        comma as CROSS JOIN, and where the text is not sure to have one, all is taken for one chain,
        which can only add taints.
        """
        whole = above
        for join in reversed([*(first.args.get("joins") or ()), *more]):
            left, right, on = taint.join(join)
            block.taints += taint.pivots(join)
            block.expressions.extend(_expressions(join))
            if join.args.get("on"):
                block.conditions.append((join.args["on"], (*above, *on)))
            self.relation(join.this, (), env, (*above, *right), block)
            above = whole if self.after_comma(join) else (*above, *left)
        self.leaf(first, env, above, block)

    def after_comma(self, join: exp.Expr) -> bool:
        named = isinstance(join.this, exp.Table) and isinstance(join.this.this, exp.Identifier)
        return named and self.sql[: position(join.this)].rstrip().endswith(",")

    def leaf(self, node: exp.Expr, env: _Env, above: Taints, block: _Block) -> None:
        """One table, or what stands for one, without the joins that hang on it."""
        # PIVOT may take all that stands to its left, wherever the tree has it.
        block.taints += taint.pivots(node)
        block.calls.extend((lateral.this, ()) for lateral in node.args.get("laterals") or ())
        block.expressions.extend(_expressions(node))
        above = (*above, *taint.limits(node))
        inner = node.this
        if isinstance(node, exp.Table):
            self.table(node, env, (*above, *taint.unknown_parts(node, _TABLE)), block)
        elif isinstance(node, exp.Subquery):
            above = (*above, *taint.unknown_parts(node, _SUBQUERY))
            env = _with(node, env)
            if isinstance(inner, exp.Select | exp.SetOperation):
                block.sources.append((inner, env, above))
            else:
                self.relation(inner, (), env, above, block)
        elif isinstance(node, exp.Lateral) and isinstance(inner, exp.Query):
            block.sources.append((inner, env, above))
        elif isinstance(node, exp.Lateral):
            block.calls.append((inner, above))
        elif isinstance(node, exp.Values):
            block.taints += taint.unknown_parts(node, _VALUES)
        else:
            strange = taint.unknown(node.key.upper())
            block.calls.append((node, above))
            block.sources.extend((table, env, (*above, strange)) for table in node.find_all(exp.Table))

    def table(self, node: exp.Table, env: _Env, above: Taints, block: _Block) -> None:
        alias = node.args.get("alias")
        if alias and alias.this and not isinstance(alias.this, exp.Identifier):
            above = (*above, taint.unknown("time travel"))  # t@v1
        if isinstance(node.this, exp.Identifier | exp.Dot):
            block.sources.append((node, env, above))
        elif isinstance(node.this, exp.Func) and node.this.name.casefold() != "identifier":
            block.calls.append((node.this, above))
        else:
            reason = "It is not known which table this names, so it may be a member of the cycle."
            self.refuse(Refusal("", "IDENTIFIER", reason, "Write the name of the table.", position(node)))

    def call(self, call: exp.Expr, env: _Env, above: Taints) -> None:
        """A function that makes rows: of a row (fine), or of a table that it is given."""
        given = (*above, taint.unknown(f"table function {called(call, self.sql) or call.key}"))
        for node in within(call):
            if isinstance(node, exp.Query):
                self.push(node, env, given)
            elif isinstance(node, exp.Anonymous) and node.name.casefold() in ("table", "stream"):
                for argument in node.expressions:
                    if isinstance(argument, exp.Column):
                        self.reference(argument, env, given)

    # Expressions

    def condition(self, root: exp.Expr, env: _Env, above: Taints) -> None:
        """WHERE or ON: EXISTS and IN keep their polarity under AND and OR, and nowhere else.

        Only *true* counts there, and a new row moves IN upward in false < null < true.
        """
        stack = [root]
        while stack:
            node = stack.pop()
            query = node.args.get("query") if isinstance(node, exp.In) else node.this
            if isinstance(node, exp.And | exp.Or):
                stack += [node.this, node.expression]
            elif isinstance(node, exp.Paren):
                stack.append(node.this)
            elif isinstance(node, exp.Exists | exp.In) and isinstance(query, exp.Query):
                self.push(query, env, above)
                if isinstance(node, exp.In):
                    self.values(node.this, env, above)
            else:
                self.values(node, env, above)

    def values(self, root: exp.Expr, env: _Env, above: Taints) -> None:
        """Anywhere else a query is a value, and a value that changes takes its row back."""
        for node in within(root):
            if isinstance(node, exp.Query):
                self.push(node, env, (*above, taint.value(node)))


def _unique(*taints: Iterable[Taint]) -> Taints:
    return tuple(dict.fromkeys(item for some in taints for item in some))


def _expressions(node: exp.Expr) -> Iterator[exp.Expr]:
    """The parts of a node that are neither its tables nor its conditions."""
    for name, value in node.args.items():
        if name not in _WALKED:
            yield from (
                item for item in (value if isinstance(value, list) else [value]) if isinstance(item, exp.Expr)
            )


def _with(query: exp.Expr, env: _Env) -> _Env:
    """The CTEs in sight of a query. Each sees those before it; a recursive one, itself."""
    clause = query.args.get("with_")
    if not clause:
        return env
    sight = dict(env)
    for cte in clause.expressions:
        name = cte.alias.casefold()
        recursive = bool(clause.args.get("recursive")) and any(
            table.name.casefold() == name and not table.db for table in cte.this.find_all(exp.Table)
        )
        below = {**sight, name: _Cte(cte.alias, None, {})} if recursive else dict(sight)
        sight[name] = _Cte(cte.alias, cte.this, below, recursive)
    return sight

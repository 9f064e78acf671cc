"""Which columns of a table a statement reads: certainly, or perhaps.

For a plan that drops a column, so few statements are ever looked at, and only those that have the
name as a word are parsed. A word is no column because of what stands before it: it may be a type
(``date '2020-01-01'``), a unit, the parameter of a lambda, an alias, or another table's column. So
names are resolved as Spark does it, from the innermost query outwards. A column is *certain* when
nothing else in sight can have that name once it is gone, *possible* where that is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import NamedTuple

from sqlglot import exp

from .lexer import Lexemes, lex
from .references import parse_tree
from .respell import respell
from .statement import body_at, query_at, read_head, unquoted


class Gives(Enum):
    """What a table has under the name of a column."""

    OURS = "the column that is asked for"
    THEIRS = "another column"
    NOTHING = "no such column"
    MAYBE = "the column that is asked for, unless it is another one"
    UNKNOWN = "another column, or none"


class Uses(NamedTuple):
    certain: frozenset[str] = frozenset()
    possible: frozenset[str] = frozenset()


Columns = Callable[[str], Gives]
Tables = Callable[[tuple[str, ...], str], Gives]  # of a table as written, and of a column


class _Source(NamedTuple):
    """Something in FROM; ``names`` are the parts of the table's name, or its alias."""

    names: tuple[str, ...]
    gives: Columns


_Level = tuple[_Source, ...]
_Sight = tuple[_Level, ...]  # from the innermost query outwards
_Ctes = Mapping[str, Columns]

# Functions that Spark takes without brackets, where no column has the name.
_LITERAL_FUNCTIONS = frozenset(
    {
        "current_date",
        "current_time",
        "current_timestamp",
        "current_user",
        "grouping__id",
        "session_user",
        "user",
    }
)
# Those whose first argument is a unit, which sqlglot takes for a column.
_UNIT_FIRST = frozenset({"timediff"})
_BEHIND_THE_LIST = ("group", "having", "qualify", "order", "sort", "cluster", "distribute", "windows")


def column_uses(sql: str, wanted: frozenset[str], tables: Tables) -> Uses:
    """Which of the ``wanted`` columns, folded, a statement uses."""
    text, found = respell(sql, lex(sql))
    words = frozenset(unquoted(word).casefold() for word in found.texts) & wanted
    if not words:
        return Uses()
    head = read_head(found)
    before: frozenset[str] = frozenset()  # the parameters of a function are below its columns
    begin: int | None = 0
    prefix = ""
    if head.verb in ("drop", "truncate") or (head.verb == "alter" and "add" in found.lower[head.after :][:1]):
        return Uses()
    if head.verb == "create" and head.noun in ("table", "view"):
        begin = query_at(found, head)
    elif head.verb == "create" and head.noun == "function":
        begin = body_at(found, head)
        before = frozenset(unquoted(word).casefold() for word in found.texts[:begin])
        prefix = (
            "" if begin is None or found.lower[begin : begin + 1] in (["select"], ["with"]) else "SELECT "
        )
    elif found.lower[:2] == ["insert", "overwrite"] and "directory" in found.lower[2:4]:
        begin = _query_of_directory(found)
    if begin is None or begin >= len(found.texts):
        return Uses()
    tree = None if "|>" in found.texts else parse_tree(prefix + text[found.starts[begin] : found.span[1]])
    if tree is None:
        return Uses(possible=words)
    reader = _Reader(wanted, tables)
    sight = ((_Source((), lambda name: Gives.UNKNOWN if name in before else Gives.NOTHING),),)
    try:
        known = reader.statement(tree, sight)
    except RecursionError:
        known = False
    return Uses(frozenset(reader.certain), frozenset(reader.possible)) if known else Uses(possible=words)


def _query_of_directory(found: Lexemes) -> int | None:
    depth = 0
    for at, word in enumerate(found.lower):
        depth += {"(": 1, ")": -1}.get(word, 0)
        after = found.lower[at + 1 : at + 2]
        if depth == 0 and (word in ("select", "from") or (word == "with" and after != ["serdeproperties"])):
            return at
    return None


class _Reader:
    def __init__(self, wanted: frozenset[str], tables: Tables) -> None:
        self.wanted = wanted
        self.tables = tables
        self.certain: set[str] = set()
        self.possible: set[str] = set()

    def statement(self, tree: exp.Expr, sight: _Sight) -> bool:
        """Whether it is a statement that is understood here."""
        if isinstance(tree, exp.Query):
            self.query(tree, {}, sight)
        elif isinstance(tree, exp.Insert):
            self.insert(tree, sight)
        elif isinstance(tree, exp.Update | exp.Delete):
            target = self.relation(tree.this, {}, (), sight)
            self.assign(tree, target, (target, *sight))
            self.expressions(tree.args.get("where"), {}, (target, *sight))
        elif isinstance(tree, exp.Merge):
            self.merge(tree, sight)
        else:
            return False
        return True

    # Statements that write

    def insert(self, tree: exp.Insert, sight: _Sight) -> None:
        target = tree.this
        named: Iterable[exp.Expr] = ()
        if isinstance(target, exp.Schema):
            target, named = target.this, target.expressions
        if isinstance(target, exp.Table):
            written = self.relation(target, {}, (), ())
            for column in named:
                self.use((column.name.casefold(),), (written,))
            self.expressions(target.args.get("partition"), {}, (written,))
            self.expressions(tree.args.get("where"), {}, (written,))
        ctes = self.ctes(tree, {}, sight)
        if isinstance(tree.expression, exp.Query):
            gives = self.query(tree.expression, ctes, sight)
            if tree.args.get("by_name") and isinstance(target, exp.Table):
                ours = {name for name in self.wanted if _found(written, name) is Gives.OURS}
                self.possible |= {name for name in ours if gives(name) is not Gives.NOTHING}

    def merge(self, tree: exp.Merge, sight: _Sight) -> None:
        target = self.relation(tree.this, {}, (), sight)
        source = self.relation(tree.args["using"], self.ctes(tree, {}, sight), (), sight)
        both = (target + source, *sight)
        self.expressions(tree.args.get("on"), {}, both)
        whens = tree.args.get("whens")
        for when in whens.expressions if whens else ():
            level = both
            if not when.args.get("matched"):
                level = (target if when.args.get("source") else source, *sight)
            self.expressions(when.args.get("condition"), {}, level)
            then = when.args.get("then")
            if isinstance(then, exp.Update):
                self.assign(then, target, level)
            elif isinstance(then, exp.Insert):
                self.expressions(then.this, {}, (target,))
                self.expressions(then.expression, {}, level)

    def assign(self, update: exp.Expr, target: _Level, sight: _Sight) -> None:
        """SET a = b, where a is the target's."""
        for item in update.expressions if isinstance(update, exp.Update) else ():
            self.expressions(item.this, {}, (target,))
            self.expressions(item.args.get("expression"), {}, sight)

    # Queries

    def query(self, node: exp.Expr, ctes: _Ctes, outer: _Sight) -> Columns:
        """Read a query, and say what columns it has."""
        ctes = self.ctes(node, ctes, outer)
        if isinstance(node, exp.Select):
            return self.select(node, ctes, outer)
        if isinstance(node, exp.SetOperation):  # its ORDER BY names what it gives
            gives = self.query(node.this, ctes, outer)
            self.query(node.expression, ctes, outer)
            return gives
        if isinstance(node, exp.Subquery):
            return _all(self.relation(node, ctes, (), outer))
        return _unknown

    def ctes(self, node: exp.Expr, ctes: _Ctes, outer: _Sight) -> _Ctes:
        clause = node.args.get("with_")
        if not clause:
            return ctes
        sight = dict(ctes)
        for cte in clause.expressions:
            name = cte.alias.casefold()
            inside = {**sight, name: _unknown} if clause.args.get("recursive") else sight
            sight[name] = _renamed(cte, self.query(cte.this, inside, outer))
        return sight

    def select(self, node: exp.Select, ctes: _Ctes, outer: _Sight) -> Columns:
        args = node.args
        sources: _Level = ()
        if args.get("from_"):
            sources = self.relation(args["from_"].this, ctes, (), outer)
        sources = self.joined(node, sources, ctes, outer)
        aliases: set[str] = set()  # an item may name those before it, if no column has that name
        named = _Source((), lambda name: Gives.THEIRS if name in aliases else Gives.NOTHING)
        self.expressions(args.get("where"), ctes, (sources, *outer))
        for item in node.expressions:
            self.expressions(item, ctes, ((*sources, named), *outer))
            aliases.update(_aliases(item))
        for part in _BEHIND_THE_LIST:
            self.expressions(args.get(part), ctes, ((*sources, named), *outer))
        return _columns_of(node, sources)

    # FROM

    def relation(self, node: exp.Expr, ctes: _Ctes, before: _Level, outer: _Sight) -> _Level:
        """What one item of FROM, with the joins that hang on it, adds to ``before``."""
        alias = node.alias.casefold()
        inner = node.this
        found: _Level
        if isinstance(node, exp.Table) and isinstance(inner, exp.Identifier | exp.Dot):
            parts = tuple(part.name.casefold() for part in node.parts)
            gives = ctes.get(parts[0]) if len(parts) == 1 else None
            found = (_Source((alias,) if alias else parts, _renamed(node, gives or self.columns(parts))),)
        elif (
            isinstance(node, exp.Subquery | exp.Lateral)
            and isinstance(inner, exp.Query)
            and not _is_join(inner)
        ):
            sight = (before, *outer) if isinstance(node, exp.Lateral) else outer
            gives = self.query(inner, self.ctes(node, ctes, outer), sight)
            found = (_Source((alias,), _renamed(node, gives)),)
        elif isinstance(node, exp.Subquery) and isinstance(inner, exp.Expr):
            found = self.relation(inner, self.ctes(node, ctes, outer), before, outer)
            if alias:
                found = (_Source((alias,), _renamed(node, _all(found))),)
        else:
            lateral = isinstance(node, exp.Lateral)
            self.expressions(inner if lateral else node, ctes, (before, *outer) if lateral else outer)
            found = (_Source((alias,), _renamed(node, _unknown)),)
        if node.args.get("pivots"):
            found = (_Source((alias,), self.pivoted(node, found)),)
        if node.args.get("version"):  # AS OF a time when the table may have had other columns
            found = tuple(_Source(source.names, _doubted((source,))) for source in found)
        added = self.joined(node, before + found, ctes, outer)
        return added[len(before) :]

    def columns(self, parts: tuple[str, ...]) -> Columns:
        return lambda name: self.tables(parts, name)

    def joined(self, node: exp.Expr, sources: _Level, ctes: _Ctes, outer: _Sight) -> _Level:
        for join in node.args.get("joins") or ():
            added = self.relation(join.this, ctes, sources, outer)
            self.expressions(join.args.get("on"), ctes, (sources + added, *outer))
            for column in join.args.get("using") or ():
                name = column.name.casefold()
                for side in (sources, added):
                    self.use((name,), (side,))
            if join.kind not in ("SEMI", "ANTI"):
                sources += added
        for lateral in node.args.get("laterals") or ():
            sources += self.relation(lateral, ctes, sources, outer)
        return sources

    def pivoted(self, node: exp.Expr, below: _Level) -> Columns:
        """PIVOT and UNPIVOT take columns away and give others."""
        for pivot in node.args["pivots"]:
            names = {column.name.casefold() for column in pivot.find_all(exp.Column)} & self.wanted
            self.possible |= {name for name in names if _found(below, name) in (Gives.OURS, Gives.MAYBE)}
        return _doubted(below)

    # Expressions

    def expressions(self, roots: exp.Expr | list[exp.Expr] | None, ctes: _Ctes, sight: _Sight) -> None:
        stack = list(roots) if isinstance(roots, list) else [roots] if roots else []
        while stack:
            node = stack.pop()
            if isinstance(node, exp.Query):
                self.query(node, ctes, sight)
            elif isinstance(node, exp.Column):
                self.column(node, sight)
            elif isinstance(node, exp.Anonymous) and node.name.casefold() in _UNIT_FIRST:
                stack.extend(node.expressions[1:])
            elif isinstance(node, exp.Expr) and not isinstance(node, exp.Hint):
                stack.extend(node.iter_expressions())

    def column(self, node: exp.Column, sight: _Sight) -> None:
        parts = tuple(part.name.casefold() for part in node.parts)
        if self.wanted.isdisjoint(parts) or (len(parts) == 1 and parts[0] in _LITERAL_FUNCTIONS):
            return
        if parts[0] not in _parameters(node):
            self.use(parts, sight)

    def use(self, parts: tuple[str, ...], sight: _Sight) -> None:
        """Resolve a name: a qualified column, a column, or a field of one."""
        for length in range(len(parts) - 1, 0, -1):
            levels = tuple(
                tuple(source for source in level if source.names[-length:] == parts[:length])
                for level in sight
            )
            if any(levels):
                # Where a column is named as the table, it may be a field of that.
                field = any(_found(level, parts[0]) in (Gives.OURS, Gives.THEIRS) for level in sight)
                self.resolve(parts[length], levels, doubt=field)
                return
        if len(parts) < 3 or not any(parts[1] in source.names for level in sight for source in level):
            self.resolve(parts[0], sight)

    def resolve(self, name: str, sight: _Sight, *, doubt: bool = False) -> None:
        if name not in self.wanted:
            return
        results = [_found(level, name) for level in sight]
        while results and results[0] is Gives.NOTHING:
            results.pop(0)
        if not results or results[0] in (Gives.THEIRS, Gives.UNKNOWN):
            return
        if doubt or any(result not in (Gives.OURS, Gives.NOTHING) for result in results):
            self.possible.add(name)
        else:
            self.certain.add(name)


def _unknown(name: str) -> Gives:
    return Gives.UNKNOWN


def _found(level: Iterable[_Source], name: str) -> Gives:
    return _together(source.gives(name) for source in level)


def _together(results: Iterable[Gives]) -> Gives:
    """What several tables have beside each other."""
    found = set(results)
    if Gives.THEIRS in found:
        return Gives.THEIRS
    if Gives.MAYBE in found or {Gives.OURS, Gives.UNKNOWN} <= found:
        return Gives.MAYBE
    return next((one for one in (Gives.OURS, Gives.UNKNOWN) if one in found), Gives.NOTHING)


def _all(level: _Level) -> Columns:
    return lambda name: _found(level, name)


def _doubted(level: _Level) -> Columns:
    def gives(name: str) -> Gives:
        return Gives.MAYBE if _found(level, name) in (Gives.OURS, Gives.MAYBE) else Gives.UNKNOWN

    return gives


def _renamed(node: exp.Expr, gives: Columns) -> Columns:
    """The columns that an alias lists, ``AS v(a, b)``, are all that there are."""
    alias = node.args.get("alias")
    listed = {column.name.casefold() for column in alias.args.get("columns") or ()} if alias else set()
    return (lambda name: Gives.THEIRS if name in listed else Gives.NOTHING) if listed else gives


def _is_join(node: exp.Expr) -> bool:
    """Whether brackets hold tables, not a query."""
    return isinstance(node, exp.Subquery) and not isinstance(node.this, exp.Query)


def _aliases(item: exp.Expr) -> Iterator[str]:
    if isinstance(item, exp.Alias):
        yield item.alias.casefold()
    elif isinstance(item, exp.Aliases):
        yield from (name.name.casefold() for name in item.args.get("expressions") or ())


def _columns_of(select: exp.Select, sources: _Level) -> Columns:
    """What a SELECT gives to the query around it."""
    rows: list[Columns] = []
    for item in select.expressions:
        named = set(_aliases(item))
        star = item.this if isinstance(item, exp.Column) else item
        if named:
            rows.append(_given(named))
        elif isinstance(star, exp.Star):
            chosen = sources
            if isinstance(item, exp.Column):
                parts = tuple(part.name.casefold() for part in item.parts[:-1])
                chosen = tuple(source for source in sources if source.names[-len(parts) :] == parts)
            rows.append(_starred(star, chosen))
        elif isinstance(item, exp.Column | exp.Dot):
            rows.append(_given({item.output_name.casefold()}))
        elif not isinstance(item, exp.Literal):
            rows.append(_unknown)
    return lambda name: _together(gives(name) for gives in rows)


def _given(names: set[str]) -> Columns:
    return lambda name: Gives.THEIRS if name in names else Gives.NOTHING


def _starred(star: exp.Star, sources: _Level) -> Columns:
    left_out = {column.name.casefold() for column in star.args.get("except_") or ()}
    gives = _all(sources) if sources else _unknown  # of a column, ``st.*``, it is the fields
    return lambda name: Gives.NOTHING if name in left_out else gives(name)


def _parameters(node: exp.Expr) -> set[str]:
    """The parameters of the lambdas around a node."""
    found: set[str] = set()
    above = node.parent
    while above is not None and not isinstance(above, exp.Query):
        if isinstance(above, exp.Lambda):
            found |= {parameter.name.casefold() for parameter in above.expressions}
        above = above.parent
    return found

"""The law behind ``polarity``: what it accepts never loses a row, and never holds one twice.

Random queries over two members and two tables outside are evaluated before and after the members
have got more rows. SQLite computes them: it agrees with Spark on all that is generated here. SEMI
and ANTI joins, which it has not, are written for it as EXISTS.
"""

from __future__ import annotations

import random
import sqlite3
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_provider_sparkdeploy.core.polarity import refusals

pytestmark = pytest.mark.skipif(
    sqlite3.sqlite_version_info < (3, 39), reason="this SQLite has no RIGHT and FULL JOIN"
)

MEMBERS = ("m", "n")
TABLES = (*MEMBERS, "o", "p")
VALUES = (None, 0, 1, 2)
ROWS = [(a, b) for a in VALUES for b in VALUES]
Data = dict[str, set[tuple[int | None, int | None]]]


@dataclass(frozen=True)
class Query:
    """The same query for Spark and for SQLite; its columns are a and b."""

    spark: str
    lite: str


def same(text: str, *queries: Query) -> Query:
    """A text with places for other queries, equal in both languages."""
    return Query(text.format(*(q.spark for q in queries)), text.format(*(q.lite for q in queries)))


class Maker:
    """Queries from a grammar. Much more is accepted when what is not monotone is rare in it;
    it must not be too rare over the tables outside, where it is accepted."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.tables = TABLES

    def pick(self, usual: list[str], rare: list[str]) -> str:
        return self.random.choice(rare if self.random.random() < 0.2 else usual)

    def statement(self) -> Query:
        clause = same("")
        if self.random.random() < 0.5:
            clause = same("WITH c AS ({}) ", self.query(1))
            self.tables = (*TABLES, "c", "c")
        body = self.query(self.random.choice((0, 1, 1, 2)))
        if self.random.random() < 0.6:
            body = same("SELECT DISTINCT * FROM ({})", body)
        return same("{}{}", clause, body)

    def query(self, depth: int) -> Query:
        if depth == 0 or self.random.random() < 0.6:
            return self.select(depth)
        operator = self.pick(["UNION", "UNION ALL", "INTERSECT"], ["EXCEPT"])
        left, right = self.query(depth - 1), self.query(depth - 1)
        return same(f"SELECT * FROM ({{}}) {operator} SELECT * FROM ({{}})", left, right)

    def relation(self, depth: int) -> Query:
        if depth == 0 or self.random.random() < 0.7:
            return same(self.random.choice(self.tables))
        return same("({})", self.query(depth - 1))

    def predicate(self, depth: int, names: list[str]) -> Query:
        one, two = self.random.choice(names), self.random.choice(names)
        form = self.pick(
            ["equal", "less", "null", "and", "or", "exists", "in"], ["not", "not in", "case", "scalar"]
        )
        if depth == 0 or form == "equal":
            return same(f"{one}.a = {two}.b")
        if form == "less":
            return same(f"{one}.b < 2")
        if form == "null":
            return same(f"{one}.a IS NULL")
        if form in ("and", "or"):
            left, right = self.predicate(depth - 1, names), self.predicate(depth - 1, names)
            return same(f"({{}} {form.upper()} {{}})", left, right)
        if form == "not":
            return same("NOT ({})", self.predicate(depth, names))
        text = {
            "exists": f"EXISTS (SELECT 1 FROM {{}} AS z WHERE z.a = {one}.b)",
            "in": f"{one}.a IN (SELECT z.b FROM {{}} AS z)",
            "not in": f"{one}.a NOT IN (SELECT z.b FROM {{}} AS z)",
            "case": f"CASE WHEN {one}.a IN (SELECT z.a FROM {{}} AS z) THEN {one}.b ELSE {two}.a END = 1",
            "scalar": f"{one}.a >= (SELECT max(z.a) FROM {{}} AS z)",
        }[form]
        return same(text, self.relation(depth - 1))

    def select(self, depth: int) -> Query:
        names = ["t0"]
        source = same("{} AS t0", self.relation(depth))
        for _ in range(self.random.choice((0, 0, 1, 1, 2))):
            kind = self.pick(["", "CROSS", "LEFT"], ["RIGHT", "FULL"])
            name = f"t{len(names)}"
            names.append(name)
            on = same("") if kind == "CROSS" else same(" ON {}", self.predicate(depth, names))
            source = same(f"{{}} {kind} JOIN {{}} AS {name}{{}}", source, self.relation(depth), on)
        filters: list[Query] = []
        spark, lite = source.spark, source.lite
        if self.random.random() < 0.2:
            kind = self.pick(["SEMI"], ["ANTI"])
            other, on = self.relation(depth), self.predicate(depth, [*names, "s"])
            spark += f" LEFT {kind} JOIN {other.spark} AS s ON {on.spark}"
            word = "NOT EXISTS" if kind == "ANTI" else "EXISTS"
            filters.append(Query("TRUE", f"{word} (SELECT 1 FROM {other.lite} AS s WHERE {on.lite})"))
        if self.random.random() < 0.5:
            filters.append(self.predicate(depth + 1, names))
        if filters:
            spark += f" WHERE {' AND '.join(f'({one.spark})' for one in filters)}"
            lite += f" WHERE {' AND '.join(f'({one.lite})' for one in filters)}"
        one, two = self.random.choice(names), self.random.choice(names)
        shape = self.pick(
            ["plain", "plain", "distinct", "group"],
            ["hidden key", "count", "having", "window", "limit", "exists"],
        )
        text = {
            "plain": f"SELECT {one}.a AS a, {two}.b AS b FROM {{}}",
            "distinct": f"SELECT DISTINCT {one}.b AS a, {two}.b + 1 AS b FROM {{}}",
            "group": f"SELECT {one}.a AS a, {two}.b AS b FROM {{}} GROUP BY {one}.a, {two}.b",
            "hidden key": f"SELECT {one}.a AS a, 1 AS b FROM {{}} GROUP BY {one}.a, {two}.b",
            "count": f"SELECT {one}.a AS a, count({two}.b) AS b FROM {{}} GROUP BY {one}.a",
            "having": f"SELECT {one}.a AS a, 1 AS b FROM {{}} GROUP BY {one}.a HAVING count(*) < 2",
            "window": f"SELECT {one}.a AS a, rank() OVER (ORDER BY {two}.b) AS b FROM {{}}",
            "limit": f"SELECT {one}.a AS a, {two}.b AS b FROM {{}} ORDER BY 1, 2 LIMIT 1",
            "exists": f"SELECT {one}.a AS a, CASE WHEN EXISTS (SELECT 1 FROM {self.random.choice(TABLES)}) THEN 1 ELSE 0 END AS b FROM {{}}",
        }[shape]
        return same(text, Query(spark, lite))


def fill(base: sqlite3.Connection, data: Data) -> None:
    for table, rows in data.items():
        base.execute(f"DELETE FROM {table}")
        base.executemany(f"INSERT INTO {table} VALUES (?, ?)", sorted(rows, key=repr))


def counterexample(query: str, seed: int, tries: int) -> str:
    """How a query loses a row when members grow, or holds one twice; empty if it is not seen to."""
    choose = random.Random(seed)
    base = sqlite3.connect(":memory:")
    for table in TABLES:
        base.execute(f"CREATE TABLE {table} (a, b)")
    for _ in range(tries):
        data: Data = {table: set(choose.sample(ROWS, choose.choice((0, 1, 2, 4)))) for table in TABLES}
        fill(base, data)
        before = base.execute(query).fetchall()
        grown = {table: data[table] | set(choose.sample(ROWS, 2)) for table in MEMBERS}
        fill(base, grown)
        after = base.execute(query).fetchall()
        if len(set(before)) < len(before):
            return f"twice: {before} over {data}"
        if not set(before) <= set(after):
            return f"lost: {set(before) - set(after)} from {data} to {grown}"
    return ""


def accepted(query: str) -> bool:
    sql = f"CREATE MATERIALIZED VIEW v (a INT, b INT) AS {query}"
    return not refusals(sql, lambda parts: parts[0] if parts[0] in MEMBERS else None)


@settings(max_examples=700, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 2**32))
def test_what_is_accepted_only_grows(seed: int) -> None:
    query = Maker(seed).statement()
    if accepted(query.spark):
        assert counterexample(query.lite, seed, tries=10) == "", query.spark


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a, 1 FROM m",
        "SELECT DISTINCT o.a, m.b FROM o LEFT JOIN m ON m.a = o.a",
        "SELECT DISTINCT o.a, m.b FROM m RIGHT JOIN o ON m.a = o.a",
        "SELECT DISTINCT o.a, m.b FROM m FULL JOIN o ON m.a = o.a",
        "SELECT DISTINCT a, b FROM o WHERE a NOT IN (SELECT a FROM m)",
        "SELECT a, b FROM o EXCEPT SELECT a, b FROM m",
        "WITH c AS (SELECT a, count(*) AS b FROM m GROUP BY a) SELECT DISTINCT a, b FROM c",
        "SELECT DISTINCT a, b FROM o WHERE a >= (SELECT max(a) FROM m)",
        "SELECT DISTINCT a, b FROM o WHERE (a IN (SELECT a FROM m)) IS NULL",
        "SELECT DISTINCT a, rank() OVER (ORDER BY b) FROM m",
        "SELECT a FROM m GROUP BY a, b",
        "SELECT DISTINCT o.a, p.b FROM o LEFT JOIN p ON o.a = p.a AND p.b IN (SELECT a FROM m)",
    ],
)
def test_the_check_would_notice(query: str) -> None:
    assert counterexample(query, seed=1, tries=200)
    assert not accepted(query)

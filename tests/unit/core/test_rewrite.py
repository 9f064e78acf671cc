"""Queries cut at their references to members: what is cut, what stays, and what is refused.

``m`` and ``n`` (also ``s.m``, ``s.n``) are members; a slot is shown as ``<member>``.
"""

from __future__ import annotations

import re

import pytest
import sqlglot
from sqlglot import exp

from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError
from airflow_provider_sparkdeploy.core.names import ObjectName
from airflow_provider_sparkdeploy.core.rewrite import Template, template


def member_of(parts: tuple[str, ...]) -> ObjectName | None:
    full = ("spark_catalog", "s", "x")[: 3 - len(parts)] + parts
    known = {("spark_catalog", "s", "m"), ("spark_catalog", "s", "n"), ("spark_catalog", "t", "m")}
    return ObjectName(full[1], full[2]) if full in known else None


def cut(query: str) -> Template:
    return template(query, member_of)


def shown(found: Template) -> str:
    return re.sub(r"\s+", " ", found.render([f"<{name.object}>" for name in found.slots])).strip()


CASES = {
    "plain": ("SELECT DISTINCT a FROM m", "SELECT DISTINCT a FROM (<m> AS m)"),
    "no member": ("SELECT a FROM x.m", "SELECT a FROM x.m"),
    "qualified": ("SELECT a FROM s.m", "SELECT a FROM (<m> AS m)"),
    "with its catalog": ("SELECT a FROM spark_catalog.s.m", "SELECT a FROM (<m> AS m)"),
    "any case": ("SELECT a FROM S.M", "SELECT a FROM (<m> AS M)"),
    "quoted": ("SELECT `m`.a FROM `s`.`m`", "SELECT `m`.a FROM (<m> AS `m`)"),
    "alias": ("SELECT x.a FROM m AS x", "SELECT x.a FROM (<m> AS m) AS x"),
    "alias of columns": ("SELECT x.p FROM m x(p, q)", "SELECT x.p FROM (<m> AS m) x(p, q)"),
    "self join": (
        "SELECT x.a FROM m x JOIN m y ON x.b = y.a",
        "SELECT x.a FROM (<m> AS m) x JOIN (<m> AS m) y ON x.b = y.a",
    ),
    "comma": ("SELECT 1 FROM m, n, o", "SELECT 1 FROM (<m> AS m), (<n> AS n), o"),
    "sample": ("SELECT 1 FROM m TABLESAMPLE (5 ROWS) x", "SELECT 1 FROM (<m> AS m) TABLESAMPLE (5 ROWS) x"),
    "literals and comments": (
        "SELECT 'FROM m' /* FROM m */ FROM m -- FROM m",
        "SELECT 'FROM m' /* FROM m */ FROM (<m> AS m) -- FROM m",
    ),
    "the author's spelling": ("SELECT nvl( a,1 ) x FROM m", "SELECT nvl( a,1 ) x FROM (<m> AS m)"),
    "exists and in": (
        "SELECT a FROM o WHERE EXISTS (SELECT 1 FROM m WHERE m.a = o.a) AND a IN (SELECT a FROM n)",
        "SELECT a FROM o WHERE EXISTS (SELECT 1 FROM (<m> AS m) WHERE m.a = o.a)"
        " AND a IN (SELECT a FROM (<n> AS n))",
    ),
    "set operations": (
        "SELECT a FROM o UNION (SELECT a FROM m INTERSECT SELECT a FROM n)",
        "SELECT a FROM o UNION (SELECT a FROM (<m> AS m) INTERSECT SELECT a FROM (<n> AS n))",
    ),
    "from first": ("FROM m SELECT a", "FROM (<m> AS m) SELECT a"),
    "lateral": (
        "SELECT 1 FROM o, LATERAL (SELECT a FROM m WHERE m.a = o.a) l",
        "SELECT 1 FROM o, LATERAL (SELECT a FROM (<m> AS m) WHERE m.a = o.a) l",
    ),
    "hint": ("SELECT /*+ BROADCAST(m) */ a FROM m", "SELECT /*+ BROADCAST(m) */ a FROM (<m> AS m)"),
    "a column named like a member": ("SELECT m FROM o WHERE m > 1", "SELECT m FROM o WHERE m > 1"),
    "from inside a function": (
        "SELECT extract(YEAR FROM m) FROM n",
        "SELECT extract(YEAR FROM m) FROM (<n> AS n)",
    ),
    "a function named like a member": ("SELECT m(a) FROM n", "SELECT m(a) FROM (<n> AS n)"),
    # Qualified columns
    "schema before a column": ("SELECT s.m.a FROM s.m", "SELECT m.a FROM (<m> AS m)"),
    "schema before a star": ("SELECT s.m.* FROM m", "SELECT m.* FROM (<m> AS m)"),
    "catalog before a column": ("SELECT spark_catalog.s.m.a FROM m", "SELECT m.a FROM (<m> AS m)"),
    "fields of a column": ("SELECT s.m.a.f FROM s.m", "SELECT m.a.f FROM (<m> AS m)"),
    "a struct of an alias": ("SELECT s.m.a FROM o AS s", "SELECT s.m.a FROM o AS s"),
    "another table's column": ("SELECT x.o.a FROM x.o, m", "SELECT x.o.a FROM x.o, (<m> AS m)"),
    # CTEs
    "cte": (
        "WITH c AS (SELECT a FROM m) SELECT a FROM c",
        "SELECT a FROM ((SELECT a FROM (<m> AS m)) AS c)",
    ),
    "cte without AS": ("WITH c (SELECT 1 a) SELECT a FROM c", "SELECT a FROM ((SELECT 1 a) AS c)"),
    "cte used twice": (
        "WITH c AS (SELECT a FROM m) SELECT x.a FROM c x JOIN c ON x.a = c.a",
        "SELECT x.a FROM ((SELECT a FROM (<m> AS m)) AS c) x JOIN ((SELECT a FROM (<m> AS m)) AS c) ON x.a = c.a",
    ),
    "cte with columns": (
        "WITH c(p, q) AS (SELECT a, b FROM m) SELECT z.p FROM c AS z",
        "SELECT z.p FROM ((SELECT a, b FROM (<m> AS m)) AS c(p, q)) AS z",
    ),
    "cte of a cte": (
        "WITH c AS (SELECT a FROM m), d AS (SELECT a FROM c) SELECT a FROM d",
        "SELECT a FROM ((SELECT a FROM ((SELECT a FROM (<m> AS m)) AS c)) AS d)",
    ),
    "cte that is not used": ("WITH c AS (SELECT a FROM m) SELECT 1", "SELECT 1"),
    "cte named like a member": (
        "WITH m AS (SELECT a FROM m) SELECT a FROM m JOIN s.m ON true",
        "SELECT a FROM ((SELECT a FROM (<m> AS m)) AS m) JOIN (<m> AS m) ON true",
    ),
    "cte in a subquery": (
        "SELECT a FROM (WITH c AS (SELECT a FROM m) SELECT a FROM c) JOIN c",
        "SELECT a FROM ( SELECT a FROM ((SELECT a FROM (<m> AS m)) AS c)) JOIN c",
    ),
    "shadowed": (
        "WITH c AS (SELECT a FROM m) SELECT a FROM (WITH c AS (SELECT a FROM n) SELECT a FROM c) JOIN c",
        "SELECT a FROM ( SELECT a FROM ((SELECT a FROM (<n> AS n)) AS c)) JOIN ((SELECT a FROM (<m> AS m)) AS c)",
    ),
    "a table before its name is a cte": (
        "WITH c AS (SELECT a FROM x), x AS (SELECT a FROM m) SELECT a FROM c JOIN x",
        "SELECT a FROM ((SELECT a FROM x) AS c) JOIN ((SELECT a FROM (<m> AS m)) AS x)",
    ),
    "over a union": (
        "WITH c AS (SELECT a FROM m) SELECT a FROM c UNION SELECT a FROM c",
        "SELECT a FROM ((SELECT a FROM (<m> AS m)) AS c) UNION SELECT a FROM ((SELECT a FROM (<m> AS m)) AS c)",
    ),
    "recursive": (
        "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 9), c AS (SELECT i FROM r)"
        " SELECT a FROM m JOIN c ON a = i",
        "SELECT a FROM (<m> AS m) JOIN ((SELECT i FROM ((WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL"
        " SELECT i + 1 FROM r WHERE i < 9) SELECT * FROM r) AS r)) AS c) ON a = i",
    ),
}


@pytest.mark.parametrize(("query", "expected"), CASES.values(), ids=CASES)
def test_cut(query: str, expected: str) -> None:
    assert shown(cut(query)) == expected


READABLE = {name: query for name, (query, _) in CASES.items() if name != "sample"}  # sqlglot reads none there


@pytest.mark.parametrize("query", READABLE.values(), ids=READABLE)
def test_what_is_rendered_reads_as_sql_and_names_no_member(query: str) -> None:
    found = cut(query)
    fillings = [f"r{number}" for number in range(len(found.slots))]
    text = found.render([f"filled.{name}" for name in fillings])
    tables = [
        t
        for t in sqlglot.parse_one(text, dialect="spark").find_all(exp.Table)
        if not t.find_ancestor(exp.Hint)
    ]
    assert sorted(t.name for t in tables if t.db == "filled") == sorted(fillings)
    assert not [t.sql() for t in tables if t.name.casefold() in ("m", "n") and t.db in ("", "s")]


REFUSED = {
    "TABLE": ("TABLE m", "it is not a query"),
    "TABLE in brackets": ("SELECT a FROM (TABLE m)", "m, a member"),
    "table argument": ("SELECT a FROM f(TABLE(m))", "m, a member"),
    "stream": ("SELECT a FROM STREAM m", "m, a member"),
    "identifier": ("SELECT a FROM IDENTIFIER('m')", "IDENTIFIER"),
    "pipe": ("FROM m |> SELECT a", "pipe"),
    "no query": ("DROP TABLE m", "not a query"),
    "broken": ("SELECT a FROM (m", "cannot be cut"),
    "two of one name": ("SELECT s.m.a FROM s.m JOIN t.m ON s.m.a = t.m.a", "alias"),
    "captured by a recursive cte": (
        "WITH RECURSIVE d AS (SELECT a FROM r), r AS (SELECT a FROM d UNION ALL SELECT a + 1 FROM r) SELECT a FROM r",
        "recursive",
    ),
}


@pytest.mark.parametrize(("query", "reason"), REFUSED.values(), ids=REFUSED)
def test_refused(query: str, reason: str) -> None:
    with pytest.raises(SparkDeployError, match="SD820") as error:
        cut(query)
    assert reason in str(error.value)


def test_slots_are_filled_in_their_order() -> None:
    found = cut("WITH c AS (SELECT a FROM m, n) SELECT 1 FROM c, m, c")
    assert [name.object for name in found.slots] == ["m", "n", "m", "m", "n"]
    assert re.findall(r"r\d", found.render([f"r{number}" for number in range(5)])) == [
        "r0",
        "r1",
        "r2",
        "r3",
        "r4",
    ]


BRANCHES = {
    "union": ("SELECT a FROM o UNION SELECT a FROM m", ["SELECT a FROM o", "SELECT a FROM (<m> AS m)"]),
    "three": (
        "SELECT 1 UNION ALL SELECT a FROM n UNION DISTINCT SELECT a FROM m",
        ["SELECT 1", "SELECT a FROM (<n> AS n)", "SELECT a FROM (<m> AS m)"],
    ),
    "cte": (
        "WITH c AS (SELECT a FROM m UNION SELECT 2) SELECT 1 UNION SELECT a FROM c",
        ["SELECT 1", "SELECT a FROM ((SELECT a FROM (<m> AS m) UNION SELECT 2) AS c)"],
    ),
    "in brackets": ("(SELECT 1 UNION SELECT a FROM m)", []),
    "no union": ("SELECT DISTINCT a FROM m", []),
    "except": ("SELECT a FROM m UNION SELECT 1 EXCEPT SELECT 2", []),
    "order": ("SELECT a FROM m UNION SELECT 1 ORDER BY a", []),
    "limit": ("SELECT a FROM m UNION SELECT 1 LIMIT 3", []),
}


@pytest.mark.parametrize(("query", "expected"), BRANCHES.values(), ids=BRANCHES)
def test_branches(query: str, expected: list[str]) -> None:
    assert [shown(branch) for branch in cut(query).branches] == expected

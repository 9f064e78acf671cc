"""Plain queries are read without a parser; anything else is left to one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from airflow_provider_sparkdeploy.core.lexer import lex, split
from airflow_provider_sparkdeploy.core.shrink import find_cuts
from airflow_provider_sparkdeploy.core.skeleton import plain_tables


def tables(sql: str) -> set[str] | None:
    (found,) = split(lex(sql))
    names = plain_tables(found, find_cuts(found))
    return None if names is None else {".".join(parts) for parts in names}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a FROM t", "t"),
        ("SELECT 1", ""),
        ("SELECT * FROM s.t x JOIN cat.s.u AS y ON x.a = y.a LEFT ANTI JOIN w USING (a, b), z", "s.t cat.s.u w z"),
        ("SELECT a FROM (SELECT b FROM t WHERE left(b, 1) = 'u') x GROUP BY a HAVING max(b) > 1 ORDER BY a LIMIT 3", "t"),
        ("WITH u AS (SELECT * FROM u), v AS (SELECT * FROM u JOIN s.u) SELECT * FROM v, w", "u s.u w"),
        ("SELECT * FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a IN (SELECT a FROM w)) AND b = 1", "t u w"),
        ("SELECT (SELECT max(a) FROM u) AS m, CASE WHEN a THEN b END FROM t", "t u"),
        ("(SELECT a FROM t) UNION ALL SELECT a FROM u EXCEPT (WITH t AS (SELECT 1) SELECT * FROM t)", "t u"),
        ("SELECT * FROM select.table JOIN `Or``der` AS `from`", "select.table or`der"),
        ("SELECT sum(a) OVER (PARTITION BY b ORDER BY c) FROM t WHERE a IS NOT DISTINCT FROM u", "t"),
        ("SELECT 'FROM u' /* FROM w */ FROM t -- FROM z", "t"),
    ],
)  # fmt: skip
def test_a_plain_query_is_read(sql: str, expected: str) -> None:
    assert tables(sql) == set(expected.split())


@pytest.mark.parametrize(
    "sql",
    [
        "FROM t SELECT a",
        "TABLE t",
        "INSERT INTO t SELECT * FROM u",
        "SELECT * FROM range(3)",
        "SELECT * FROM VALUES (1)",
        "SELECT * FROM (t JOIN u)",
        "SELECT * FROM t, LATERAL (SELECT 1 FROM u)",
        "SELECT * FROM t LATERAL VIEW explode(xs) u AS x",
        "SELECT * FROM t TABLESAMPLE (1 PERCENT)",
        "SELECT * FROM t VERSION AS OF 3",
        "SELECT * FROM t PIVOT (sum(a) FOR b IN (1))",
        "SELECT * FROM t x(a, b)",
        "SELECT * FROM 2020_orders",
        "SELECT * FROM t x y",
        "SELECT * FROM t WHERE a IN (VALUES (1))",
        "SELECT * FROM t x USING (a)",
        "SELECT * FROM t ANTI OUTER JOIN u",
        "SELECT * EXCEPT (a) FROM t",
        "SELECT extract(year FROM d) FROM t",
        "SELECT a FROM t WINDOW w AS (PARTITION BY a)",
        "WITH RECURSIVE x AS (SELECT 1 UNION ALL SELECT 1 FROM x) SELECT * FROM x",
        "WITH x (a) AS (SELECT 1) SELECT * FROM x",
        "SELECT a FROM t |> WHERE a > 1",
        "SELECT a FROM t UNION BY NAME SELECT a FROM u",
        "SELECT a FROM t)",
        "(SELECT a FROM t",
    ],
)
def test_what_is_not_surely_understood_is_left_to_the_parser(sql: str) -> None:
    assert tables(sql) is None


def test_a_plain_query_imports_no_parser() -> None:
    text = "CREATE VIEW s.v AS WITH c AS (SELECT * FROM t) SELECT * FROM c JOIN u ON c.a = u.a"
    program = (
        "import sys; from airflow_provider_sparkdeploy.core.parse import Source, parse_object; "
        f"found = parse_object(Source('s/view/v.sql', 's', 'view', 'v', {text!r}, ('s',), 'default')); "
        "print(found.object.body.statements[0].references.tables, 'sqlglot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(('t',), ('u',)) False"

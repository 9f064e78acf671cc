"""Laws of references: a plain query, read by its skeleton, names what its syntax tree names."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_provider_sparkdeploy.core import references
from airflow_provider_sparkdeploy.core.lexer import lex, split
from airflow_provider_sparkdeploy.core.shrink import find_cuts
from airflow_provider_sparkdeploy.core.skeleton import plain_tables
from airflow_provider_sparkdeploy.core.statement import statement_text

_NAMES = st.sampled_from(["t", "u", "T", "`a.b`", "`order`", "date", "first", "value", "left_x"])
_EXPRESSIONS = st.sampled_from(
    [
        "a = b", "t.a > 1", "f(x, y)", "left(a, 2) = 'x'", "x.left", "CASE WHEN a THEN b END", "'from u'", "a[0]",
        "sum(a) OVER (PARTITION BY b ORDER BY c DESC)", "count(*) FILTER (WHERE a > 1)", "a IS NOT DISTINCT FROM b",
        "a BETWEEN 1 AND 2", "(a + b) * 2", "transform(xs, x -> x + 1)", "CAST(a AS decimal(1, 2))",
        "/* FROM w */ b", "extract(year FROM d)",
    ]
)  # fmt: skip
_JOINS = st.sampled_from(
    ["JOIN", "LEFT JOIN", "INNER JOIN", "LEFT ANTI JOIN", "CROSS JOIN", "NATURAL JOIN", "FULL OUTER JOIN", "SEMI JOIN"]
)  # fmt: skip
_STRANGE_SOURCES = st.sampled_from(
    [
        "range(3)", "VALUES (1) AS v(a)", "(t JOIN u)", "LATERAL (SELECT 1 FROM u)", "t TABLESAMPLE (1 PERCENT)",
        "t VERSION AS OF 1", "t PIVOT (sum(a) FOR b IN (1))", "t LATERAL VIEW explode(a) z AS y", "t z(a, b)",
    ]
)  # fmt: skip


@st.composite
def _expression(draw: st.DrawFn, depth: int) -> str:
    if depth and draw(st.integers(0, 5)) == 5:
        form = draw(st.sampled_from(["x IN ({})", "EXISTS ({})", "NOT EXISTS ({})", "a > ({})"]))
        return form.format(draw(_query(depth - 1)))
    return draw(_EXPRESSIONS)


@st.composite
def _source(draw: st.DrawFn, depth: int) -> str:
    what = draw(st.integers(0, 9))
    if what == 9:
        return draw(_STRANGE_SOURCES)
    alias = draw(st.sampled_from(["", " {}", " AS {}"])).format(draw(_NAMES))
    if what > 6 and depth:
        return f"({draw(_query(depth - 1))}){alias}"
    return draw(st.sampled_from(["", "s.", "cat.s."])) + draw(_NAMES) + alias


@st.composite
def _select(draw: st.DrawFn, depth: int) -> str:
    text = f"SELECT {draw(_expression(depth))} FROM {draw(_source(depth))}"
    for _ in range(draw(st.integers(0, 2))):
        if draw(st.booleans()):
            condition = draw(st.sampled_from(["", " USING (a, b)", " ON {}"]))
            text += f" {draw(_JOINS)} {draw(_source(depth))}{condition.format(draw(_expression(depth)))}"
        else:
            text += f", {draw(_source(depth))}"
    for clause in ("WHERE {}", "GROUP BY a, b", "HAVING {}", "QUALIFY {}", "WINDOW w AS (PARTITION BY a)"):
        if draw(st.integers(0, 4)) == 4:
            text += " " + clause.format(draw(_expression(depth)))
    return text


@st.composite
def _query(draw: st.DrawFn, depth: int) -> str:
    text = ""
    if depth and draw(st.integers(0, 2)) == 2:
        ctes = [f"{draw(_NAMES)} AS ({draw(_query(depth - 1))})" for _ in range(draw(st.integers(1, 2)))]
        text = f"WITH {draw(st.sampled_from(['', '', 'RECURSIVE ']))}{', '.join(ctes)} "
    text += draw(_select(depth))
    if draw(st.integers(0, 3)) == 3:
        words = draw(st.sampled_from(["UNION", "UNION ALL", "EXCEPT", "INTERSECT", "MINUS"]))
        text += f" {words} {draw(_select(depth))}"
    return text + draw(st.sampled_from(["", "", " ORDER BY a", " LIMIT 5"]))


@settings(max_examples=400, deadline=None)
@given(_query(2))
def test_a_skeleton_names_what_the_syntax_tree_names(sql: str) -> None:
    (found,) = split(lex(sql))
    tables = plain_tables(found, find_cuts(found))
    tree = references.parse_tree(statement_text(sql, found))
    if tables is not None and tree is not None:
        assert tables == references._tables(tree)

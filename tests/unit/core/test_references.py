"""What a statement depends on, whatever Spark lets an author write.

The statements are those of a migration ``s.m`` in a repository that holds the objects below;
a name in ``s`` needs no schema. Every statement was given to the parser of Spark 4.2, but for
those of Delta and Databricks.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from operator import itemgetter

import pytest
from sketch import healthy

from airflow_provider_sparkdeploy.core import references
from airflow_provider_sparkdeploy.core.cache import pack, unpack_all
from airflow_provider_sparkdeploy.core.graph import Graph, build_graph
from airflow_provider_sparkdeploy.core.lazy import Objects
from airflow_provider_sparkdeploy.core.names import ObjectName
from airflow_provider_sparkdeploy.core.objects import ObjectDef, Statement
from airflow_provider_sparkdeploy.core.parse import Parsed, Source, parse_object
from airflow_provider_sparkdeploy.core.repository import Repository

_NAMES = ["s.t", "s.u", "s.w", "s.orders", "s.order", "s.group", "other.from", "s.c.d", "s.a`b", "s.my table", "s.2020_orders", "s.größe", "other.t", "other.orders", "select.table", "A_b.c", "a.b_c"]  # fmt: skip
_FUNCTIONS = ["s.f", "s.g", "s.mask", "s.2020_fn", "s.my fn", "other.f", "other.only"]


def _quoted(name: str) -> tuple[str, str, str]:
    schema, _, rest = name.partition(".")
    return schema, rest, f"`{schema}`.`{rest.replace('`', '``')}`"


def _with(objects: Objects, item: ObjectDef) -> Objects:
    """The objects, and one more."""
    rows = [pack(Parsed(other)) for other in (*objects.values(), item)]
    return unpack_all(sorted(rows, key=itemgetter(1, 2)))


@functools.cache
def _others() -> Repository:
    files = {}
    for name in _NAMES:
        schema, rest, quoted = _quoted(name)
        files[f"{schema}/table/{rest}.sql"] = f"//// CHANGE name=init\nCREATE TABLE {quoted} (a INT)"
    for name in _FUNCTIONS:
        schema, rest, quoted = _quoted(name)
        files[f"{schema}/function/{rest}.sql"] = f"CREATE FUNCTION {quoted}(x INT) RETURNS INT RETURN x"
    return healthy(files)


def migration(sql: str) -> tuple[Graph, Statement]:
    text = f"//// CHANGE name=c\n{sql}"
    parsed = parse_object(Source("s/migration/m.sql", "s", "migration", "m", text, ("s",), "default"))
    assert parsed.object is not None, parsed.problems
    (statement,) = parsed.object.changes[0].statements
    others = _others()
    return build_graph(replace(others, objects=_with(others.objects, parsed.object))), statement


def dependencies(sql: str) -> set[str]:
    graph, _ = migration(sql)
    return {f"{name.schema}.{name.object}" for name in graph.depends_on[ObjectName("s", "m")]}


def words(text: str) -> set[str]:
    return set(text.split())


NAMES = {
    "qualified": ("SELECT * FROM other.t", "other.t"),
    "unqualified": ("SELECT * FROM t", "s.t"),
    "session catalog": ("SELECT * FROM spark_catalog.other.t", "other.t"),
    "another catalog": ("SELECT * FROM lake.other.t", ""),
    "another schema": ("SELECT * FROM nowhere.t", ""),
    "another case": ("SELECT * FROM OTHER.T JOIN `S`.`U`", "other.t s.u"),
    "schema and table do not run together": ("SELECT * FROM a.b_c", "a.b_c"),
    "nor the other way": ("SELECT * FROM a_b.c", "a_b.c"),
    "dot in a back-quoted name": ("SELECT * FROM s.`c.d`", "s.c.d"),
    "dotted name in one pair of back quotes": ("SELECT * FROM `other.t`", ""),
    "back quote in a back-quoted name": ("SELECT * FROM `a``b`", "s.a`b"),
    "blank in a name": ("SELECT * FROM s.`my table` x", "s.my table"),
    "name that starts with a digit": ("SELECT * FROM s.2020_orders o WHERE o.1b = 1", "s.2020_orders"),
    "the same without a schema": ("SELECT * FROM 2020_orders", "s.2020_orders"),
    "umlauts": ("SELECT * FROM `GRÖSSE`", "s.grösse"),
    "reserved words": ("SELECT * FROM select.table JOIN other.from", "select.table other.from"),
    "reserved words in back quotes": ("SELECT * FROM `order` o JOIN `group` g USING (id)", "s.order s.group"),
    "reserved word behind a comma": ("SELECT * FROM t, group g WHERE g.x = 1", "s.t s.group"),
    "reserved word with an alias": ("SELECT * FROM t, order o", "s.t s.order"),
    "reserved word as an alias": ("SELECT * FROM t order, u", "s.t s.u"),
}

NOT_REFERENCES = {
    "literal": ("SELECT 'other.orders', 'u' FROM t", "s.t"),
    "literal in double quotes": ('SELECT "u" FROM t', "s.t"),
    "escaped literal": (r"SELECT 'it\'s FROM u' FROM t", "s.t"),
    "line comment": ("SELECT 1 FROM t -- JOIN u", "s.t"),
    "nested comment": ("SELECT 1 FROM t /* JOIN /* u */ w */", "s.t"),
    "column": ("SELECT u, t.orders, w AS x FROM t WHERE orders = 1 GROUP BY w ORDER BY u", "s.t"),
    "field of a struct": ("SELECT x.orders.u, other.orders.a FROM t x", "s.t"),
    "alias of a table": ("SELECT u.a FROM t AS u JOIN other.t w ON u.a = w.a", "s.t other.t"),
    "alias of a column": ("SELECT a AS u FROM t", "s.t"),
    "alias of a subquery": ("SELECT u.a FROM (SELECT a FROM t) u", "s.t"),
    "column named begin": ("SELECT begin, orders FROM t", "s.t"),
    "columns begin and end": ("SELECT begin, end, u FROM t", "s.t"),
    "path in a variant": ("SELECT v:orders.u, v:begin FROM t", "s.t"),
    "alias in a hint": ("SELECT /*+ BROADCAST(u) */ * FROM t JOIN other.t u ON t.a = u.a", "s.t other.t"),
    "hint for the table read": (
        "SELECT /*+ BROADCAST(orders), REPARTITION(3, w) */ * FROM other.orders",
        "other.orders",
    ),
    "lateral view": ("SELECT * FROM t LATERAL VIEW OUTER explode(xs) u AS w", "s.t"),
    "columns of VALUES": ("SELECT * FROM VALUES (1), (2) AS u(orders)", ""),
    "window": ("SELECT sum(a) OVER u FROM t WINDOW u AS (PARTITION BY b)", "s.t"),
    "lambda": ("SELECT transform(a, u -> u + 1) FROM t", "s.t"),
    "named argument": ("SELECT * FROM other.f(u => 1)", "other.f"),
    "pivot": ("SELECT * FROM t PIVOT (sum(u) AS w FOR orders IN ('a', 'b'))", "s.t"),
    "jinja": ("SELECT '{{ ref(\"orders\") }}' FROM t", "s.t"),
    "path": ("SELECT * FROM parquet.`/data/u`, delta.`/x/other.orders`", ""),
    "built-in table function": ("SELECT * FROM range(10), explode(array(1))", ""),
    "dynamic SQL": ("EXECUTE IMMEDIATE 'SELECT * FROM u'", ""),
}

CTES = {
    "shadows a table": ("WITH u AS (SELECT * FROM t) SELECT * FROM u", "s.t"),
    "in another case": ("WITH U AS (SELECT * FROM t) SELECT * FROM `u`", "s.t"),
    "reads the table that it shadows": ("WITH u AS (SELECT * FROM u) SELECT * FROM u", "s.u"),
    "does not shadow a qualified name": ("WITH u AS (SELECT 1) SELECT * FROM u JOIN s.u", "s.u"),
    "chained": ("WITH t AS (SELECT * FROM u), w AS (SELECT * FROM t) SELECT * FROM w", "s.u"),
    "not visible before it": ("WITH t AS (SELECT * FROM u), u AS (SELECT * FROM t) SELECT * FROM u", "s.u"),
    "nested": ("WITH w AS (WITH u AS (SELECT * FROM t) SELECT * FROM u) SELECT * FROM w JOIN u", "s.t s.u"),
    "outer seen from inside": ("WITH u AS (SELECT * FROM t) SELECT * FROM (SELECT * FROM u) JOIN (SELECT 1 WHERE EXISTS (SELECT 1 FROM u))", "s.t"),
    "in a subquery": ("SELECT * FROM (WITH u AS (SELECT * FROM t) SELECT * FROM u) x JOIN u ON true", "s.t s.u"),
    "in a scalar subquery": ("SELECT (WITH u AS (SELECT * FROM t) SELECT max(a) FROM u) FROM w", "s.t s.w"),
    "in a condition": ("SELECT * FROM w WHERE a IN (WITH u AS (SELECT * FROM t) SELECT a FROM u)", "s.t s.w"),
    "recursive": ("WITH RECURSIVE u(n) AS (SELECT a FROM t UNION ALL SELECT n + 1 FROM u WHERE n < 5) SELECT * FROM u", "s.t"),
    "recursive beside a plain one": ("WITH RECURSIVE w AS (SELECT 1), u AS (SELECT * FROM t UNION SELECT * FROM u) SELECT * FROM u, w", "s.t"),
    "with columns": ("WITH t (a) AS (SELECT 1), u (a, b) AS (SELECT 1, 2) SELECT * FROM t JOIN u", ""),
    "with columns, named like a function": ("WITH t (a) AS (SELECT 1), f (a) AS (SELECT 2) SELECT * FROM t, f", ""),
    "in a view": ("CREATE VIEW s.v AS WITH u AS (SELECT * FROM t) SELECT * FROM u", "s.t"),
    "in an insert": ("INSERT INTO w WITH u AS (SELECT * FROM t) SELECT * FROM u", "s.t s.w"),
    "before an insert": ("WITH u AS (SELECT * FROM t) INSERT INTO w SELECT * FROM u", "s.t s.w"),
    "does not shadow the target": ("WITH u AS (SELECT * FROM t) INSERT INTO u SELECT * FROM u", "s.t s.u"),
    "in a merge": ("MERGE INTO w USING (WITH u AS (SELECT * FROM t) SELECT * FROM u) x ON w.a = x.a WHEN MATCHED THEN DELETE", "s.t s.w"),
    "in a union": ("SELECT * FROM u UNION ALL (WITH u AS (SELECT * FROM t) SELECT * FROM u)", "s.t s.u"),
    "recursion with a limit": ("WITH RECURSIVE u(n) MAX RECURSION LEVEL 10 AS (SELECT a FROM t UNION ALL SELECT n + 1 FROM u) SELECT * FROM u", "s.t"),
    "in pipes": ("WITH u AS (SELECT * FROM t) FROM u |> WHERE a > 1 |> JOIN w", "s.t s.w"),
    "over both sides of a union": ("WITH u AS (SELECT * FROM t) SELECT * FROM u UNION SELECT * FROM u EXCEPT SELECT * FROM w", "s.t s.w"),
}  # fmt: skip

QUERIES = {
    "joins": ("SELECT * FROM t JOIN u ON t.a = u.a LEFT ANTI JOIN w ON u.a = w.a, orders", "s.t s.u s.w s.orders"),
    "natural and cross": ("SELECT * FROM t NATURAL JOIN u CROSS JOIN (w)", "s.t s.u s.w"),
    "join in brackets": ("SELECT * FROM t JOIN (u JOIN w ON u.a = w.a) ON t.a = u.a", "s.t s.u s.w"),
    "set operations": ("SELECT * FROM t UNION SELECT * FROM u EXCEPT SELECT * FROM w INTERSECT SELECT * FROM orders", "s.t s.u s.w s.orders"),
    "minus": ("SELECT * FROM t MINUS SELECT * FROM u", "s.t s.u"),
    "subquery in WHERE": ("SELECT * FROM t WHERE a IN (SELECT a FROM u) AND EXISTS (SELECT 1 FROM w)", "s.t s.u s.w"),
    "subquery in SELECT": ("SELECT (SELECT max(a) FROM u), CASE WHEN EXISTS (SELECT 1 FROM w) THEN 1 END FROM t", "s.t s.u s.w"),
    "subquery in ON": ("SELECT * FROM t JOIN u ON t.a = (SELECT max(a) FROM w)", "s.t s.u s.w"),
    "subquery in HAVING and ORDER BY": ("SELECT a FROM t GROUP BY a HAVING max(b) > (SELECT 1 FROM u) ORDER BY (SELECT 1 FROM w)", "s.t s.u s.w"),
    "subquery in FILTER": ("SELECT count(*) FILTER (WHERE a > (SELECT 1 FROM u)) FROM t", "s.t s.u"),
    "subquery in VALUES": ("VALUES (1), ((SELECT max(a) FROM t))", "s.t"),
    "lateral subquery": ("SELECT * FROM t JOIN LATERAL (SELECT * FROM u WHERE u.a = t.a)", "s.t s.u"),
    "FROM inside functions": ("SELECT extract(year FROM d), trim(BOTH 'x' FROM u), substring(w FROM 2) FROM t", "s.t"),
    "IS DISTINCT FROM": ("SELECT * FROM t WHERE a IS NOT DISTINCT FROM u ORDER BY w", "s.t"),
    "TABLE": ("TABLE t", "s.t"),
    "TABLE in a union": ("SELECT * FROM t UNION ALL TABLE u", "s.t s.u"),
    "TABLE in a condition": ("SELECT * FROM t WHERE a IN (TABLE u)", "s.t s.u"),
    "TABLE in a CTE": ("WITH x AS (TABLE t) SELECT * FROM x", "s.t"),
    "TABLE in brackets": ("SELECT * FROM (TABLE t) JOIN u", "s.t s.u"),
    "view of a TABLE": ("CREATE VIEW s.n AS TABLE t", "s.t"),
    "FROM first": ("FROM t SELECT a", "s.t"),
    "FROM alone": ("FROM t", "s.t"),
    "pipes": ("FROM t |> WHERE a > 1 |> JOIN u USING (a) |> AGGREGATE sum(a) GROUP BY b", "s.t s.u"),
    "pipe with a union": ("FROM t |> SELECT a |> WHERE a > 1 |> UNION ALL (SELECT * FROM u)", "s.t s.u"),
    "pipe with EXCEPT and TABLE": ("SELECT * FROM t |> WHERE a IN (SELECT 1 FROM w) |> EXCEPT TABLE u", "s.t s.u s.w"),
    "column named table": ("SELECT a AS table FROM t", "s.t"),
    "columns of all": ("SELECT * EXCEPT (u) FROM t EXCEPT SELECT 1 FROM w", "s.t s.w"),
    "variant of a variant": ("SELECT v:a.b:u[0]::int, v:[0] FROM t WHERE v:orders > 1", "s.t"),
    "sources and fields": ("SELECT * FROM t x, x.arr JOIN LATERAL explode(x.u) w", "s.t"),
    "bracketed table": ("SELECT * FROM (((t))) JOIN (u CROSS JOIN w)", "s.t s.u s.w"),
    "time travel by version": ("SELECT * FROM t VERSION AS OF 3 JOIN u TIMESTAMP AS OF '2020-01-01'", "s.t s.u"),
    "time travel, long form": ("SELECT * FROM t FOR SYSTEM_VERSION AS OF 3", "s.t"),
    "sample": ("SELECT * FROM t TABLESAMPLE (10 PERCENT) x", "s.t"),
    "unpivot": ("SELECT * FROM t UNPIVOT (v FOR n IN (a, b))", "s.t"),
    "qualify": ("SELECT * FROM t QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) = 1", "s.t"),
    "script transform": ("SELECT TRANSFORM (a) USING 'cat' AS (b) FROM t", "s.t"),
    "stream": ("SELECT * FROM STREAM t", "s.t"),
    "stream in brackets": ("SELECT * FROM STREAM(t)", "s.t"),
    "table argument": ("SELECT * FROM other.f(TABLE(t))", "other.f s.t"),
    "named table argument": ("SELECT * FROM other.f(x => TABLE(u))", "other.f s.u"),
    "query as argument": ("SELECT * FROM other.f(TABLE(SELECT * FROM u))", "other.f s.u"),
    "partitioned table argument": ("SELECT * FROM other.f(TABLE(t) PARTITION BY u ORDER BY w)", "other.f s.t"),
    "table argument without brackets": ("SELECT * FROM other.f(TABLE t PARTITION BY u ORDER BY w DESC, 5)", "other.f s.t"),
    "table argument as one": ("SELECT * FROM other.f(TABLE(other.t) WITH SINGLE PARTITION ORDER BY w)", "other.f other.t"),
    "table argument, lists in brackets": (
        "SELECT * FROM other.f(x => TABLE(t) DISTRIBUTE BY (u, g(w)) SORT BY (u DESC, w), y => TABLE(u) PARTITION BY a)",
        "other.f s.t s.g s.u",
    ),
    "partitioned query as argument": (
        "SELECT * FROM other.f(TABLE(SELECT * FROM u, (TABLE w)) PARTITION BY t ORDER BY (t))",
        "other.f s.u s.w",
    ),
    "table argument, partitioned by a query": (
        "SELECT * FROM other.f(TABLE(t) PARTITION BY (SELECT max(a) FROM u))",
        "other.f s.t s.u",
    ),
    "identifier of a literal": ("SELECT * FROM IDENTIFIER('other.t')", "other.t"),
    "identifier of several literals": ("SELECT * FROM IDENTIFIER('other' || '.' || 't') JOIN u", "other.t s.u"),
    "identifier of literals side by side": ("SELECT * FROM identifier('other.' \"t\") x", "other.t"),
    "identifier of a concat": ("SELECT * FROM IDENTIFIER(concat('other.', ('t' || '')))", "other.t"),
}  # fmt: skip

FUNCTIONS = {
    "unqualified": ("SELECT f(a), G (a) FROM t", "s.t s.f s.g"),
    "qualified": ("SELECT other.f(a), `other`.`only`(a) FROM t", "s.t other.f other.only"),
    "of another schema only qualified": ("SELECT only(a) FROM t", "s.t"),
    "built-in wins over an unqualified one": ("SELECT mask(a) FROM t", "s.t"),
    "also in back quotes": ("SELECT `mask`(a) FROM t", "s.t"),
    "qualified one wins over the built-in": ("SELECT s.mask(a) FROM t", "s.t s.mask"),
    "name with a blank": ("SELECT `my fn`(a) FROM t", "s.t s.my fn"),
    "name that starts with a digit": ("SELECT 2020_fn(a) FROM t", "s.t s.2020_fn"),
    "qualified, starts with a digit": ("SELECT s.2020_fn(a) FROM t", "s.t s.2020_fn"),
    "table function": ("SELECT * FROM other.f(1) x", "other.f"),
    "table function in a join": ("SELECT * FROM t JOIN LATERAL f(t.a)", "s.t s.f"),
    "in a lateral view": ("SELECT * FROM t LATERAL VIEW f(a) x AS y", "s.t s.f"),
    "in a lambda": ("SELECT transform(xs, x -> f(x)) FROM t", "s.t s.f"),
    "in a default": ("CREATE TABLE s.n (a INT DEFAULT f(1))", "s.f"),
    "in a check": ("ALTER TABLE s.t ADD CONSTRAINT c CHECK (f(a) > 1)", "s.t s.f"),
    "in a function": ("CREATE FUNCTION s.n(x INT) RETURNS INT RETURN f(x) + (SELECT max(a) FROM t)", "s.f s.t"),
    "in a merge": ("MERGE INTO t USING u ON f(t.a) = u.a WHEN NOT MATCHED THEN INSERT (a) VALUES (g(u.a))", "s.t s.u s.f s.g"),
    "in a script": ("BEGIN IF f(1) > 0 THEN SELECT 1; END IF; END", "s.f"),
    "column with the same name": ("SELECT f, x.g FROM t x", "s.t"),
    "columns of a table alias": ("SELECT * FROM t f(a, b)", "s.t"),
    "columns of an insert": ("INSERT INTO t (f, g) VALUES (1, 2)", "s.t"),
    "columns of a subquery's alias": ("SELECT * FROM (SELECT 1 FROM t) f(a), u AS g(b)", "s.t s.u"),
    "behind NOT and CASE": ("SELECT a, NOT f(a), CASE g(a) WHEN 1 THEN 2 END FROM t", "s.t s.f s.g"),
    "by identifier": ("SELECT IDENTIFIER('other.f')(a) FROM t", "s.t other.f"),
    "by identifier of several literals": ("SELECT IDENTIFIER('other.' || 'f')(a), IDENTIFIER(concat('u'))  FROM t", "s.t other.f"),
    "not as a word": ("SELEKT f, g FORM t", "s.t"),
    "in a query that returns a table": ("CREATE FUNCTION s.n() RETURNS TABLE (f INT) RETURN SELECT g(a) FROM t", "s.g s.t"),
    "dropped": ("DROP FUNCTION IF EXISTS f", "s.f"),
    "partition": ("INSERT OVERWRITE t PARTITION (f = 1) SELECT 1", "s.t"),
}  # fmt: skip

STATEMENTS = {
    "insert": ("INSERT INTO t (a) SELECT a FROM u", "s.t s.u"),
    "insert by name": ("INSERT INTO t BY NAME SELECT * FROM u", "s.t s.u"),
    "insert a table": ("INSERT INTO t TABLE u", "s.t s.u"),
    "insert overwrite": ("INSERT OVERWRITE TABLE t PARTITION (d = 1) SELECT * FROM u", "s.t s.u"),
    "replace where": ("INSERT INTO t REPLACE WHERE a = 1 SELECT * FROM u", "s.t s.u"),
    "insert unless the partition exists": ("INSERT OVERWRITE t PARTITION (w = 1) IF NOT EXISTS SELECT * FROM u", "s.t s.u"),
    "insert into a directory": ("INSERT OVERWRITE DIRECTORY '/x' USING parquet SELECT * FROM t", "s.t"),
    "multi-insert": ("FROM t INSERT INTO u SELECT a WHERE a > 1 INSERT INTO w SELECT b", "s.t s.u s.w"),
    "update": ("UPDATE t SET a = (SELECT max(a) FROM u) WHERE b IN (SELECT b FROM w)", "s.t s.u s.w"),
    "delete": ("DELETE FROM t WHERE a IN (SELECT a FROM u)", "s.t s.u"),
    "merge": ("MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *", "s.t s.u"),
    "merge with evolution": ("MERGE WITH SCHEMA EVOLUTION INTO t USING u w ON t.a = w.a WHEN MATCHED THEN UPDATE SET *", "s.t s.u"),
    "create table as": ("CREATE TABLE s.n USING parquet AS SELECT * FROM t", "s.t"),
    "create table as TABLE": ("CREATE TABLE s.n AS TABLE t", "s.t"),
    "replace table as": ("REPLACE TABLE s.n AS SELECT * FROM t", "s.t"),
    "create table like": ("CREATE TABLE s.n LIKE t", "s.t"),
    "clone": ("CREATE TABLE s.n SHALLOW CLONE t", "s.t"),
    "foreign key": ("CREATE TABLE s.n (a INT, FOREIGN KEY (a) REFERENCES t (a))", "s.t"),
    "create table": ("CREATE TABLE s.n (u INT, orders STRUCT<w: INT>) PARTITIONED BY (t)", ""),
    "columns named by keywords": ("CREATE TABLE s.n (select INT, from STRING, references INT, with INT, join INT)", ""),
    "foreign key of a column": ("CREATE TABLE s.n (a INT REFERENCES t (x), references INT)", "s.t"),
    "alter table": ("ALTER TABLE t ADD COLUMNS (u INT)", "s.t"),
    "alter table to a reserved word": ("ALTER TABLE t ADD COLUMNS (from INT, select INT)", "s.t"),
    "write order": ("ALTER TABLE t WRITE ORDERED BY u", "s.t"),
    "partition field": ("ALTER TABLE t ADD PARTITION FIELD bucket(16, u)", "s.t"),
    "exchange": ("ALTER TABLE t EXCHANGE PARTITION (d = 1) WITH TABLE u", "s.t s.u"),
    "alter view": ("ALTER VIEW t AS SELECT * FROM u", "s.t s.u"),
    "drop": ("DROP TABLE IF EXISTS t", "s.t"),
    "truncate": ("TRUNCATE TABLE t", "s.t"),
    "create index": ("CREATE INDEX i ON t (a)", "s.t"),
    "create index on table": ("CREATE INDEX i ON TABLE t (a)", "s.t"),
    "comment": ("COMMENT ON TABLE t IS 'u'", "s.t"),
    "analyze": ("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS a", "s.t"),
    "refresh": ("REFRESH TABLE t", "s.t"),
    "repair": ("MSCK REPAIR TABLE t", "s.t"),
    "load": ("LOAD DATA INPATH 'u' INTO TABLE t", "s.t"),
    "cache": ("CACHE TABLE x AS SELECT * FROM t", "s.t"),
    "explain": ("EXPLAIN EXTENDED SELECT * FROM t", "s.t"),
    "variable": ("DECLARE VARIABLE x INT DEFAULT (SELECT max(a) FROM t)", "s.t"),
    "set variable": ("SET VAR x = (SELECT max(a) FROM t)", "s.t"),
    "optimize": ("OPTIMIZE t ZORDER BY (a)", "s.t"),
    "vacuum": ("VACUUM s.t RETAIN 168 HOURS", "s.t"),
    "restore": ("RESTORE TABLE t TO VERSION AS OF 3", "s.t"),
    "streaming table": ("CREATE STREAMING TABLE s.n AS SELECT * FROM STREAM t", "s.t"),
    "streaming table, in brackets": ("CREATE STREAMING TABLE s.n AS SELECT * FROM STREAM(t)", "s.t"),
    "flow": ("CREATE FLOW n AS INSERT INTO t BY NAME SELECT * FROM STREAM u", "s.t s.u"),
    "call": ("CALL lake.system.expire_snapshots(table => 'other.x')", ""),
    "script": ("BEGIN DECLARE x INT; SET x = (SELECT max(a) FROM t); IF x > 1 THEN INSERT INTO u SELECT 'w'; END IF; END", "s.t s.u"),
    "view": ("CREATE OR REPLACE VIEW s.n (a COMMENT 'FROM u') COMMENT 'w' TBLPROPERTIES ('u' = 'w') AS SELECT a FROM t", "s.t"),
    "metric view": ("CREATE VIEW s.n WITH METRICS LANGUAGE YAML AS $$ source: other.orders # it's\nfields: [u] $$", "other.orders s.u"),
    "view named like what it reads": ("CREATE VIEW s.t AS SELECT * FROM other.t", "other.t"),
    "materialized view": ("CREATE MATERIALIZED VIEW s.n (u INT, w MAP<STRING, INT>) PARTITIONED BY (u) AS SELECT a FROM t", "s.t"),
    "broken": ("SELEKT a FORM t JOIN u", "s.t s.u"),
}  # fmt: skip

ALL = {
    f"{group}: {name}": case
    for group, cases in {
        "name": NAMES,
        "no reference": NOT_REFERENCES,
        "cte": CTES,
        "query": QUERIES,
        "function": FUNCTIONS,
        "statement": STATEMENTS,
    }.items()
    for name, case in cases.items()
}


def _expected(text: str) -> set[str]:
    """Names with a blank or a dot are the only ones that are not words."""
    found = set()
    for special in ("s.my table", "s.my fn"):
        if special in text:
            text = text.replace(special, "")
            found.add(special)
    return found | words(text)


@pytest.mark.parametrize(("sql", "expected"), ALL.values(), ids=ALL.keys())
def test_a_statement_depends_on_what_it_names(sql: str, expected: str) -> None:
    assert dependencies(sql) == _expected(expected)


@pytest.mark.parametrize(("sql", "expected"), ALL.values(), ids=ALL.keys())
def test_cutting_expressions_before_parsing_loses_nothing(
    sql: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "plain_tables", lambda found, cuts: None)
    with_cuts = dependencies(sql)
    monkeypatch.setattr(references, "find_cuts", lambda found: [])
    assert with_cuts == dependencies(sql)


@pytest.mark.parametrize(
    "sql",
    [
        *(sql for sql, _ in NOT_REFERENCES.values() if not sql.startswith("EXECUTE")),
        *(sql for sql, _ in CTES.values()),
        *(sql for name, (sql, _) in QUERIES.items() if "TABLE" not in name and "long form" not in name and "stream" not in name),
    ],
)  # fmt: skip
def test_queries_are_read_from_a_syntax_tree(sql: str) -> None:
    assert migration(sql)[1].parsed


@pytest.mark.parametrize(
    "sql",
    [
        "OPTIMIZE t",
        "CALL p()",
        "BEGIN SELECT 1; END",
        "SELEKT a FORM t",
        "SELECT * FROM t JOIN IDENTIFIER(lower('S.U'))",
        "SELECT * FROM IDENTIFIER('s.' || :name)",
        "INSERT INTO IDENTIFIER(concat_ws('.', 's', 't')) SELECT 1",
        "DROP TABLE IDENTIFIER(:name)",
        "CREATE FLOW n AS INSERT INTO t SELECT * FROM STREAM u",
    ],
)
def test_what_has_no_syntax_tree_says_so(sql: str) -> None:
    assert not migration(sql)[1].parsed


@pytest.mark.parametrize(
    ("sql", "external"),
    [
        ("SELECT * FROM raw.events JOIN t", {"raw.events"}),
        ("SELECT * FROM lake.other.T", {"lake.other.t"}),
        ("WITH x AS (SELECT 1) SELECT * FROM x", set()),
        ("SELECT * FROM range(3)", set()),
        ("SELECT * FROM raw.`a.b`", {"raw.`a.b`"}),
        ("SELECT /*+ BROADCAST(x) */ * FROM raw.events x", {"raw.events"}),
    ],
)
def test_a_name_that_is_not_in_the_repository_is_listed_as_external(sql: str, external: set[str]) -> None:
    assert set(migration(sql)[0].external.get(ObjectName("s", "m"), ())) == external

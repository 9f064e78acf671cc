"""Which columns a statement reads. Column ``x`` of ``s.t`` is asked for, unless a case says otherwise.

``s.t`` also has y, ts, arr and st; ``s.o`` has x and z, ``s.p`` has z; of ``s.u`` nothing is known.
"""

from __future__ import annotations

import pytest

from airflow_provider_sparkdeploy.core.columnuse import Gives, column_uses

COLUMNS = {
    ("s", "t"): {"y", "ts", "arr", "st"},
    ("t",): {"y", "ts", "arr", "st"},
    ("s", "o"): {"x", "z"},
    ("s", "p"): {"z"},
}


def uses(sql: str, *dropped: str) -> str:
    wanted = frozenset(dropped or ["x"])

    def tables(parts: tuple[str, ...], column: str) -> Gives:
        if parts[-1] == "t" and column in wanted:
            return Gives.OURS
        known = COLUMNS.get(parts)
        if known is None:
            return Gives.UNKNOWN
        return Gives.THEIRS if column in known else Gives.NOTHING

    certain, possible = column_uses(sql, wanted, tables)
    return "certain" if certain else "possible" if possible else "none"


VALID_WITHOUT = {
    "date": "SELECT date '2020-01-01' AS d FROM s.t",
    "timestamp": "SELECT y FROM s.t WHERE ts > timestamp '2020-01-01'",
    "timestamp_ntz": "SELECT y FROM s.t WHERE ts > timestamp_ntz '2020-01-01'",
    "day": "SELECT dateadd(day, 1, ts), datediff(day, ts, ts), timestampadd(day, 1, ts), timediff(day, ts, ts) FROM s.t",
    "year": "SELECT extract(year FROM ts) AS e, cast(y AS string) FROM s.t",
    "user": "SELECT user FROM s.t",
    "current_date": "SELECT y FROM s.t WHERE ts < current_date",
    "int": "SELECT cast(y AS int), y::int FROM s.t",
    "a": "SELECT st.a, named_struct('a', y), struct(y AS a) FROM s.t",
    "b": "SELECT /*+ BROADCAST(b) */ cast(st AS struct<b: int>) FROM s.t",
}

NOT_READ = [
    "SELECT transform(arr, x -> x + 1) FROM s.t",
    "SELECT transform(arr, X -> x + 1) FROM s.t",
    "SELECT transform(arr, (e, x) -> x.b + e), filter(arr, e -> exists(arr, x -> x > e)) FROM s.t",
    "SELECT my_function(x => y) FROM s.t",
    "SELECT y x FROM s.t ORDER BY x",
    "SELECT y AS x FROM s.t GROUP BY x HAVING x > 1",
    "SELECT y AS x, x + 1 AS z FROM s.t",
    "SELECT x.y FROM s.t x",
    "SELECT x.y FROM s.t AS x WHERE EXISTS (SELECT 1 FROM s.p WHERE p.z = x.y)",
    "SELECT y FROM s.t JOIN range(3) r(x) ON x = y",
    "SELECT x FROM s.t LATERAL VIEW explode(arr) e AS x",
    "SELECT x FROM s.t, LATERAL explode(arr) AS e(x)",
    "SELECT x FROM s.t, LATERAL (SELECT y + 1 AS x) q",
    "SELECT o.x, t.y FROM s.t t JOIN s.o o ON o.z = t.y",
    "SELECT s.o.x FROM s.t JOIN s.o ON z = y",
    "SELECT x FROM s.t JOIN s.o ON z = y",
    "SELECT x FROM s.o LEFT SEMI JOIN s.t ON y = z",
    "SELECT y FROM s.t WHERE y IN (SELECT x FROM s.o)",
    "SELECT y FROM s.t WHERE y IN (SELECT x FROM s.u)",
    "WITH t AS (SELECT y AS x FROM s.t) SELECT x FROM t",
    "WITH c (x) AS (SELECT y FROM s.t) SELECT x FROM c",
    "WITH RECURSIVE x AS (SELECT y FROM s.t UNION ALL SELECT y FROM x) SELECT y FROM x",
    "SELECT x FROM (SELECT y AS x FROM s.t)",
    "SELECT x FROM (SELECT y FROM s.t) AS q(x)",
    "SELECT y AS x FROM s.t UNION SELECT z FROM s.o ORDER BY x",
    "SELECT * FROM s.t",
    "SELECT y FROM s.t WHERE y IN (SELECT x FROM (SELECT st.* FROM s.u))",
    "SELECT y FROM s.t, LATERAL (SELECT x FROM (SELECT u.a.b.* FROM s.u)) q",
    "SELECT 'x' AS a, `y` FROM s.t -- x",
    "SELECT y, sum(y) OVER x FROM s.t WINDOW x AS (PARTITION BY y)",
    "SELECT s.t.y FROM s.t",
]

READ = [
    "SELECT x FROM s.t",
    "SELECT `X` FROM s.t",
    "SELECT t.x FROM s.t",
    "SELECT s.t.x FROM s.t",
    "SELECT a.x FROM s.t a JOIN s.u b ON a.y = b.y",
    "SELECT y FROM s.t WHERE x > 1",
    "SELECT coalesce(x, 0) AS x FROM s.t",
    "SELECT x x FROM s.t",
    "SELECT x.f.g FROM s.t",
    "SELECT x + 1 AS z, y AS x FROM s.t",
    "SELECT y AS x FROM s.t WHERE x > 1",
    "SELECT y FROM s.t GROUP BY y, x",
    "SELECT y FROM s.t ORDER BY x",
    "SELECT sum(y) OVER (PARTITION BY x) FROM s.t",
    "SELECT transform(arr, e -> e + x) FROM s.t",
    "SELECT y FROM s.t LATERAL VIEW explode(x) e AS x",
    "SELECT q.z FROM s.t, LATERAL explode(x) AS q(z)",
    "SELECT * EXCEPT (x) FROM s.t",
    "SELECT x FROM s.t JOIN s.p ON y = z",
    "SELECT y FROM s.u JOIN s.t USING (x)",
    "SELECT y FROM s.t JOIN s.u USING (x)",
    "SELECT z FROM s.p WHERE EXISTS (SELECT 1 FROM s.t WHERE x = z)",
    "SELECT y FROM s.t WHERE EXISTS (SELECT 1 FROM s.p WHERE z = x)",
    "SELECT (SELECT max(x) FROM s.t) FROM s.p",
    "SELECT x FROM (SELECT * FROM s.t)",
    "WITH c AS (SELECT * FROM s.t) SELECT c.x FROM c JOIN s.p ON y = z",
    "WITH c AS (SELECT x FROM s.t) SELECT 1",
    "SELECT q.x FROM (s.t AS q JOIN s.p ON y = z)",
    "SELECT z FROM s.o UNION SELECT x FROM s.t",
    "FROM s.t SELECT x",
    "SELECT date_trunc('day', x), x:a FROM s.t",
]

PERHAPS = [
    "SELECT x FROM s.t VERSION AS OF 3",
    "SELECT t.x FROM s.t FOR TIMESTAMP AS OF '2024-01-01' AS t",
    "SELECT x FROM s.t JOIN s.u ON t.y = u.y",
    "SELECT x FROM s.t, LATERAL explode(arr)",
    "SELECT z FROM s.u WHERE EXISTS (SELECT 1 FROM s.t WHERE x = z)",
    "SELECT x FROM (SELECT * FROM s.t JOIN s.u ON t.y = u.y)",
    "SELECT x FROM s.t PIVOT (sum(y) FOR ts IN (1))",
    "FROM s.t |> WHERE x > 1 |> SELECT y",
    "SELECT t.x FROM (SELECT *, arr AS t FROM s.t) t",
    "SELECT x FORM s.t",
]


@pytest.mark.parametrize("column", VALID_WITHOUT)
def test_a_word_of_the_language_is_no_column(column: str) -> None:
    assert uses(f"CREATE VIEW s.v AS {VALID_WITHOUT[column]}", column) == "none"


@pytest.mark.parametrize("query", NOT_READ)
def test_what_another_thing_is_called_is_not_read(query: str) -> None:
    assert uses(f"CREATE VIEW s.v AS {query}") == "none"


@pytest.mark.parametrize("query", READ)
def test_what_can_be_nothing_else_is_read(query: str) -> None:
    assert uses(f"CREATE VIEW s.v AS {query}") == "certain"


@pytest.mark.parametrize("query", PERHAPS)
def test_what_may_be_something_else_is_perhaps_read(query: str) -> None:
    assert uses(f"CREATE VIEW s.v AS {query}") == "possible"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("CREATE VIEW s.v (x) AS SELECT y FROM s.t", "none"),
        ("CREATE TABLE s.x (x INT) USING iceberg PARTITIONED BY (x) AS SELECT y AS x FROM s.t", "none"),
        ("CREATE TABLE s.n AS SELECT x FROM s.t", "certain"),
        ("CREATE TABLE s.n LIKE s.t LOCATION 'x'", "none"),
        ("INSERT INTO s.o (x, y) SELECT 1, y FROM s.t", "none"),
        ("INSERT INTO s.o (z) SELECT x FROM s.t", "certain"),
        ("INSERT INTO s.t (x, y) SELECT z, z FROM s.o", "certain"),
        ("INSERT INTO s.t BY NAME SELECT z AS x FROM s.o", "possible"),
        ("INSERT INTO s.t BY NAME SELECT x AS y FROM s.o", "none"),
        ("INSERT INTO s.t REPLACE WHERE x > 1 SELECT * FROM s.o", "certain"),
        ("WITH c AS (SELECT x FROM s.t) INSERT INTO s.o SELECT * FROM c", "certain"),
        ("INSERT OVERWRITE DIRECTORY '/x' USING parquet OPTIONS (x = 1) SELECT y FROM s.t", "none"),
        ("INSERT OVERWRITE LOCAL DIRECTORY '/x' USING parquet SELECT x FROM s.t", "certain"),
        ("UPDATE s.t SET y = x", "certain"),
        ("UPDATE s.t SET x = 1", "certain"),
        ("UPDATE s.o SET x = 1 WHERE z IN (SELECT y FROM s.t)", "none"),
        ("DELETE FROM s.t WHERE x > 1", "certain"),
        ("DELETE FROM s.t AS x WHERE x.y > 1", "none"),
        ("MERGE INTO s.o AS o USING s.t AS t ON o.z = t.y WHEN MATCHED THEN UPDATE SET x = t.y", "none"),
        ("MERGE INTO s.o AS o USING s.t AS t ON o.z = t.y WHEN NOT MATCHED THEN INSERT (x) VALUES (t.y)", "none"),
        ("MERGE INTO s.o AS o USING s.t AS t ON o.z = t.y WHEN MATCHED THEN UPDATE SET z = t.x", "certain"),
        ("MERGE INTO s.t AS t USING s.o AS o ON o.z = t.y WHEN NOT MATCHED THEN INSERT (x) VALUES (o.z)", "certain"),
        ("MERGE INTO s.t AS t USING s.o AS o ON o.z = t.y WHEN NOT MATCHED THEN INSERT (y) VALUES (x)", "none"),
        ("MERGE INTO s.t AS t USING s.p AS p ON p.z = t.y WHEN MATCHED AND x > 1 THEN DELETE", "certain"),
        ("CREATE FUNCTION s.f() RETURNS INT RETURN (SELECT max(x) FROM s.t)", "certain"),
        ("CREATE FUNCTION s.f(x INT) RETURNS INT RETURN (SELECT max(x) FROM s.t)", "possible"),
        ("CREATE FUNCTION s.f(x INT) RETURNS INT RETURN x + (SELECT max(y) FROM s.t)", "none"),
        ("ALTER TABLE s.t ADD COLUMNS (x STRING)", "none"),
        ("ALTER TABLE s.t ALTER COLUMN x COMMENT 'c'", "possible"),
        ("OPTIMIZE s.t ZORDER BY (x)", "possible"),
        ("DROP TABLE x", "none"),
    ],
)  # fmt: skip
def test_every_statement_has_its_own_places_for_columns(sql: str, expected: str) -> None:
    assert uses(sql) == expected


def test_a_column_that_is_named_as_its_schema_is_not_a_qualifier() -> None:
    assert uses("CREATE VIEW s.v AS SELECT s.t.y FROM t", "s") == "none"

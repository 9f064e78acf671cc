"""What a statement is, and the splices into it; the rest of the text stays the author's."""

from __future__ import annotations

import pytest

from airflow_provider_sparkdeploy.core.objects import Statement
from airflow_provider_sparkdeploy.core.parse import Source, parse_object
from airflow_provider_sparkdeploy.core.statement import alter_view, function_body, or_replace, view_text


def statement(sql: str, kind: str = "table") -> Statement:
    """The statement as it is in a change of a table, or of a migration."""
    text = f"//// CHANGE name=c\n{sql}\n"
    source = Source(f"s/{kind}/t.sql", "s", kind, "t", text, ("s",), "default")  # type: ignore[arg-type]
    found = parse_object(source)
    assert found.object is not None, found.problems
    (only,) = found.object.changes[0].statements
    return only


QUERIES = {
    "plain": ("CREATE VIEW s.v AS SELECT 1", "SELECT 1"),
    "unqualified": ("create view v as select 1", "select 1"),
    "column list": ("CREATE VIEW s.v (a, b) AS SELECT 1, 2", "SELECT 1, 2"),
    "as in a column comment": ("CREATE VIEW s.v (a COMMENT 'as', b COMMENT 'x AS SELECT') AS SELECT 1, 2", "SELECT 1, 2"),
    "column named as": ("CREATE VIEW s.v (as, `AS`) AS SELECT 1, 2", "SELECT 1, 2"),
    "as in the comment": ("CREATE VIEW s.v COMMENT 'x AS SELECT 0' AS SELECT 1", "SELECT 1"),
    "as in a property": ("CREATE VIEW s.v TBLPROPERTIES ('as' = 'AS', as = 'x') AS SELECT 1", "SELECT 1"),
    "as in a block comment": ("CREATE VIEW s.v /* AS SELECT 0 */ AS SELECT 1", "SELECT 1"),
    "as in a line comment": ("CREATE VIEW s.v -- AS SELECT 0\nAS SELECT 1", "SELECT 1"),
    "everything": (
        "CREATE OR REPLACE VIEW s.v (a COMMENT 'as') COMMENT 'c' TBLPROPERTIES ('k' = 'v') WITH SCHEMA EVOLUTION AS\nSELECT 1",
        "SELECT 1",
    ),
    "collation": ("CREATE VIEW s.v DEFAULT COLLATION UTF8_LCASE AS SELECT 1", "SELECT 1"),
    "view named as": ("CREATE VIEW s.as AS SELECT 1", "SELECT 1"),
    "view named as alone": ("CREATE VIEW as AS SELECT 1", "SELECT 1"),
    "view named by keywords": ("CREATE VIEW `if`.`not exists` AS SELECT 1", "SELECT 1"),
    "view named exists": ("CREATE VIEW exists AS SELECT 1", "SELECT 1"),
    "view named if": ("CREATE VIEW if AS SELECT 1", "SELECT 1"),
    "if not exists": ("CREATE VIEW IF NOT EXISTS s.v AS SELECT 1", "SELECT 1"),
    "query with its own as": ("CREATE VIEW s.v AS WITH x AS (SELECT 1 AS a) SELECT a AS b FROM x", "WITH x AS (SELECT 1 AS a) SELECT a AS b FROM x"),
    "query in brackets": ("CREATE VIEW s.v AS (SELECT 1)", "(SELECT 1)"),
    "comments in the query": ("CREATE VIEW s.v AS SELECT 1 -- one\n, 2 /* two */", "SELECT 1 -- one\n, 2"),
    "hint": ("CREATE VIEW s.v AS SELECT /*+ BROADCAST(t) */ * FROM t", "SELECT /*+ BROADCAST(t) */ * FROM t"),
    "digits in the name": ("CREATE VIEW s.2020_v AS SELECT 1", "SELECT 1"),
    "metric view": ("CREATE VIEW s.m WITH METRICS LANGUAGE YAML AS $$ a: b $$", "$$ a: b $$"),
    "materialized": ("CREATE MATERIALIZED VIEW s.v (a INT COMMENT 'as') COMMENT 'c' AS SELECT 1", "SELECT 1"),
}  # fmt: skip


@pytest.mark.parametrize(("sql", "query"), QUERIES.values(), ids=QUERIES.keys())
def test_the_query_of_a_view_is_the_authors_text_behind_as(sql: str, query: str) -> None:
    found = view_text(sql)
    assert found is not None
    assert found.query == query


@pytest.mark.parametrize("sql", ["CREATE VIEW s.v", "CREATE VIEW s.v AS", "CREATE VIEW s.v (a, b)"])
def test_a_view_without_a_query_has_no_parts(sql: str) -> None:
    assert view_text(sql) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("CREATE VIEW s.v AS SELECT 1", "create  view S.V as SELECT 2", True),
        ("CREATE VIEW s.v AS SELECT 1", "CREATE VIEW v AS SELECT 1", True),
        ("CREATE VIEW v AS SELECT 1", "CREATE OR REPLACE VIEW v AS SELECT 1", True),
        ("CREATE VIEW v COMMENT 'a' AS SELECT 1", "CREATE VIEW v comment 'a' /* x */ AS SELECT 1", True),
        ("CREATE VIEW v COMMENT 'a' AS SELECT 1", "CREATE VIEW v COMMENT 'A' AS SELECT 1", False),
        ("CREATE VIEW v (a) AS SELECT 1", "CREATE VIEW v (b) AS SELECT 1", False),
        ("CREATE VIEW v (`a`) AS SELECT 1", "CREATE VIEW v (`A`) AS SELECT 1", False),
        ("CREATE VIEW v AS SELECT 1", "CREATE VIEW v TBLPROPERTIES ('a' = 'b') AS SELECT 1", False),
        ("CREATE VIEW v AS SELECT 1", "CREATE VIEW v WITH SCHEMA BINDING AS SELECT 1", False),
    ],
)
def test_headers_of_views_differ_where_more_than_the_query_does(one: str, other: str, same: bool) -> None:
    first, second = view_text(one), view_text(other)
    assert first is not None
    assert second is not None
    assert (first.header == second.header) is same


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("CREATE VIEW v (a) AS SELECT 1", True),
        ("CREATE VIEW v AS (SELECT 1)", False),
        ("CREATE VIEW v TBLPROPERTIES ('a' = 'b') AS SELECT 1", False),
    ],
)
def test_a_column_list_is_noticed(sql: str, columns: bool) -> None:
    found = view_text(sql)
    assert found is not None
    assert found.columns is columns


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("CREATE VIEW s.v AS SELECT 1", "CREATE OR REPLACE VIEW s.v AS SELECT 1"),
        ("create view v as select 1", "create OR REPLACE view v as select 1"),
        ("CREATE OR REPLACE VIEW v AS SELECT 1", "CREATE OR REPLACE VIEW v AS SELECT 1"),
        ("CREATE /* x */ OR -- y\n REPLACE VIEW v AS SELECT 1", "CREATE /* x */ OR -- y\n REPLACE VIEW v AS SELECT 1"),
        ("CREATE VIEW IF NOT EXISTS v AS SELECT if(a, 1, 2) FROM t", "CREATE OR REPLACE VIEW v AS SELECT if(a, 1, 2) FROM t"),
        ("CREATE VIEW if  not /* x */ exists\ns.v AS SELECT 1", "CREATE OR REPLACE VIEW s.v AS SELECT 1"),
        ("CREATE FUNCTION IF NOT EXISTS s.f(x INT) RETURNS INT RETURN x", "CREATE OR REPLACE FUNCTION s.f(x INT) RETURNS INT RETURN x"),
        ("CREATE FUNCTION s.f(x INT) RETURNS INT RETURN if(x, 1, 2)", "CREATE OR REPLACE FUNCTION s.f(x INT) RETURNS INT RETURN if(x, 1, 2)"),
        ("CREATE MATERIALIZED VIEW v AS SELECT 1", "CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT 1"),
        ("CREATE VIEW v AS SELECT 'create view if not exists'", "CREATE OR REPLACE VIEW v AS SELECT 'create view if not exists'"),
        ("CREATE VIEW v AS SELECT 1 WHERE NOT EXISTS (SELECT 2)", "CREATE OR REPLACE VIEW v AS SELECT 1 WHERE NOT EXISTS (SELECT 2)"),
        ("CREATE VIEW exists AS SELECT 1 AS a", "CREATE OR REPLACE VIEW exists AS SELECT 1 AS a"),
        ("CREATE VIEW exists AS SELECT if(a, 1, 2) AS a FROM t", "CREATE OR REPLACE VIEW exists AS SELECT if(a, 1, 2) AS a FROM t"),
        ("CREATE VIEW `replace` AS SELECT 1", "CREATE OR REPLACE VIEW `replace` AS SELECT 1"),
        ("CREATE VIEW s.replace AS SELECT 1", "CREATE OR REPLACE VIEW s.replace AS SELECT 1"),
    ],
)  # fmt: skip
def test_or_replace_is_spliced_in_and_nothing_else_changes(sql: str, expected: str) -> None:
    assert or_replace(sql) == expected


def test_alter_view_takes_the_query_as_it_is() -> None:
    assert alter_view(("cat", "s", "a`b"), "SELECT 1 -- x") == "ALTER VIEW `cat`.`s`.`a``b` AS\nSELECT 1 -- x"


BODIES = {
    "expression": ("CREATE FUNCTION s.f(x INT) RETURNS INT RETURN x + 1", "x + 1"),
    "query": ("CREATE FUNCTION s.f() RETURNS TABLE (a INT) RETURN SELECT a FROM t", "SELECT a FROM t"),
    "lower case": ("create function f() returns int return 1", "1"),
    "return in the comment": ("CREATE FUNCTION f() RETURNS INT COMMENT 'RETURN 2' RETURN 1", "1"),
    "return in a comment": ("CREATE FUNCTION f() RETURNS INT /* RETURN 2 */ RETURN 1 -- x", "1"),
    "parameter named return": ("CREATE FUNCTION f(return INT) RETURNS INT RETURN return", "return"),
    "function named return": ("CREATE FUNCTION s.return(x INT) RETURNS INT RETURN x + 1", "x + 1"),
    "default": (
        "CREATE FUNCTION f(a INT DEFAULT (1)) RETURNS INT LANGUAGE SQL DETERMINISTIC RETURN (a)",
        "(a)",
    ),
}


@pytest.mark.parametrize(("sql", "body"), BODIES.values(), ids=BODIES.keys())
def test_the_body_of_a_function_stands_behind_return(sql: str, body: str) -> None:
    assert function_body(sql) == body


@pytest.mark.parametrize(
    "sql", ["CREATE FUNCTION s.f AS 'com.x.F' USING JAR 'x.jar'", "CREATE FUNCTION f() RETURNS INT"]
)
def test_a_function_in_java_has_no_body(sql: str) -> None:
    assert function_body(sql) is None


@pytest.mark.parametrize(
    ("sql", "destructive"),
    [
        ("DROP TABLE s.t", True),
        ("drop table if exists s.t", True),
        ("DROP SCHEMA s CASCADE", True),
        ("TRUNCATE TABLE s.t", True),
        ("ALTER TABLE s.t DROP COLUMN a", True),
        ("ALTER TABLE s.t DROP COLUMNS (a, b)", True),
        ("ALTER TABLE s.t DROP IF EXISTS PARTITION (d = 1)", True),
        ("ALTER TABLE s.t DROP PARTITION (d = 1)", True),
        ("ALTER TABLE s.t REPLACE COLUMNS (a INT)", True),
        ("CREATE OR REPLACE TABLE s.t (a INT)", True),
        ("REPLACE TABLE s.t AS SELECT 1", True),
        ("ALTER TABLE s.t ADD COLUMNS (drop INT)", False),
        ("ALTER TABLE s.drop ADD COLUMNS (a INT)", False),
        ("ALTER TABLE s.t DROP CONSTRAINT c", False),
        ("ALTER TABLE s.t ALTER COLUMN a DROP NOT NULL", False),
        ("ALTER TABLE s.t RENAME COLUMN a TO b", False),
        ("DROP VIEW s.v", False),
        ("DROP FUNCTION s.f", False),
        ("CREATE TABLE s.t (a INT)", False),
        ("INSERT INTO s.t SELECT 1", False),
        ("SELECT 'DROP TABLE s.t'", False),
    ],
)
def test_a_statement_that_loses_data_is_destructive(sql: str, destructive: bool) -> None:
    assert statement(sql).destructive is destructive
    assert statement(sql, "migration").destructive is destructive


@pytest.mark.parametrize(
    ("sql", "kind", "action"),
    [
        ("CREATE TABLE s.t (a INT)", "table", "create"),
        ("ALTER TABLE s.t ADD COLUMNS (b INT)", "table", "alter"),
        ("DROP TABLE s.t", "table", "drop"),
        ("INSERT INTO s.t VALUES (1)", "table", "run"),
        ("CREATE INDEX i ON s.t (a)", "table", "index"),
        ("CREATE TABLE s.t (a INT)", "migration", "run"),
        ("BEGIN SELECT 1; END", "migration", "run"),
    ],
)
def test_a_statement_has_the_action_that_runs_it(sql: str, kind: str, action: str) -> None:
    assert statement(sql, kind).action == action


def test_the_text_of_a_statement_is_the_authors() -> None:
    sql = "INSERT  INTO s.t\n\tSELECT nvl(a, 'x;\\'y') -- why\n, /* b */ `B` FROM u"
    assert statement(f"\n-- before\n{sql} ; -- behind").sql == sql

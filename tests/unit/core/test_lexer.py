"""Splitting and hashing, for every text that Spark's own lexer takes.

Every statement below was given to the parser of Spark 4.2.
"""

from __future__ import annotations

import pytest

from airflow_provider_sparkdeploy.core.lexer import LexError, lex, line_of, split, token_hash, tokens
from airflow_provider_sparkdeploy.core.statement import statement_text


def statements(text: str) -> list[str]:
    return [statement_text(text, part) for part in split(lex(text))]


def digest(sql: str) -> str:
    return token_hash(lex(sql))


# One statement each, although a splitter that knows less of Spark cuts them.
WHOLE = {
    "semicolon in a literal": "SELECT ';' AS a",
    "doubled quote": "SELECT 'it''s; fine'",
    "escaped quote": r"SELECT 'it\'s; fine'",
    "escaped backslash ends the literal": r"SELECT '\\' || ';'",
    "double quotes are a literal": 'SELECT "a;b"',
    "doubled double quote": 'SELECT "a""; b"',
    "quote of the other kind": """SELECT "it's; ", '";'""",
    "a raw literal has no escapes": r"SELECT r'\', ';'",
    "a raw literal in double quotes": r"""SELECT R"a'b\" || ';'""",
    "a literal over two lines": "SELECT 'a;\nb;'",
    "escaped newline": "SELECT 'a\\\n;b'",
    "back-quoted name": "SELECT `;` FROM t",
    "back quotes in a back-quoted name": "SELECT 1 AS `a``;b`",
    "quote in a back-quoted name": "SELECT `it's`, ';' FROM t",
    "line comment": "SELECT 1 -- a; b\n + 1",
    "line comment with a quote": "SELECT 1 -- it's; \n + 1",
    "line comment that goes on behind a backslash": "SELECT 1 -- a \\\n ; b\n + 1",
    "block comment": "SELECT /* ; ' */ 1",
    "nested block comment": "SELECT /* a /* ; */ ; */ 1",
    "block comment in a line comment": "SELECT 1 -- /* \n + 1",
    "line comment in a block comment": "SELECT 1 /* -- */ + 1",
    "comment marks in a literal": "SELECT '--', '/*', ';'",
    "comment marks in a name": "SELECT `--`, `/*`, `;` FROM t",
    "empty block comment": "SELECT/**/1",
    "hint": "SELECT /*+ BROADCAST(t), REPARTITION(3) */ * FROM t",
    "dollar quotes": "CREATE VIEW s.m WITH METRICS LANGUAGE YAML AS $$ a; b's $$",
    "tagged dollar quotes": "CREATE VIEW s.m WITH METRICS LANGUAGE YAML AS $yaml$ a; $$ b's $yaml$",
    "jinja": "SELECT '{{ a; }}', \"{% b; %}\"",
    # scripts
    "script": "BEGIN SELECT 1; SELECT 2; END",
    "script in lower case": "begin select 1; select 2; end",
    "if": "BEGIN IF a THEN SELECT 1; ELSEIF b THEN SELECT 2; ELSE SELECT 3; END IF; SELECT 4; END",
    "case statement": "BEGIN CASE x WHEN 1 THEN SELECT 1; ELSE SELECT 2; END CASE; SELECT 3; END",
    "case expression": "BEGIN SELECT CASE WHEN a THEN 1 ELSE 2 END; SELECT 3; END",
    "case in case": "BEGIN SELECT CASE WHEN a THEN CASE b WHEN 1 THEN 2 END END AS c; SELECT 3; END",
    "while": "BEGIN WHILE x < 3 DO SET x = x + 1; END WHILE; SELECT 1; END",
    "repeat": "BEGIN REPEAT SET x = 1; UNTIL x = 1 END REPEAT; SELECT 1; END",
    "loop with label": "BEGIN l: LOOP LEAVE l; END LOOP l; SELECT 1; END",
    "for": "BEGIN FOR r AS SELECT 1 AS a DO SELECT r.a; END FOR; SELECT 1; END",
    "nested block": "BEGIN BEGIN SELECT 1; END; SELECT 2; END",
    "labelled block": "BEGIN a: BEGIN SELECT 1; END a; SELECT 2; END",
    "handler": "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN SELECT 1; END; SELECT 2; END",
    "end if with a comment between": "BEGIN IF a THEN SELECT 1; END /* x */ IF; SELECT 2; END",
    "if in while in if": "BEGIN IF a THEN WHILE b DO IF c THEN SELECT 1; END IF; END WHILE; END IF; SELECT 2; END",
    "block not atomic": "BEGIN NOT ATOMIC SELECT 1; END",
    "empty blocks": "BEGIN IF a THEN BEGIN END; END IF; END",
    "case in a condition": "BEGIN IF CASE WHEN a THEN b END THEN SELECT 1; ELSEIF c THEN SELECT 2; END IF; SELECT 3; END",
    "case in a case statement": "BEGIN CASE (CASE WHEN a THEN 1 END) WHEN 1 THEN SELECT 1; END CASE; SELECT 2; END",
    "case behind until": "BEGIN REPEAT SET x = 1; UNTIL CASE WHEN x > 3 THEN true END END REPEAT; SELECT 1; END",
    "handler of two conditions": "BEGIN DECLARE EXIT HANDLER FOR SQLSTATE VALUE '22012', SQLSTATE '45000' l: BEGIN SELECT 1; END l; SELECT 2; END",
    "handler of one statement": "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT begin FROM t; SELECT 2; END",
    "column do in a for": "BEGIN FOR r AS SELECT t.do FROM t DO SELECT 1; END FOR; SELECT 2; END",
    "functions named like blocks": "BEGIN SELECT if(a, b, c), repeat('x', 3) FROM t; SELECT 2; END",
    "script columns named by keywords": "BEGIN SELECT t.begin, t.end, t.case FROM t; SELECT 2; END",
    "script column begin": "BEGIN SELECT begin FROM t; SELECT 2; END",
    "script column end": "BEGIN SELECT end FROM t; SELECT 2; END",
    "script alias end": "BEGIN SELECT 1 AS end; SELECT 2; END",
    "script column case": "BEGIN SELECT case FROM t; SELECT 2; END",
    "script alias loop behind case": "BEGIN SELECT CASE WHEN a THEN 1 END loop FROM t; SELECT 2; END",
    "labelled script": "l: BEGIN SELECT 1; SELECT 2; END l",
    "body of a procedure": "CREATE OR REPLACE PROCEDURE s.p(x INT) AS BEGIN SELECT 1; SELECT 2; END",
    "body of a procedure without AS": "CREATE PROCEDURE s.p(x INT) LANGUAGE SQL BEGIN SELECT 1; SELECT 2; END",
    "body of a function": "CREATE FUNCTION s.f(x INT) RETURNS INT BEGIN DECLARE y INT DEFAULT 1; RETURN y; END",
    "body behind RETURN": "CREATE OR REPLACE TEMPORARY FUNCTION f(x INT) RETURNS INT RETURN BEGIN RETURN x; END",
    # not scripts
    "parameter of a function": "CREATE FUNCTION s.f(begin INT) RETURNS INT RETURN begin + 1",
    "columns begin and end": "SELECT begin, end FROM t",
    "column begin alone": "SELECT begin FROM t",
    "column begin beside a column procedure": "CREATE VIEW v AS SELECT procedure, begin FROM visits",
    "path begin in a variant": "SELECT v:begin FROM t",
    "parameter begin": "SELECT a FROM t WHERE a > :begin",
    "columns of a table": "CREATE TABLE t (begin TIMESTAMP, end TIMESTAMP, case STRING)",
    "fields of a struct": "CREATE TABLE t (x STRUCT<begin: TIMESTAMP, end: TIMESTAMP>)",
}


@pytest.mark.parametrize("sql", WHOLE.values(), ids=WHOLE.keys())
def test_one_statement_stays_whole(sql: str) -> None:
    assert statements(sql) == [sql]


@pytest.mark.parametrize("sql", WHOLE.values(), ids=WHOLE.keys())
def test_the_next_statement_is_another(sql: str) -> None:
    assert statements(f"SELECT 0;\n{sql} ;\n\nSELECT 9") == ["SELECT 0", sql, "SELECT 9"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" ;; \n ; ", []),
        ("-- nothing\n/* at all */", []),
        ("SELECT 1;", ["SELECT 1"]),
        ("SELECT 1; -- the end", ["SELECT 1"]),
        ("/* a */ SELECT 1 /* b */; /* c */", ["SELECT 1"]),
        ("a;b;c", ["a", "b", "c"]),
    ],
)
def test_empty_statements_and_comments_around_them_are_left_out(text: str, expected: list[str]) -> None:
    assert statements(text) == expected


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("SELECT 'a", 7),
        ('SELECT "a', 7),
        ("SELECT `a", 7),
        (r"SELECT 'a\'", 7),
        ("SELECT /* a", 7),
        ("SELECT /* a /* b */", 7),
        ("BEGIN SELECT 1;", 0),
        ("SELECT 1; BEGIN IF a THEN SELECT 1; END IF;", 10),
    ],
)
def test_what_is_never_closed_is_an_error_where_it_opens(text: str, position: int) -> None:
    with pytest.raises(LexError) as error:
        split(lex(text))
    assert error.value.position == position


SAME = {
    "white space": ("SELECT a,b FROM t", "  SELECT\n\ta ,\r\n b\nFROM   t  "),
    "line comments": ("SELECT a FROM t", "SELECT a -- it's\nFROM t -- end"),
    "block comments": ("SELECT a FROM t", "SELECT /* x /* y */ */ a FROM/**/t"),
    "case of keywords": ("SELECT a FROM t", "select a from t"),
    "case of names": ("SELECT Abc FROM Sales.T", "SELECT aBC FROM sales.t"),
    "case of numbers": ("SELECT 1L, 1E5, 2.5BD", "SELECT 1l, 1e5, 2.5bd"),
    "case of umlauts": ("SELECT Ä FROM t", "SELECT ä FROM t"),
    "blanks in nested types": ("CAST(a AS ARRAY<ARRAY<INT>>)", "CAST(a AS ARRAY < ARRAY < INT > >)"),
    "blanks in deeper types": (
        "CREATE TABLE t (a MAP<INT,ARRAY<STRUCT<b:INT>>>)",
        "CREATE TABLE t (a MAP<INT, ARRAY<STRUCT<b: INT> > >)",
    ),
    "blanks in an empty struct": ("CAST(a AS STRUCT<>)", "CAST(a AS STRUCT < >)"),
    "a comment that goes on": ("SELECT a", "SELECT -- x \\\n y\n a"),
    "blanks around dots": ("SELECT t.a FROM s.t", "SELECT t . a FROM s . t"),
}
DIFFERENT = {
    "literals": ("SELECT 'a'", "SELECT 'b'"),
    "case of literals": ("SELECT 'a'", "SELECT 'A'"),
    "case of literals in double quotes": ('SELECT "a"', 'SELECT "A"'),
    "blanks in literals": ("SELECT 'a b'", "SELECT 'a  b'"),
    "comment marks in literals": ("SELECT 'a -- b'", "SELECT 'a -- c'"),
    "case of raw literals": ("SELECT r'a'", "SELECT r'A'"),
    "raw or not": (r"SELECT r'\n'", r"SELECT '\n'"),
    "case of back-quoted names": ("SELECT `a`", "SELECT `A`"),
    "hints": ("SELECT /*+ BROADCAST(t) */ * FROM t", "SELECT * FROM t"),
    "which hint": ("SELECT /*+ BROADCAST(t) */ * FROM t", "SELECT /*+ MERGE(t) */ * FROM t"),
    "numbers": ("SELECT 1", "SELECT 10"),
    "where a word ends": ("SELECT ab", "SELECT a b"),
    "where a literal ends": ("SELECT 'a' 'b'", "SELECT 'a''b'"),
    "operators": ("SELECT a <> b", "SELECT a <=> b"),
    "a quote behind a raw literal": (r"SELECT r'\' -- 'a", r"SELECT r'\' -- 'a" + "\n, 'b'"),
    "order": ("SELECT a, b", "SELECT b, a"),
    "dollar quotes": ("AS $$ A $$", "AS $$ a $$"),
    "tagged dollar quotes": ("AS $x$ A $x$", "AS $x$ a $x$"),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME.keys())
def test_what_does_not_change_the_meaning_does_not_change_the_hash(one: str, other: str) -> None:
    assert digest(one) == digest(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_what_may_change_the_result_changes_the_hash(one: str, other: str) -> None:
    assert digest(one) != digest(other)


def test_a_hash_says_its_version() -> None:
    version, _, rest = digest("SELECT 1").partition(":")
    assert version.isdigit()
    assert len(rest) == 64


@pytest.mark.parametrize(
    ("sql", "kinds"),
    [
        ("a.`b` = 'c'", ["word", "op", "quoted", "op", "string"]),
        ("r'a' \"b\" 1.5e3 _x", ["string", "string", "number", "word"]),
        ("größe <=> 2020_orders", ["word", "op", "number"]),
        ("a::int || b", ["word", "op", "word", "op", "word"]),
    ],
)
def test_tokens_have_kinds(sql: str, kinds: list[str]) -> None:
    assert [token.kind for token in tokens(sql)] == kinds


@pytest.mark.parametrize("sql", WHOLE.values(), ids=WHOLE.keys())
def test_tokens_stand_where_they_say(sql: str) -> None:
    assert all(sql[token.start : token.end] == token.text for token in tokens(sql))


def test_lines_count_from_one() -> None:
    assert [line_of("a\nb\n\nc", position) for position in (0, 2, 5)] == [1, 2, 4]


def test_large_literals_and_many_statements_are_no_problem() -> None:
    big = "SELECT '" + "x" * 1_000_000 + "'"
    assert statements(f"{big};{big}") == [big, big]
    assert len(statements("SELECT 1;" * 20_000)) == 20_000

"""One file to one object: its parts, its hashes, and everything that is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_sparkdeploy.core.objects import ObjectDef
from airflow_provider_sparkdeploy.core.parse import Parsed, Source, parse_object

INIT = "//// CHANGE name=init\nCREATE TABLE s.o (a INT);\n"
CREATE = {
    "view": "CREATE VIEW s.o AS SELECT 1 AS a",
    "function": "CREATE FUNCTION s.o(x INT) RETURNS INT RETURN x",
    "materialized_view": "CREATE MATERIALIZED VIEW s.o AS SELECT 1 AS a",
    "table": "CREATE TABLE s.o (a INT)",
    "sink": "INSERT OVERWRITE DIRECTORY '/x' USING csv SELECT 1",
    "migration": "//// CHANGE name=c\nSELECT 1",
    "data": "a,b\n1,2\n",
}


def parse(
    text: str, kind: str = "table", *, env: str = "default", schema: tuple[str, ...] = ("s",)
) -> Parsed:
    extension = "csv" if kind == "data" else "sql"
    return parse_object(Source(f"s/{kind}/o.{extension}", "s", kind, "o", text, schema, env))  # type: ignore[arg-type]


def item(text: str, kind: str = "table", **rest: Any) -> ObjectDef:
    found = parse(text, kind, **rest)
    assert not found.problems, found.problems
    assert found.object is not None
    return found.object


def problems(text: str, kind: str = "table", **rest: Any) -> list[tuple[str, int]]:
    found = parse(text, kind, **rest).problems
    assert all(problem.advice for problem in found), found
    assert all(problem.file == f"s/{kind}/o.{'csv' if kind == 'data' else 'sql'}" for problem in found)
    return [(problem.code, problem.line) for problem in found]


@pytest.mark.parametrize("kind", CREATE)
def test_every_kind_is_an_object_with_changes(kind: str) -> None:
    text = CREATE[kind]
    if kind == "data":
        text = f"-- //// METADATA keys=a\n{text}"
    found = item(text, kind)
    assert (found.kind, found.name, found.physical) == (kind, ("s", "o"), ("s", "o"))
    assert len(found.changes) == 1


def test_a_table_is_scripted_or_declarative() -> None:
    assert item(INIT).scripted
    assert item(INIT).definition is None
    declared = item(CREATE["table"])
    assert not declared.scripted
    assert declared.definition is not None


def test_changes_keep_their_order_statements_and_lines() -> None:
    found = item(
        "-- note\n//// METADATA tags=a\n\n//// CHANGE name=Init\nA 1;\n\nB 2;\n//// CHANGE name=next\nC 3"
    )
    assert [(change.name, change.line) for change in found.changes] == [("init", 4), ("next", 8)]
    assert [(s.sql, s.line) for change in found.changes for s in change.statements] == [
        ("A 1", 5),
        ("B 2", 7),
        ("C 3", 9),
    ]


def test_a_rollback_is_kept_apart_from_what_is_run() -> None:
    found = item(INIT + "// ROLLBACK\nDROP TABLE s.o;\nDROP SCHEMA s;\n")
    assert [statement.sql for statement in found.changes[0].statements] == ["CREATE TABLE s.o (a INT)"]
    assert found.changes[0].rollback == ("DROP TABLE s.o", "DROP SCHEMA s")


ATTRIBUTES: list[tuple[str, str, str, Any]] = [
    ("tags=B, a ,A", "view", "tags", ("a", "b")),
    ("compute=ETL", "view", "compute", "etl"),
    ("replacement=true", "view", "replacement", True),
    ("lifecycle=Protected", "table", "lifecycle", "protected"),
    ("lifecycle=external", "table", "lifecycle", "external"),
    ("schedule='0 4 * * *'", "materialized_view", "schedule", "0 4 * * *"),
    ("keys=A,b", "data", "keys", ("a", "b")),
    ("comment='It is'", "view", "comment", "It is"),
    ("INACTIVE", "view", "inactive", True),
    ("DROP_TABLE", "table", "dropped", True),
]


@pytest.mark.parametrize(("header", "kind", "field", "value"), ATTRIBUTES)
def test_an_attribute_of_the_object_is_honoured(header: str, kind: str, field: str, value: Any) -> None:
    assert getattr(item(f"//// METADATA {header}\n{CREATE[kind]}", kind), field) == value


def test_attributes_of_a_change_are_honoured() -> None:
    found = item(
        "//// METADATA compute=a dependencies=x.y\n"
        "//// CHANGE name=one\nA\n"
        "//// CHANGE name=two compute=B dependencies=s.t.init , u includeDependencies=v excludeDependencies=w\nB\n"
        "//// CHANGE name=three baselinedChanges=One, two INACTIVE\nC\n"
    )
    one, two, three = found.changes
    assert (one.compute, two.compute) == ("a", "b")
    assert one.dependencies.replace == ("x.y",)
    assert two.dependencies.replace == ("s.t.init", "u")
    assert (two.dependencies.include, two.dependencies.exclude) == (("v",), ("w",))
    assert (three.baselines, three.inactive, one.inactive) == (("one", "two"), True, False)


@pytest.mark.parametrize(
    ("header", "env", "there"),
    [
        ("includeEnvs=prod", "prod", True),
        ("includeEnvs=prod", "dev", False),
        ("includeEnvs=Prod*,qa", "PROD-eu", True),
        ("includeEnvs=*", "dev", True),
        ("includeEnvs=", "dev", False),
        ("excludeEnvs=prod*", "prod-eu", False),
        ("excludeEnvs=prod*", "dev", True),
        ("includeEnvs=prod* excludeEnvs=prod-eu", "prod-eu", False),
        ("includeEnvs=prod* excludeEnvs=prod-eu", "prod-us", True),
    ],
)
def test_environments_leave_out_objects_changes_and_indexes(header: str, env: str, there: bool) -> None:
    assert (parse(f"//// METADATA {header}\n{INIT}", env=env).object is not None) is there
    text = f"{INIT}//// CHANGE name=b {header}\nB\n//// INDEX name=i {header}\nCREATE INDEX i ON s.o (a)\n"
    found = item(text, env=env)
    assert [change.name for change in found.changes] == (["init", "b"] if there else ["init"])
    assert len(found.indexes) == there


def test_an_environment_that_leaves_every_change_out_leaves_the_object_out() -> None:
    found = parse("//// CHANGE name=a includeEnvs=prod\nA\n", env="dev")
    assert (found.object, found.problems) == (None, ())


def test_an_index_is_apart_from_its_object() -> None:
    text = f"{CREATE['table']};\n//// INDEX name=By_A compute=ETL\nCREATE INDEX by_a ON s.o (a);\n"
    index = item(text).indexes[0]
    assert (index.name, index.line, index.compute) == ("by_a", 2, "etl")
    assert index.sql == "CREATE INDEX by_a ON s.o (a)"


# Pairs of files of one kind, and whether the deployed object is the same.
HASHES = {
    "comments and blanks": (
        "view",
        CREATE["view"],
        "-- why\ncreate   view s.o as\nselect 1 as a ; -- end",
        True,
    ),
    "literals": ("view", "CREATE VIEW s.o AS SELECT 'a'", "CREATE VIEW s.o AS SELECT 'b'", False),
    "tags": ("view", CREATE["view"], f"//// METADATA tags=a compute=b comment=c\n{CREATE['view']}", True),
    "dependencies": ("table", INIT, INIT.replace("name=init", "name=init dependencies="), True),
    "rollback": ("table", INIT, f"{INIT}// ROLLBACK\nDROP TABLE s.o", True),
    "index": ("table", INIT, f"{INIT}//// INDEX name=i\nCREATE INDEX i ON s.o (a)", True),
    "statement added": ("table", INIT, f"{INIT}B;", False),
    "statements merged": ("table", "//// CHANGE name=a\nA; B", "//// CHANGE name=a\nA B", False),
    "keys": ("data", "//// METADATA keys=a\na,b\n1,2", "//// METADATA keys=a,b\na,b\n1,2", False),
    "data": ("data", "//// METADATA keys=a\na,b\n1,2", "//// METADATA keys=a\na,b\n1,3", False),
    "order of rows": (
        "data",
        "//// METADATA keys=a\na,b\n1,2\n2,3",
        "//// METADATA keys=a\na,b\n2,3\n1,2",
        True,
    ),
    "sink": ("sink", "A; B", "A; C", False),
}


@pytest.mark.parametrize(("kind", "one", "other", "same"), HASHES.values(), ids=HASHES.keys())
def test_the_hash_of_a_body_changes_with_what_it_does(kind: str, one: str, other: str, same: bool) -> None:
    first, second = item(one, kind).changes[0].hash, item(other, kind).changes[0].hash
    assert (first == second) is same


def test_the_hash_of_an_index_is_its_own() -> None:
    first, second = (
        item(f"{INIT}//// INDEX name=i\nCREATE INDEX i ON s.o ({column})").indexes[0] for column in "ab"
    )
    assert first.hash != second.hash


WRONG = {
    "text before the first change": ("SELECT 1;\n//// CHANGE name=a\nA", "table", [("SD131", 1)]),
    "text between metadata and change": ("//// METADATA tags=a\n-- fine\n\nSELECT 1;\n//// CHANGE name=a\nA", "table", [("SD131", 4)]),
    "text before metadata": ("SELECT 1;\n//// METADATA tags=a\n//// CHANGE name=a\nA", "table", [("SD131", 1)]),
    "text before the metadata of a view": ("SELECT 1;\n//// METADATA tags=a\nCREATE VIEW s.o AS SELECT 1", "view", [("SD131", 1)]),
    "duplicate change": ("//// CHANGE name=a\nA\n//// CHANGE name=b\nB\n//// CHANGE name=A\nC", "table", [("SD132", 5)]),
    "duplicate index": (f"{INIT}//// INDEX name=i\nI\n//// INDEX name=I\nJ", "table", [("SD132", 5)]),
    "change without a name": ("//// CHANGE\nA", "table", [("SD133", 1)]),
    "change with an empty name": ("//// CHANGE name=\nA", "table", [("SD126", 1)]),
    "change with a name in the wrong form": ("//// CHANGE name: a\nA", "table", [("SD122", 1)]),
    "change with a name that is misspelled": ("//// CHANGE nmae=a\nA", "table", [("SD123", 1)]),
    "an undefined token for a schema": ("CREATE VIEW ${x}.o AS SELECT 1", "view", []),  # told where it is replaced
    "empty change": ("//// CHANGE name=a\n-- nothing\n//// CHANGE name=b\nB", "table", [("SD134", 1)]),
    "index of two statements": (f"{INIT}//// INDEX name=i\nA;B", "table", [("SD134", 3)]),
    "change behind a drop": ("//// CHANGE name=a DROP_TABLE\n//// CHANGE name=b\nB", "table", [("SD135", 2)]),
    "declarative table without columns": ("CREATE TABLE s.o AS SELECT 1", "table", [("SD136", 1)]),
    "two statements in a view": ("CREATE VIEW s.o AS SELECT 1;\nCREATE VIEW s.p AS SELECT 2", "view", [("SD137", 2)]),
    "rollback of a view": (f"{CREATE['view']};\n// ROLLBACK\nDROP VIEW s.o", "view", [("SD121", 2)]),
    "rollback of a declared table": ("CREATE TABLE s.o (a INT);\n-- // ROLLBACK\nDROP TABLE s.o", "table", [("SD121", 2)]),
    "rollback under metadata": (f"//// METADATA tags=a\n{CREATE['view']};\n// ROLLBACK\nX; Y", "view", [("SD121", 3)]),
    "table in a view file": ("\nCREATE TABLE s.o (a INT)", "view", [("SD138", 2)]),
    "view in a materialized view file": ("CREATE VIEW s.o AS SELECT 1", "materialized_view", [("SD138", 1)]),
    "no create": ("SELECT 1", "view", [("SD138", 1)]),
    "temporary": ("CREATE TEMPORARY VIEW o AS SELECT 1", "view", [("SD138", 1)]),
    "view without a query": ("CREATE VIEW s.o", "view", [("SD138", 1)]),
    "another name": ("CREATE VIEW s.p AS SELECT 1", "view", [("SD139", 1)]),
    "another schema": ("CREATE VIEW x.o AS SELECT 1", "view", [("SD139", 1)]),
    "empty": ("-- nothing", "view", [("SD129", 1)]),
    "migration without a change": ("SELECT 1", "migration", [("SD129", 1)]),
    "migration with a misspelled change": ("//// CHANG name=a\nA", "migration", [("SD120", 1)]),
    "migration with two mistakes": ("//// METADATA tag=a\nA", "migration", [("SD123", 1), ("SD129", 1)]),
    "keys that are misspelled": ("//// METADATA key=a\na,b\n1,2\n", "data", [("SD123", 1)]),
    "change in data": ("//// CHANGE name=a\na,b\n1,2\n", "data", [("SD128", 1)]),
    "change in a view": ("//// CHANGE name=a\nCREATE VIEW s.o AS SELECT 1", "view", [("SD128", 1)]),
    "index of a view": (f"{CREATE['view']}\n//// INDEX name=i\nI", "view", [("SD128", 2)]),
    "two metadata": ("//// METADATA tags=a\n//// METADATA tags=b\n//// CHANGE name=a\nA", "table", [("SD127", 2)]),
    "metadata behind a change": ("//// CHANGE name=a\nA\n//// METADATA tags=b", "table", [("SD127", 3)]),
    "open literal": ("//// CHANGE name=a\n\nSELECT 'a", "table", [("SD201", 3)]),
    "open comment": ("//// CHANGE name=a\nA;\n/* x", "table", [("SD201", 3)]),
    "open block": ("//// CHANGE name=a\nA;\nBEGIN SELECT 1;", "table", [("SD201", 3)]),
    "unknown attribute": ("//// METADATA tag=a\n//// CHANGE name=a\nA", "table", [("SD123", 1)]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "expected"), WRONG.values(), ids=WRONG.keys())
def test_a_mistake_is_reported_with_code_line_and_advice(
    text: str, kind: str, expected: list[tuple[str, int]]
) -> None:
    assert sorted(problems(text, kind)) == sorted(expected)


def test_all_mistakes_of_a_file_are_reported_at_once() -> None:
    text = "X;\n//// METADATA tag=a\n//// CHANGE name=a\nSELECT 'x\n//// CHANGE name=a\n//// CHANGE\n//// CHNAGE\n"
    assert {code for code, _ in problems(text)} >= {"SD131", "SD123", "SD201", "SD132", "SD133", "SD120"}


@pytest.mark.parametrize(
    ("spelled", "schema", "right"),
    [
        ("o", ("s",), True),
        ("S.O", ("s",), True),
        ("`s`.`o`", ("s",), True),
        ("spark_catalog.s.o", ("s",), True),
        ("lake.s.o", ("s",), False),
        ("lake.s.o", ("lake", "s"), True),
        ("s.o", ("lake", "s"), True),
        ("spark_catalog.s.o", ("lake", "s"), False),
        ("`s.o`", ("s",), False),
        ("s.s.o", ("s",), False),
    ],
)
def test_a_file_creates_what_its_path_says(spelled: str, schema: tuple[str, ...], right: bool) -> None:
    found = problems(f"CREATE VIEW {spelled} AS SELECT 1", "view", schema=schema)
    assert found == ([] if right else [("SD139", 1)])


@pytest.mark.parametrize(
    "text",
    [
        "CREATE VIEW IF NOT EXISTS s.o AS SELECT 1",
        "CREATE OR REPLACE VIEW s.o AS SELECT 1;",
        "/* a */ CREATE VIEW s.o (a COMMENT 'b') AS VALUES (1) -- c",
        "CREATE VIEW s.o AS TABLE t",
        "CREATE VIEW s.o WITH METRICS LANGUAGE YAML AS $$ a: ';' $$",
    ],
)
def test_every_form_of_create_view_is_taken(text: str) -> None:
    assert item(text, "view").body.statements[0].action == "create"


def test_a_sink_may_have_several_statements() -> None:
    assert [statement.sql for statement in item("A;\nB;", "sink").body.statements] == ["A", "B"]


def test_a_dropped_table_needs_no_statement() -> None:
    assert item("//// METADATA DROP_TABLE\n").dropped
    assert item(f"{INIT}//// CHANGE name=gone DROP_TABLE\n").changes[-1].drops_table


def test_a_line_of_slashes_in_a_comment_or_literal_is_no_marker() -> None:
    assert item("//// METADATA tags=a\n/*\n// by hand\n*/\nCREATE VIEW s.o AS SELECT '\n// x\n'", "view")


def test_a_csv_row_may_start_with_slashes() -> None:
    assert item("//// METADATA keys=a\na\n//cdn.example.com/x\n", "data").definition is not None


def test_a_star_is_the_only_wildcard_of_environments() -> None:
    for pattern, env, there in (
        ("[d]ev", "dev", False),
        ("[d]ev", "[d]ev", True),
        ("d?v", "dev", False),
        ("*-eu*", "prod-eu-1", True),
    ):
        assert (parse(f"//// METADATA includeEnvs={pattern}\n{INIT}", env=env).object is not None) is there, (
            pattern
        )


def test_names_in_headers_may_be_quoted() -> None:
    found = item("//// CHANGE name=`First one`\nA\n//// CHANGE name=two baselinedChanges=`zeroth ONE`\nB")
    assert (found.changes[0].name, found.changes[1].baselines) == ("first one", ("zeroth one",))
    assert item("//// METADATA keys=`a b`\na b,c\n1,2\n", "data").keys == ("a b",)


def test_what_is_wrong_in_a_duplicate_change_is_reported_too() -> None:
    text = "//// CHANGE name=a\nA\n//// CHANGE name=A\nSELECT 'x\n"
    assert sorted(problems(text)) == [("SD132", 3), ("SD201", 4)]


def test_a_csv_row_of_four_slashes_is_a_row() -> None:
    assert item("//// METADATA keys=a\na\n////server/share\n", "data").definition is not None

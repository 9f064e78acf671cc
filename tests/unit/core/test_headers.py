"""Markers and attributes: both forms, every attribute, and what is said about mistakes."""

from __future__ import annotations

import pytest

from airflow_provider_sparkdeploy.core.diagnostics import Diagnostic
from airflow_provider_sparkdeploy.core.headers import (
    ATTRIBUTES,
    Attributes,
    Section,
    read_attributes,
    read_sections,
)


def sections(text: str, kind: str = "table") -> tuple[list[Section], list[Diagnostic]]:
    problems: list[Diagnostic] = []
    return read_sections(text, "s/table/t.sql", kind, problems)[1], problems


def attributes(rest: str, section: str = "METADATA", kind: str = "table") -> Attributes:
    problems: list[Diagnostic] = []
    found = read_attributes(rest, section, kind, "f", 1, problems)  # type: ignore[arg-type]
    assert not problems, problems
    return found


def wrong(rest: str, section: str = "METADATA", kind: str = "table") -> Diagnostic:
    problems: list[Diagnostic] = []
    read_attributes(rest, section, kind, "s/table/t.sql", 7, problems)  # type: ignore[arg-type]
    assert len(problems) == 1, problems
    return problems[0]


@pytest.mark.parametrize(
    "marker",
    [
        "//// CHANGE name=init",
        "-- //// CHANGE name=init",
        "--//// CHANGE name=init",
        "  //// CHANGE name=init  ",
        "\t--  ////CHANGE   name = init",
        "//// change NAME=init",
        "//// CHANGE name='init'",
        '//// CHANGE name="init"',
    ],
)
def test_a_marker_may_be_written_as_a_comment_in_any_case_and_spacing(marker: str) -> None:
    found, problems = sections(f"{marker}\nSELECT 1")
    assert not problems
    assert [(item.kind, item.attributes.text("name")) for item in found] == [("CHANGE", "init")]


def test_a_section_ends_where_the_next_begins() -> None:
    text = "-- a\n//// METADATA tags=x\n//// CHANGE name=a\nA;\n// ROLLBACK\nB;\n//// CHANGE name=b\nC\n//// INDEX name=i\nD"
    found, problems = sections(text)
    assert not problems
    assert [(item.kind, item.line, text[item.start : item.end]) for item in found] == [
        ("METADATA", 2, ""),
        ("CHANGE", 3, "A;\n"),
        ("CHANGE", 7, "C\n"),
        ("INDEX", 9, "D"),
    ]
    rollback = found[1].rollback
    assert rollback is not None
    assert text[slice(*rollback)].strip() == "B;"


@pytest.mark.parametrize("marker", ["// ROLLBACK", "-- // ROLLBACK", "--//rollback", "  // Rollback  "])
def test_a_rollback_may_be_written_as_a_comment(marker: str) -> None:
    found, problems = sections(f"//// CHANGE name=a\nA;\n{marker}\nB;")
    assert not problems
    assert found[0].rollback is not None


@pytest.mark.parametrize(
    "line",
    [
        "-- //////////////////////",
        "-- //// ----",
        "-- // a note",
        "-- // change the index later",
        "-- // CHANGE OF HEART",
        "-- /// metadata",
        "-- //",
        "SELECT '//// CHANGE name=x'",
        "SELECT 1 -- //// CHANGE name=x",
        "SELECT 6 // 2",
    ],
)
def test_a_marker_starts_a_line_and_decoration_is_none(line: str) -> None:
    found, problems = sections(f"//// CHANGE name=a\n{line}\n;")
    assert not problems
    assert len(found) == 1


@pytest.mark.parametrize(
    ("marker", "code", "advice"),
    [
        ("//// CHNAGE name=a", "SD120", "Did you mean CHANGE?"),
        ("-- //// CHNAGE name=a", "SD120", "Did you mean CHANGE?"),
        ("////", "SD120", "CHANGE"),
        ("//// TRIGGER name=a", "SD120", "CHANGE, INDEX, METADATA"),
        ("// ROLBACK", "SD120", "ROLLBACK"),
        ("// what", "SD120", "ROLLBACK"),
        ("-- // ROLBACK", "SD120", "ROLLBACK"),
        ("-- //// ROLLBACK", "SD120", "Did you mean // ROLLBACK?"),
        ("//// ROLLBACK", "SD120", "Did you mean // ROLLBACK?"),
        ("-- //// ROLBACK", "SD120", "Did you mean // ROLLBACK?"),
        ("-- /// ROLLBACK", "SD120", "Did you mean // ROLLBACK?"),
        ("-- /// CHANGE name=a", "SD120", "Did you mean //// CHANGE?"),
        ("// CHANGE name=a", "SD120", "Did you mean //// CHANGE?"),
        ("-- ///// INDEX name = a", "SD120", "Did you mean //// INDEX?"),
        ("--// METADATA", "SD120", "Did you mean //// METADATA?"),
    ],
)
def test_an_unknown_marker_is_reported_with_its_line(marker: str, code: str, advice: str) -> None:
    _, problems = sections(f"//// CHANGE name=x\nSELECT 1;\n{marker}\n")
    assert [(item.code, item.where) for item in problems] == [(code, "s/table/t.sql:3")]
    assert advice in problems[0].advice


@pytest.mark.parametrize(
    "text",
    [
        "//// METADATA tags=a\n// ROLLBACK\nB;",
        "A;\n// ROLLBACK\nB;",
        "A;\n-- // ROLLBACK\nB;\n//// INDEX name=a\nC;",
        "//// INDEX name=a\nA;\n// ROLLBACK\nB;",
        "//// CHANGE name=a\n// ROLLBACK\nB;\n// ROLLBACK\nC;",
    ],
)
def test_a_rollback_belongs_to_one_change(text: str) -> None:
    _, problems = sections(text)
    assert [item.code for item in problems] == ["SD121"]


@pytest.mark.parametrize(
    ("rest", "items"),
    [
        ("tags=a,b", ("a", "b")),
        ("tags = a , b", ("a", "b")),
        ("tags=a,\tb,", ("a", "b")),
        ("tags=' a , b '", ("a", "b")),
        ('tags="a,b"', ("a", "b")),
        ("tags=a", ("a",)),
        ('tags=""', ()),
        ("tags=", ()),
        ("tags=`a,b`,c", ("`a,b`", "c")),
        ("tags=`a``,b`,c", ("`a``,b`", "c")),
        ("TAGS=A", ("A",)),
    ],
)
def test_lists_are_trimmed(rest: str, items: tuple[str, ...]) -> None:
    assert attributes(rest).items("tags") == items


def test_an_absent_list_is_not_an_empty_one() -> None:
    assert attributes("dependencies=").items("dependencies") == ()
    assert attributes("tags=a").items("dependencies") is None


def test_attributes_stand_beside_each_other() -> None:
    found = attributes(
        "tags=core, finance compute=etl comment='a, b=c' lifecycle=Protected INACTIVE replacement=TRUE"
    )
    assert found.items("tags") == ("core", "finance")
    assert (found.text("compute"), found.text("comment")) == ("etl", "a, b=c")
    assert found.on("inactive")
    assert found.on("Replacement")


def test_a_quoted_empty_list_does_not_eat_what_follows() -> None:
    found = attributes('dependencies="" compute=etl')
    assert (found.items("dependencies"), found.text("compute")) == ((), "etl")


@pytest.mark.parametrize(
    ("rest", "on"), [("INACTIVE", True), ("inactive=true", True), ("INACTIVE=FALSE", False), ("", False)]
)
def test_a_toggle_needs_no_value(rest: str, on: bool) -> None:
    assert attributes(rest).on("INACTIVE") is on


def test_the_files_own_attributes_win_over_the_folders() -> None:
    found = attributes("compute=own INACTIVE=false").over(attributes("compute=folder tags=a INACTIVE"))
    assert (found.text("compute"), found.items("tags"), found.on("INACTIVE")) == ("own", ("a",), False)


def test_every_attribute_of_the_format_is_known() -> None:
    assert {item.name for item in ATTRIBUTES.values()} == {
        "name", "dependencies", "includeDependencies", "excludeDependencies", "includeEnvs", "excludeEnvs",
        "baselinedChanges", "tags", "compute", "replacement", "lifecycle", "schedule", "keys", "comment",
        "DROP_TABLE", "INACTIVE",
    }  # fmt: skip


WRONG = {
    "unknown": ("tag=a", "METADATA", "table", "SD123", "Did you mean tags?"),
    "unknown in another case": ("INCLUDEENV=a", "METADATA", "table", "SD123", "Did you mean includeEnvs?"),
    "unknown toggle": ("DROPTABLE", "METADATA", "table", "SD123", "Did you mean DROP_TABLE?"),
    "wrong section": ("name=a", "METADATA", "table", "SD124", "CHANGE"),
    "wrong section for tags": ("tags=a", "CHANGE", "table", "SD124", "METADATA"),
    "wrong kind for keys": ("keys=a", "METADATA", "table", "SD124", "data"),
    "wrong kind for schedule": ("schedule=daily", "METADATA", "view", "SD124", "materialized_view"),
    "wrong kind for DROP_TABLE": ("DROP_TABLE", "METADATA", "view", "SD124", "table"),
    "twice": ("tags=a Tags=b", "METADATA", "table", "SD125", "one"),
    "toggle with a value": ("INACTIVE=maybe", "METADATA", "table", "SD126", ""),
    "flag without a value": ("replacement", "METADATA", "view", "SD126", ""),
    "flag with another value": ("replacement=yes", "METADATA", "view", "SD126", ""),
    "unknown choice": ("lifecycle=external_table", "METADATA", "table", "SD126", "external"),
    "no value": ("compute=", "METADATA", "table", "SD126", ""),
    "open quote": ("comment='a b", "METADATA", "table", "SD122", "quote"),
    "stray text": ("tags=a ; b", "METADATA", "table", "SD122", ""),
}


@pytest.mark.parametrize(("rest", "section", "kind", "code", "advice"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_attribute_is_reported_where_it_stands(
    rest: str, section: str, kind: str, code: str, advice: str
) -> None:
    found = wrong(rest, section, kind)
    assert (found.code, found.where) == (code, "s/table/t.sql:7")
    assert advice in found.advice
    assert found.advice, "every problem says what to do"


def test_all_mistakes_of_a_line_are_reported() -> None:
    problems: list[Diagnostic] = []
    read_attributes("tag=a lifecycle=x keys=b compute=c", "METADATA", "table", "f", 1, problems)
    assert [item.code for item in problems] == ["SD123", "SD126", "SD124"]


@pytest.mark.parametrize(
    ("rest", "tags", "compute"),
    [
        ("tags= compute=etl", (), "etl"),
        ("tags=a, compute=etl", ("a",), "etl"),
        ("tags=a , b , compute = etl", ("a", "b"), "etl"),
        ("tags='a b, c' compute=etl", ("a b", "c"), "etl"),
        ("tags=k=v compute=etl", ("k=v",), "etl"),
    ],
)
def test_a_list_ends_where_the_next_attribute_begins(rest: str, tags: tuple[str, ...], compute: str) -> None:
    found = attributes(rest)
    assert (found.items("tags"), found.text("compute")) == (tags, compute)


def test_a_section_in_a_comment_is_no_section() -> None:
    found, problems = sections(
        "//// CHANGE name=a\nA;\n/* /* */\n//// CHANGE name=b\n// ROLLBACK\n*/\n//// CHANGE name=c\nC"
    )
    assert not problems
    assert [item.attributes.text("name") for item in found] == ["a", "c"]


@pytest.mark.parametrize("text", ["SELECT 'x;", "/* x", 'SELECT "x', "SELECT `x"])
def test_what_is_never_closed_hides_no_section(text: str) -> None:
    found, _ = sections(f"//// CHANGE name=a\n{text}\n//// CHANGE name=b\nSELECT 'y', \"z\", `w`")
    assert [item.attributes.text("name") for item in found] == ["a", "b"]


def test_an_apostrophe_in_a_comment_opens_nothing() -> None:
    found, problems = sections(
        "//// METADATA comment=\"don't\"\n-- don't\n//// CHANGE name=a\nA;\n-- it's\n//// CHANGE name=b\nB"
    )
    assert not problems
    assert len(found) == 3

"""Which files there are, what a path says, and what ``ignore:`` leaves out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError
from airflow_provider_sparkdeploy.core.files import Listing, ignore_pattern, read_files, read_settings_text
from airflow_provider_sparkdeploy.core.objects import KINDS


def listing(root: Path, *paths: str, ignore: tuple[str, ...] = ()) -> Listing:
    for path in paths:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(b"x")
    return read_files(root, ignore)


def test_every_kind_has_its_folder(tmp_path: Path) -> None:
    paths = [f"s/{kind}/o.{'csv' if kind == 'data' else 'sql'}" for kind in KINDS]
    found = listing(tmp_path, *paths)
    assert not found.problems
    assert {file.kind for file in found.files} == set(KINDS)
    assert [file.path for file in found.files] == sorted(paths)


def test_kind_folders_and_extensions_are_case_insensitive(tmp_path: Path) -> None:
    found = listing(tmp_path, "S/View/Orders.SQL", "s/DATA/d.Csv")
    assert not found.problems
    assert {(file.schema, file.kind, file.object) for file in found.files} == {
        ("S", "view", "Orders"),
        ("s", "data", "d"),
    }


@pytest.mark.parametrize("name", ["a.b", "my table", "größe", "2020_orders", "select", "readme", "a#b"])
def test_an_object_may_have_any_name(tmp_path: Path, name: str) -> None:
    found = listing(tmp_path, f"s/view/{name}.sql")
    assert [file.object for file in found.files] == [name]


@pytest.mark.parametrize(
    ("path", "code", "advice"),
    [
        ("s/views/o.sql", "SD111", "Did you mean view?"),
        ("s/materialized-view/o.sql", "SD111", "materialized_view"),
        ("s/o.sql", "SD110", "ignore:"),
        ("o.sql", "SD110", "ignore:"),
        ("s/view/sub/o.sql", "SD110", "ignore:"),
        ("s/view/o.csv", "SD112", "Rename"),
        ("s/data/o.sql", "SD112", "Rename"),
        ("s/view/o.txt", "SD112", "Rename"),
        ("s/view/o", "SD112", "Rename"),
        ("notes/todo.md", "SD110", "ignore:"),
    ],
)
def test_a_file_that_declares_nothing_is_reported(tmp_path: Path, path: str, code: str, advice: str) -> None:
    found = listing(tmp_path, path)
    assert [(item.code, item.where) for item in found.problems] == [(code, f"{path}:1")]
    assert advice in found.problems[0].advice


def test_what_belongs_to_other_tools_is_passed_over(tmp_path: Path) -> None:
    found = listing(
        tmp_path, "README.md", "s/README.md", "sparkdeploy.yaml", "Makefile", ".git/x/y.sql", "s/view/.o.sql",
        "s/view/o.sql~", "s/view/#o.sql#", ".sparkdeploy/dev.jsonl",
    )  # fmt: skip
    assert (found.files, found.problems) == ((), ())


def test_folder_defaults_are_found_beside_the_objects(tmp_path: Path) -> None:
    found = listing(tmp_path, "s/view/package-info.txt", "s/view/o.sql")
    assert found.defaults == {("s", "view"): b"x"}
    assert len(found.files) == 1


def test_a_missing_folder_is_an_error_with_advice(tmp_path: Path) -> None:
    with pytest.raises(SparkDeployError) as error:
        read_settings_text(tmp_path / "nowhere")
    assert error.value.diagnostics[0].advice


def test_settings_that_are_not_utf8_are_an_error_not_a_crash(tmp_path: Path) -> None:
    (tmp_path / "sparkdeploy.yaml").write_bytes(b"tokens:\n  a: \xff\n")
    with pytest.raises(SparkDeployError) as error:
        read_settings_text(tmp_path)
    assert error.value.diagnostics[0].file == "sparkdeploy.yaml"


def test_settings_may_start_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "sparkdeploy.yaml").write_bytes(b"\xef\xbb\xbfredeploy: recreate\n")
    assert read_settings_text(tmp_path) == "redeploy: recreate\n"


def test_a_file_that_cannot_be_read_is_reported_not_a_crash(tmp_path: Path) -> None:
    (tmp_path / "s" / "view").mkdir(parents=True)
    os.symlink("nowhere.sql", tmp_path / "s" / "view" / "o.sql")
    found = read_files(tmp_path)
    assert [item.where for item in found.problems] == ["s/view/o.sql:1"]


# Patterns, a path (folders end in /), whether git would ignore it.
IGNORED = [
    (["o.sql"], "s/view/o.sql", True),
    (["o.sql"], "s/view/po.sql", False),
    (["*.txt"], "s/view/o.txt", True),
    (["*.txt"], "s/view/o.txt.sql", False),
    (["?.sql"], "s/view/o.sql", True),
    (["?.sql"], "s/view/oo.sql", False),
    (["[ab].sql"], "s/view/b.sql", True),
    (["[!ab].sql"], "s/view/b.sql", False),
    (["[!ab].sql"], "s/view/c.sql", True),
    (["[a-c].sql"], "s/view/b.sql", True),
    (["scratch/"], "scratch/", True),
    (["scratch/"], "s/scratch/view/o.sql", True),
    (["scratch/"], "s/view/scratch", False),
    (["scratch"], "s/scratch/", True),
    (["/scratch"], "scratch/", True),
    (["/scratch"], "s/scratch/", False),
    (["s/view"], "s/view/o.sql", True),
    (["s/view"], "t/s/view/o.sql", False),
    (["s/*.sql"], "s/view/o.sql", False),
    (["s/*/o.sql"], "s/view/o.sql", True),
    (["**/o.sql"], "o.sql", True),
    (["**/o.sql"], "s/view/o.sql", True),
    (["s/**"], "s/view/o.sql", True),
    (["s/**"], "t/view/o.sql", False),
    (["s/**/o.sql"], "s/view/o.sql", True),
    (["s/**/o.sql"], "s/o.sql", True),
    (["# o.sql", ""], "s/view/o.sql", False),
    ([r"\#o.sql"], "s/view/#o.sql", True),
    ([r"\!o.sql"], "s/view/!o.sql", True),
    (["o.sql   "], "s/view/o.sql", True),
    (["a+b(c).sql"], "s/view/a+b(c).sql", True),
    (["*.sql", "!keep.sql"], "s/view/keep.sql", False),
    (["*.sql", "!keep.sql"], "s/view/o.sql", True),
    (["!keep.sql", "*.sql"], "s/view/keep.sql", True),
    (["*.sql", "!keep.sql", "s/view/keep.sql"], "s/view/keep.sql", True),
    (["*.sql", "!keep.sql", "s/view/keep.sql"], "t/view/keep.sql", False),
    (["!keep.sql"], "s/view/keep.sql", False),
    (["s/**", "!s/view/"], "s/view/o.sql", True),
    (["build/", "!s/build/"], "s/build/o.sql", False),
    (["[]a].sql"], "s/view/].sql", True),
    (["[^a].sql"], "s/view/b.sql", True),
    (["s[!a]view"], "s/view/", False),
    (["[z-a].sql"], "s/view/b.sql", False),
    (["["], "s/view/[", True),
    ([r"a\\b.sql"], r"s/view/a\b.sql", True),
    (["/"], "s/view/o.sql", False),
    (["!"], "s/view/o.sql", False),
]


@pytest.mark.parametrize(("patterns", "path", "ignored"), IGNORED)
def test_ignore_patterns_mean_what_they_mean_to_git(patterns: list[str], path: str, ignored: bool) -> None:
    found = ignore_pattern(tuple(patterns))
    assert bool(found and found.match(path)) is ignored


@pytest.mark.parametrize("pattern", ["s/view/*", "s/view/**", "/s/view/*", "s/*/*.sql", "*.sql"])
def test_a_file_is_taken_back_while_its_folder_is_not_ignored(tmp_path: Path, pattern: str) -> None:
    found = listing(tmp_path, "s/view/keep.sql", "s/view/o.sql", ignore=(pattern, "!keep.sql"))
    assert [file.path for file in found.files] == ["s/view/keep.sql"]


def test_nothing_is_taken_back_from_an_ignored_folder(tmp_path: Path) -> None:
    found = listing(tmp_path, "s/view/keep.sql", "s/view/o.sql", ignore=("view/", "!keep.sql"))
    assert found.files == ()


def test_ignored_files_are_no_problem(tmp_path: Path) -> None:
    found = listing(tmp_path, "s/view/o.sql", "notes/todo.md", "s/old/x.sql", ignore=("notes/", "old"))
    assert (len(found.files), found.problems) == (1, ())


def test_a_link_back_into_its_own_folder_is_reported_and_not_followed(tmp_path: Path) -> None:
    listing(tmp_path, "s/view/o.sql", "t/view/o.sql")
    os.symlink("..", tmp_path / "s" / "up")
    os.symlink("../t", tmp_path / "s" / "other")
    os.symlink("../s", tmp_path / "t" / "other")
    found = read_files(tmp_path)
    assert len(found.files) == 2
    assert "s/up:1" in [item.where for item in found.problems if item.code == "SD107"]


def test_a_linked_file_or_schema_is_as_good_as_any(tmp_path: Path) -> None:
    listing(tmp_path, "s/view/o.sql")
    os.symlink("o.sql", tmp_path / "s" / "view" / "p.sql")
    os.symlink("s", tmp_path / "t")
    found = read_files(tmp_path)
    assert not found.problems
    assert len(found.files) == 4


@pytest.mark.parametrize("name", ["o.sql", "O.SQL", "d.csv", "package-info.txt"])
def test_a_folder_with_the_name_of_a_file_is_reported_once(tmp_path: Path, name: str) -> None:
    found = listing(tmp_path, f"s/view/{name}/a.sql", f"s/view/{name}/b.sql")
    assert [(item.code, item.where) for item in found.problems] == [("SD112", f"s/view/{name}:1")]


def test_folder_defaults_at_the_top_are_reported(tmp_path: Path) -> None:
    assert [item.code for item in listing(tmp_path, "package-info.txt").problems] == ["SD110"]


def test_a_pipe_does_not_make_anybody_wait(tmp_path: Path) -> None:
    listing(tmp_path, "s/view/o.sql")
    os.mkfifo(tmp_path / "s" / "view" / "p.sql")
    assert [file.object for file in read_files(tmp_path).files if file.content] == ["o"]


@pytest.mark.parametrize("name", [b"\xff.sql", b"\xff"])
def test_a_name_that_is_not_utf8_is_reported_in_a_way_that_can_be_shown(tmp_path: Path, name: bytes) -> None:
    listing(tmp_path, "s/view/o.sql")
    try:
        open(os.path.join(os.fsencode(tmp_path / "s" / "view"), name), "w").close()
    except OSError:
        pytest.skip("this filesystem has UTF-8 names only")
    found = read_files(tmp_path)
    assert [item.code for item in found.problems] == ["SD103"]
    assert str(found.problems[0]).encode()


def test_settings_that_are_a_folder_are_an_error_not_a_crash(tmp_path: Path) -> None:
    (tmp_path / "sparkdeploy.yaml").mkdir()
    with pytest.raises(SparkDeployError) as error:
        read_settings_text(tmp_path)
    assert error.value.diagnostics[0].where == "sparkdeploy.yaml:1"


def test_everything_but_sql_can_be_ignored_the_way_git_people_write_it(tmp_path: Path) -> None:
    found = listing(tmp_path, "s/view/o.sql", "s/view/o.md", "docs/a.md", ignore=("*", "!*/", "!*.sql"))
    assert ([file.path for file in found.files], found.problems) == (["s/view/o.sql"], ())


def test_a_folder_that_is_no_kind_is_told_once(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        file = tmp_path / "s" / "veiw" / f"{name}.sql"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("CREATE VIEW s.x AS SELECT 1")
    [problem] = read_files(tmp_path).problems
    assert (problem.code, problem.file) == ("SD111", "s/veiw/a.sql")

"""The generator behind the benchmarks: what it promises about every repository it writes."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from generate import DEPTH, SCHEMAS, edit, generate, statements

COUNT = 200


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("generated") / "repository"
    generate(COUNT, out)
    return out


@pytest.fixture(scope="module")
def needs(repository: Path) -> dict[str, set[str]]:
    """What each object reads, by its qualified name, as a parser sees it."""
    found: dict[str, set[str]] = {
        f"{path.parts[-3]}.{path.stem}": set() for path in repository.glob("*/*/*.sql")
    }
    for sql in statements(repository):
        tree = sqlglot.parse_one(sql, dialect="spark")
        if isinstance(tree, exp.Create) and tree.kind == "VIEW":
            ctes = {cte.alias for cte in tree.find_all(exp.CTE)}
            names = [
                _qualified(table) for table in tree.find_all(exp.Table) if table.db or table.name not in ctes
            ]
            found[names[0]].update(names[1:])
    return found


def _qualified(table: exp.Table) -> str:
    return f"{table.db}.{table.name}"


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.mark.parametrize("fmt", ["sparkdeploy", "dbt", "sqlmesh"])
def test_equal_counts_give_equal_bytes(tmp_path: Path, fmt: str) -> None:
    generate(60, tmp_path / "one", fmt=fmt)
    generate(60, tmp_path / "two", fmt=fmt)
    assert _files(tmp_path / "one") == _files(tmp_path / "two")


def test_counts_by_kind_and_schema(repository: Path) -> None:
    paths = list(repository.glob("*/*/*.sql"))
    assert Counter(path.parent.name for path in paths) == {"table": 60, "view": 120, "materialized_view": 20}
    assert {path.parts[-3] for path in paths} == set(SCHEMAS)
    assert len({path.stem for path in paths}) == COUNT


@pytest.mark.parametrize("count", [0, 1, 2, 5, 21, 33])
def test_small_repositories_have_their_count_too(tmp_path: Path, count: int) -> None:
    generate(count, tmp_path / "out")
    assert len(list((tmp_path / "out").glob("*/*/*.sql"))) == count


def test_tables_have_three_changes_and_one_rollback(repository: Path) -> None:
    for path in repository.glob("*/table/*.sql"):
        text = path.read_text(encoding="utf-8")
        assert len(re.findall(r"^//// CHANGE name=\w+$", text, re.MULTILINE)) == 3
        assert len(re.findall(r"^// ROLLBACK$", text, re.MULTILINE)) == 1


def test_views_have_about_thirty_lines(repository: Path) -> None:
    lengths = [len(path.read_text(encoding="utf-8").splitlines()) for path in repository.glob("*/view/*.sql")]
    assert 25 <= sum(lengths) / len(lengths) <= 35


def test_every_statement_parses(repository: Path) -> None:
    trees = [sqlglot.parse_one(sql, dialect="spark") for sql in statements(repository)]
    assert len(trees) == 60 * 4 + 140
    assert not [tree for tree in trees if isinstance(tree, exp.Command)]


def test_every_reference_exists(needs: dict[str, set[str]]) -> None:
    assert set().union(*needs.values()) <= needs.keys()
    readers = [len(names) for name, names in needs.items() if names]
    assert len(readers) == 140
    assert {min(readers), max(readers)} == {1, 4}


def test_the_longest_chain_has_the_promised_depth(needs: dict[str, set[str]]) -> None:
    level: dict[str, int] = {}
    while len(level) < len(needs):
        ready = {name for name in needs.keys() - level.keys() if needs[name] <= level.keys()}
        assert ready, "a cycle"
        level |= {name: 1 + max((level[source] for source in needs[name]), default=-1) for name in ready}
    assert max(level.values()) == DEPTH == 15


def test_dbt_and_sqlmesh_hold_the_same_references(tmp_path: Path, needs: dict[str, set[str]]) -> None:
    generate(COUNT, tmp_path / "dbt", fmt="dbt")
    generate(COUNT, tmp_path / "sqlmesh", fmt="sqlmesh")
    for name, sources in needs.items():
        (path,) = (tmp_path / "dbt").rglob(f"{name.split('.')[1]}.sql")
        refs = set(re.findall(r"\{\{ ref\('(\w+)'\) \}\}", path.read_text(encoding="utf-8")))
        assert refs == {source.split(".")[1] for source in sources}
        (path,) = (tmp_path / "sqlmesh").rglob(f"{name.split('.')[1]}.sql")
        text = path.read_text(encoding="utf-8")
        assert f"MODEL (name {name}," in text
        assert all(f"FROM {source} AS" in text for source in sources)


def test_edit_changes_so_many_views_and_nothing_else(tmp_path: Path) -> None:
    generate(60, tmp_path)
    seen = [_files(tmp_path)]
    for _ in range(2):
        chosen = {path.relative_to(tmp_path).as_posix() for path in edit(tmp_path, 7)}
        seen.append(_files(tmp_path))
        assert chosen == {name for name, content in seen[-1].items() if content != seen[-2][name]}
        assert len(chosen) == 7
    assert seen[2] != seen[0]


def test_edit_takes_all_views_where_there_are_fewer(tmp_path: Path) -> None:
    generate(10, tmp_path)
    assert len(edit(tmp_path, 99)) == 6


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(FileExistsError, match="not empty"):
        generate(10, tmp_path)

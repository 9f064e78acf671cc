"""What was parsed before is found again by content, and never in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from full_disk import largest_file
from sketch import write

from airflow_provider_sparkdeploy.core import cache, graph, parsing
from airflow_provider_sparkdeploy.core.fingerprint import tool_versions
from airflow_provider_sparkdeploy.core.graph import build_graph
from airflow_provider_sparkdeploy.core.names import ObjectName
from airflow_provider_sparkdeploy.core.parse import Parsed, Source, parse_object
from airflow_provider_sparkdeploy.core.repository import Repository, open_repository

FILES = {
    "s/table/t.sql": "//// CHANGE name=init\nCREATE TABLE s.t (a INT);\n// ROLLBACK\nDROP TABLE s.t;\n//// INDEX name=i\nCREATE INDEX i ON s.t (a);",
    "s/table/d.sql": "CREATE TABLE s.d (a INT NOT NULL COMMENT 'x') USING parquet",
    "s/view/v.sql": "//// METADATA tags=a includeDependencies=d\nCREATE VIEW s.v AS SELECT '${limit}' FROM s.t",
    "s/function/f.sql": "CREATE FUNCTION s.f(x INT) RETURNS INT RETURN x",
    "s/data/x.csv": "//// METADATA keys=a\na,b\n1,2\n",
    "s/sink/k.sql": "OPTIMIZE s.t; SELECT 1",
    "s/view/broken.sql": "//// METADATA nonsense=1\nSELECT 'x",
    "sparkdeploy.yaml": "tokens: {limit: 10}\nenvironments: {dev: , prod: }\ndefault_environment: dev\n",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for each test."""
    monkeypatch.setenv("SPARKDEPLOY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def root(tmp_path: Path, folder: Path) -> Path:
    return write(tmp_path / "repository", FILES)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the files that were parsed, as they are."""
    paths: list[str] = []

    def spy(source: Source) -> Parsed:
        paths.append(source.path)
        return parse_object(source)

    monkeypatch.setattr(parsing, "parse_object", spy)
    return paths


def same(one: Repository, other: Repository) -> bool:
    return (one.objects, one.problems, one.fingerprint) == (other.objects, other.problems, other.fingerprint)


def packs(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.pack"))


def test_the_second_run_parses_nothing_and_finds_the_same(root: Path, parsed: list[str]) -> None:
    first = open_repository(root)
    assert len(parsed) == 7
    parsed.clear()
    second = open_repository(root)
    assert parsed == []
    assert same(first, second)
    assert same(second, open_repository(root, use_cache=False))


def test_only_what_changed_is_parsed_again(root: Path, parsed: list[str]) -> None:
    open_repository(root)
    parsed.clear()
    write(root, {"s/function/f.sql": "CREATE FUNCTION s.f(x INT) RETURNS INT RETURN x + 1"})
    found = open_repository(root)
    assert parsed == ["s/function/f.sql"]
    assert same(found, open_repository(root, use_cache=False))


def test_times_do_not_count(root: Path, parsed: list[str]) -> None:
    open_repository(root)
    parsed.clear()
    for path in root.rglob("*.sql"):
        os.utime(path, (1, 1))
    open_repository(root)
    assert parsed == []
    target = root / "s/function/f.sql"
    target.write_text(target.read_text().replace("RETURN x", "RETURN 1"))
    os.utime(target, (1, 1))
    open_repository(root)
    assert parsed == ["s/function/f.sql"], "same size and time, other content"


def test_content_that_comes_back_is_known(root: Path, parsed: list[str]) -> None:
    open_repository(root)
    text = (root / "s/function/f.sql").read_text()
    write(root, {"s/function/f.sql": text + " + 1"})
    open_repository(root)
    parsed.clear()
    write(root, {"s/function/f.sql": text})
    open_repository(root)
    assert parsed == []


@pytest.mark.parametrize(
    ("files", "options", "again"),
    [
        ({}, {"overrides": ("limit=11",)}, {"s/view/v.sql"}),
        ({}, {"environment": "prod"}, {path for path in FILES if "/" in path}),
        ({"s/view/package-info.txt": "//// METADATA compute=etl"}, {}, {"s/view/v.sql", "s/view/broken.sql"}),
        ({"sparkdeploy.yaml": FILES["sparkdeploy.yaml"] + "schemas: {s: lake.s}\n"}, {}, {path for path in FILES if "/" in path}),
        ({"sparkdeploy.yaml": FILES["sparkdeploy.yaml"] + "redeploy: recreate\n"}, {}, set()),
    ],
)  # fmt: skip
def test_everything_that_goes_into_an_object_counts(
    root: Path, parsed: list[str], files: dict[str, str], options: dict[str, object], again: set[str]
) -> None:
    open_repository(root)
    parsed.clear()
    write(root, files)
    found = open_repository(root, **options)  # type: ignore[arg-type]
    assert set(parsed) == again
    assert same(found, open_repository(root, use_cache=False, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("package", ["airflow-provider-sparkdeploy", "sqlglot"])
def test_another_version_of_the_tool_parses_everything_again(
    root: Path, parsed: list[str], monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    open_repository(root)
    parsed.clear()
    known = dict(zip(("airflow-provider-sparkdeploy", "sqlglot"), tool_versions(), strict=True))
    monkeypatch.setattr(cache, "tool_versions", lambda: tuple((known | {package: "99.0"}).values()))
    open_repository(root)
    assert len(parsed) == 7


def test_it_may_be_deleted_at_any_time(root: Path, folder: Path, parsed: list[str]) -> None:
    first = open_repository(root)
    for path in packs(folder):
        path.unlink()
    parsed.clear()
    assert same(first, open_repository(root))
    assert len(parsed) == 7


def test_two_repositories_do_not_share(root: Path, tmp_path: Path, folder: Path) -> None:
    other = write(tmp_path / "other", {"s/view/v.sql": "CREATE VIEW s.v AS SELECT 2"})
    open_repository(root)
    found = open_repository(other)
    assert len(packs(folder)) == 2
    assert same(found, open_repository(other, use_cache=False))


def _segment(body: bytes) -> bytes:
    import zlib

    return cache._MAGIC + len(body).to_bytes(8, "big") + zlib.crc32(body).to_bytes(4, "big") + body


DAMAGE = {
    "empty": lambda data: b"",
    "torn in the middle": lambda data: data[: len(data) // 2],
    "torn in the header": lambda data: data[:11],
    "last byte lost": lambda data: data[:-1],
    "torn second segment": lambda data: data + data[: len(data) // 3],
    "one bit wrong": lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:],
    "no pack at all": lambda data: b"hello\n" * 100,
    "of another format": lambda data: data.replace(cache._MAGIC, b"sdpack0\n"),
    "zeros behind it": lambda data: data + bytes(4096),
    "a length beyond the file": lambda data: cache._MAGIC + b"\xff" * 8 + data[16:],
    "whole but not readable": lambda data: data + _segment(b"\xff\xfe nonsense"),
    "whole but of another shape": lambda data: data + _segment(b"N"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_pack_is_passed_over_and_mended(
    root: Path, folder: Path, parsed: list[str], damage
) -> None:  # type: ignore[no-untyped-def]
    first = open_repository(root)
    (pack,) = packs(folder)
    pack.write_bytes(damage(pack.read_bytes()))
    assert same(first, open_repository(root))
    write(root, {"s/view/w.sql": "CREATE VIEW s.w AS SELECT 1"})
    found = open_repository(root)
    parsed.clear()
    assert same(found, open_repository(root))
    assert parsed == [], "the next run is warm again"


def test_a_cache_that_cannot_be_written_is_no_error(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("SPARKDEPLOY_CACHE", str(tmp_path / "file"))
    assert open_repository(root).objects


def test_a_folder_in_the_place_of_the_pack_is_no_error(root: Path, folder: Path) -> None:
    open_repository(root)
    (pack,) = packs(folder)
    pack.unlink()
    pack.mkdir()
    assert open_repository(root).objects


def test_many_small_changes_do_not_grow_the_pack_without_end(root: Path, folder: Path) -> None:
    sizes = []
    for number in range(90):
        write(root, {"s/function/f.sql": f"CREATE FUNCTION s.f(x INT) RETURNS INT RETURN {number}"})
        found = open_repository(root)
        sizes.append(packs(folder)[0].stat().st_size)
    assert same(found, open_repository(root, use_cache=False))
    assert sizes[-1] < 400_000
    assert not list(folder.glob("*.tmp"))


def test_what_no_file_needs_leaves_the_pack_when_it_is_written_anew(root: Path, parsed: list[str]) -> None:
    del_broken(root)
    build_graph(open_repository(root))
    for number in range(40):
        (root / "s/function/f.sql").write_text(f"CREATE FUNCTION s.f(x INT) RETURNS INT RETURN x + {number}")
        build_graph(open_repository(root))
    memo = open_repository(root).memo
    assert memo is not None
    assert len(memo._pack.entries) < 30  # of 40 edits, those since it was written anew
    (root / "sparkdeploy.yaml").write_text("tokens: {limit: 10, other: 1}\nenvironments: {dev: , prod: }\n")
    parsed.clear()
    open_repository(root, environment="dev")
    assert parsed == []  # also found by its text with all tokens replaced


def test_an_edit_that_changes_no_reference_resolves_nothing_anew(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del_broken(root)
    resolved: list[str] = []
    real = graph._Resolving.object
    monkeypatch.setattr(
        graph._Resolving, "object", lambda self, item: resolved.append(item.path) or real(self, item)
    )
    before = build_graph(open_repository(root))
    assert len(resolved) == 6
    resolved.clear()
    view = root / "s/view/v.sql"
    view.write_text(view.read_text().replace("SELECT ", "SELECT 1, "))
    after = build_graph(open_repository(root))
    assert resolved == []
    assert (after.depends_on, after.order) == (before.depends_on, before.order)
    view.write_text(view.read_text().replace("FROM s.t", "FROM s.x"))
    assert ObjectName("s", "x") in build_graph(open_repository(root)).depends_on["s", "v"]
    view.write_text(view.read_text().replace("includeDependencies=d", "includeDependencies=k"))
    assert build_graph(open_repository(root)).problems  # a view cannot wait for a sink
    assert resolved == ["s/view/v.sql"] * 2


def test_a_name_that_was_a_broken_file_is_missing_once_the_file_is_gone(root: Path) -> None:
    del_broken(root)
    write(root, {"s/view/v.sql": "//// METADATA dependencies=broken\nCREATE VIEW s.v AS SELECT 1"})
    write(root, {"s/view/broken.sql": "CREATE VIEW s.broken AS SELECT 'x"})
    assert not build_graph(open_repository(root)).problems  # it is said of the file
    del_broken(root)
    (problem,) = build_graph(open_repository(root)).problems
    assert problem.code == "SD301"


@pytest.mark.parametrize(
    "wrong",
    [
        {"s/view/u.sql": "//// METADATA includeDependencies=nope\nCREATE VIEW s.u AS SELECT 1"},
        {"s/view/new.sql": "CREATE VIEW s.new AS SELECT 'x"},
    ],
)
def test_an_order_from_before_is_not_that_of_files_with_errors(root: Path, wrong: dict[str, str]) -> None:
    """They have an order of their own, and cycles: those that were known are of other texts."""
    del_broken(root)
    one, other = "CREATE VIEW s.{} AS SELECT 1", "CREATE VIEW s.{} AS SELECT 1 FROM s.{}"
    write(root, {"s/view/u.sql": other.format("u", "v"), "s/view/v.sql": other.format("v", "u")})
    assert build_graph(open_repository(root)).cyclic
    write(root, {"s/view/u.sql": other.format("u", "v"), "s/view/v.sql": one.format("v"), **wrong})
    warm = build_graph(open_repository(root))
    cold = build_graph(open_repository(root, use_cache=False))
    assert (warm.cyclic, warm.order) == (cold.cyclic, cold.order)
    assert not warm.cyclic


def test_another_kind_of_the_same_name_is_another_world(root: Path) -> None:
    del_broken(root)
    write(root, {"s/view/v.sql": "CREATE VIEW s.v AS SELECT f(1) FROM s.t"})
    assert build_graph(open_repository(root)).depends_on["s", "v"] == (("s", "f"), ("s", "t"))
    (root / "s/function/f.sql").unlink()
    write(root, {"s/view/f.sql": "CREATE VIEW s.f AS SELECT 1"})
    assert build_graph(open_repository(root)).depends_on["s", "v"] == (("s", "t"),)


def test_results_that_are_outdated_do_not_grow_the_pack_without_end(
    root: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_SPARE", 0)
    del_broken(root)
    sizes = []
    for number in range(30):
        write(root, {"s/view/v.sql": f"CREATE VIEW s.v AS SELECT * FROM raw.t{number}"})
        build_graph(open_repository(root))
        sizes.append(packs(folder)[0].stat().st_size)
    assert max(sizes) < 4 * sizes[0]
    assert same(open_repository(root), open_repository(root, use_cache=False))


def del_broken(root: Path) -> None:
    (root / "s/view/broken.sql").unlink()


def test_what_is_wrong_with_the_defaults_of_a_folder_is_told_with_their_line(root: Path) -> None:
    """The files of the folder are parsed again when it moves."""
    for line, before in enumerate(("", "-- why\n"), 1):
        write(root, {"s/function/package-info.txt": f"{before}//// METADATA includeDependencies=nope\n"})
        found = build_graph(open_repository(root)).problems
        assert [(item.file, item.line) for item in found] == [("s/function/package-info.txt", line)]
        assert found == build_graph(open_repository(root, use_cache=False)).problems


def test_problems_are_cached_with_their_file(root: Path) -> None:
    first, second = open_repository(root), open_repository(root)
    assert first.problems == second.problems
    assert {item.code for item in second.problems} >= {"SD123", "SD201"}


_WRITER = """
import sys
from pathlib import Path
from airflow_provider_sparkdeploy.core.repository import open_repository
root, own = Path(sys.argv[1]), sys.argv[2]
for number in range(12):
    found = open_repository(root, overrides=(f"limit={own}{number % 4}",))
    sql = next(item for name, item in found.objects.items() if name.object == "v").body.statements[0].sql
    assert f"'{own}{number % 4}'" in sql, sql
    assert len(found.objects) == 6, found.objects
"""


def test_concurrent_writers_do_not_disturb_each_other(root: Path, folder: Path, parsed: list[str]) -> None:
    running = [subprocess.Popen([sys.executable, "-c", _WRITER, str(root), own]) for own in "123"]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    found = open_repository(root)
    assert same(found, open_repository(root, use_cache=False))
    assert not list(folder.glob("*.tmp"))
    parsed.clear()
    open_repository(root)
    assert parsed == []


_IMPORTS = """
import json, sys
from airflow_provider_sparkdeploy.cli import main
try:
    main(sys.argv[1:], standalone_mode=False)
except SystemExit as error:
    assert not error.code, error.code
heavy = {"sqlglot", "networkx", "rich", "airflow_provider_sparkdeploy.spark"}
print("\\n" + json.dumps(sorted(heavy & set(sys.modules))))
"""
CYCLE = {
    "g/materialized_view/a.sql": "CREATE MATERIALIZED VIEW g.a (x INT) AS SELECT x FROM g.base UNION SELECT x FROM g.b",
    "g/materialized_view/b.sql": "CREATE MATERIALIZED VIEW g.b (x INT) AS SELECT DISTINCT x + 1 AS x FROM g.a WHERE x < 9",
    "g/table/base.sql": "CREATE TABLE g.base (x INT)",
    "sparkdeploy.yaml": "allow_circular: true\n",
}
PLAIN = {
    "s/table/t.sql": FILES["s/table/t.sql"],
    "s/table/d.sql": FILES["s/table/d.sql"],
    "s/view/v.sql": "CREATE VIEW s.v AS SELECT begin FROM s.t",
    "s/function/f.sql": FILES["s/function/f.sql"],
    "s/data/x.csv": FILES["s/data/x.csv"],
    "s/sink/k.sql": FILES["s/sink/k.sql"],
    "s/materialized_view/m.sql": "CREATE MATERIALIZED VIEW s.m AS SELECT count(*) AS n FROM s.v",
}


def heavy_imports(*arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTS, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("files", [PLAIN, CYCLE], ids=["plain", "with a legal cycle"])
def test_a_warm_run_imports_neither_sqlglot_nor_networkx(
    tmp_path: Path, folder: Path, files: dict[str, str]
) -> None:
    root = write(tmp_path / "repository", files)
    place = ("--repository", str(root), "--log", str(tmp_path / "log.jsonl"))
    assert "sqlglot" in heavy_imports("baseline", *place)
    assert heavy_imports("plan", *place, "--format", "json") == []
    assert heavy_imports("plan", *place) == []


def test_objects_survive_being_packed() -> None:
    squashed = "-- //// CHANGE name=b baselinedChanges=a\nSELECT 1;\n-- //// CHANGE name=c baselinedChanges=b\nSELECT 2;\n"
    for path, text in (*FILES.items(), ("s/table/squashed.sql", squashed)):
        if "/" not in path:
            continue
        schema, kind, file = path.split("/")
        source = Source(path, schema, kind, file.rpartition(".")[0], text, ("lake", "s"), "dev")  # type: ignore[arg-type]
        found = parse_object(source)
        packed = cache.pack(found)
        found_again = cache.unpack(packed) if found.object else None
        assert (found_again, cache.problems_of(packed)) == found


def test_the_folder_is_the_users_unless_one_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARKDEPLOY_CACHE", str(tmp_path))
    assert cache.cache_folder() == tmp_path
    monkeypatch.delenv("SPARKDEPLOY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.cache_folder() == tmp_path / "xdg" / "sparkdeploy"


def test_a_full_disk_is_no_error_and_leaves_nothing_behind(
    root: Path, folder: Path, parsed: list[str]
) -> None:
    expected = open_repository(root, use_cache=False)
    for size in (0, 100):
        with largest_file(size):
            assert same(expected, open_repository(root))
            assert same(expected, open_repository(root))
        assert not list(folder.glob("*.tmp"))
    assert same(expected, open_repository(root))
    parsed.clear()
    assert same(expected, open_repository(root))
    assert parsed == [], "mended once there is space"

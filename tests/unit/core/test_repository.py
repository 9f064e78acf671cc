"""A folder to a repository: every encoding, every environment, and every problem in one run."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, ClassVar

import pytest
from sketch import healthy, listing, name, plan, repository, write

from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError
from airflow_provider_sparkdeploy.core.files import Listing
from airflow_provider_sparkdeploy.core.repository import Repository, build_repository, open_repository
from airflow_provider_sparkdeploy.core.settings import Settings

TABLE = "//// CHANGE name=init\nCREATE TABLE ${s}.t (a INT);\n//// CHANGE name=more\nALTER TABLE ${s}.t\n ADD COLUMNS (b INT);\n"
VIEW = "CREATE VIEW s.v AS SELECT 1 AS a"


def opened(root: Path, content: bytes, path: str = "s/table/t.sql", **rest: Any) -> Repository:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return open_repository(root, use_cache=False, **rest)


def content(found: Repository) -> list[tuple[Any, ...]]:
    return [(item.name, tuple(item.changes), item.definition) for item in found.objects.values()]


def places(found: Repository) -> list[tuple[str, str]]:
    return [(item.code, item.where) for item in found.problems]


ENCODINGS = {
    "with a byte order mark": b"\xef\xbb\xbf" + TABLE.encode(),
    "windows": TABLE.replace("\n", "\r\n").encode(),
    "windows with a byte order mark": b"\xef\xbb\xbf" + TABLE.replace("\n", "\r\n").encode(),
    "old mac": TABLE.replace("\n", "\r").encode(),
    "mixed": TABLE.replace("\n", "\r\n", 2).encode(),
}


@pytest.mark.parametrize("text", ENCODINGS.values(), ids=ENCODINGS.keys())
@pytest.mark.parametrize("token", ["${s}", "s"])
def test_encodings_and_line_endings_make_no_difference(tmp_path: Path, text: bytes, token: str) -> None:
    found = opened(tmp_path / "other", text.replace(b"${s}", token.encode()))
    assert not found.problems
    assert content(found) == content(opened(tmp_path / "plain", TABLE.replace("${s}", "s").encode()))


def test_line_endings_inside_literals_make_no_difference(tmp_path: Path) -> None:
    text = "CREATE VIEW s.v AS SELECT 'a\nb' AS a"
    one = opened(tmp_path / "a", text.encode(), "s/view/v.sql")
    other = opened(tmp_path / "b", text.replace("\n", "\r\n").encode(), "s/view/v.sql")
    assert content(one) == content(other)


@pytest.mark.parametrize("text", [b"-- a\n-- \xff\n", b"-- a\n${s} \xff", "-- ä\n-- é".encode() + b"\xe9"])
def test_a_file_that_is_not_utf8_is_reported_with_its_line(tmp_path: Path, text: bytes) -> None:
    found = opened(tmp_path, text)
    assert ("SD103", "s/table/t.sql:2") in places(found)


def test_utf16_is_reported_not_a_crash(tmp_path: Path) -> None:
    assert ("SD103", "s/table/t.sql:1") in places(opened(tmp_path, TABLE.encode("utf-16")))


def test_lines_are_those_of_the_file_whatever_ends_them(tmp_path: Path) -> None:
    found = opened(tmp_path, b"-- a\r//// CHANGE name=a\rA;\r\rSELECT ${nope}", overrides=())
    assert places(found) == [("SD130", "s/table/t.sql:5")]


TWO_FILES = [
    ("s/table/o.sql", "s/view/o.sql"),
    ("s/view/o.sql", "s/view/O.sql"),
    ("s/view/o.sql", "S/view/o.sql"),
    ("s/function/o.sql", "s/materialized_view/o.sql"),
]
TEXT = {
    "table": "CREATE TABLE o (a INT)",
    "view": "CREATE VIEW o AS SELECT 1",
    "function": "CREATE FUNCTION o() RETURNS INT RETURN 1",
    "materialized_view": "CREATE MATERIALIZED VIEW o AS SELECT 1",
}


@pytest.mark.parametrize("paths", TWO_FILES)
def test_two_files_for_one_object_are_an_error_that_names_both(paths: tuple[str, str]) -> None:
    found = repository({path: TEXT[path.split("/")[1]] for path in paths})
    (problem,) = found.problems
    assert problem.code == "SD113"
    assert problem.line == 1
    assert all(path in str(problem) for path in paths)
    assert problem.advice


@pytest.mark.parametrize("broken", [["s/table/o.sql"], ["s/view/o.sql"], ["s/table/o.sql", "s/view/o.sql"]])
def test_two_files_are_an_error_also_where_something_else_is_wrong_with_them(broken: list[str]) -> None:
    texts = {path: TEXT[path.split("/")[1]] for path in TWO_FILES[0]}
    found = repository(texts | dict.fromkeys(broken, ""))
    [twice] = [item for item in found.problems if item.code == "SD113"]
    assert all(path in str(twice) for path in texts)
    assert len(found.problems) == len(broken) + 1


def test_two_files_may_share_an_object_when_an_environment_has_one_of_them() -> None:
    files = {
        "s/table/o.sql": "//// METADATA includeEnvs=prod\nCREATE TABLE o (a INT)",
        "s/view/o.sql": "//// METADATA excludeEnvs=prod\nCREATE VIEW o AS SELECT 1",
    }
    assert healthy(files, env="prod").objects[name("s.o")].kind == "table"
    assert healthy(files, env="dev").objects[name("s.o")].kind == "view"


def test_two_folders_must_not_mean_the_same_physical_object() -> None:
    files = {
        "a/view/o.sql": TEXT["view"],
        "b/view/O.sql": TEXT["view"],
        "b/view/p.sql": "CREATE VIEW p AS SELECT 1",
    }
    found = repository(files, "schemas: {a: lake.x, b: LAKE.X}")
    assert places(found) == [("SD114", "b/view/O.sql:1")]


def test_names_that_join_to_the_same_text_are_two_objects() -> None:
    found = healthy(
        {"a_b/view/c.sql": "CREATE VIEW c AS SELECT 1", "a/view/b_c.sql": "CREATE VIEW b_c AS SELECT 1"}
    )
    assert len(found.objects) == 2


def test_every_problem_of_every_file_is_in_one_report(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "s/table/text.sql": "-- fine\n\nSELECT 1;\n//// CHANGE name=a\nA",
            "s/table/twice.sql": "//// CHANGE name=a\nA\n//// CHANGE name=A\nB",
            "s/table/same.sql": "CREATE TABLE same (a INT)",
            "s/view/same.sql": "CREATE VIEW same AS SELECT 1",
            "s/view/attribute.sql": "\n-- //// METADATA tag=a\nCREATE VIEW attribute AS SELECT 1",
            "s/view/token.sql": "CREATE VIEW token AS\nSELECT ${nope}",
            "s/veiw/kind.sql": "x",
            "s/view/notes.txt": "x",
            "s/view/package-info.txt": "//// METADATA lifecycle=x\n",
        },
    )
    found = open_repository(root, use_cache=False).problems
    assert {(item.code, item.where) for item in found} == {
        ("SD131", "s/table/text.sql:3"),
        ("SD132", "s/table/twice.sql:3"),
        ("SD113", "s/view/same.sql:1"),
        ("SD123", "s/view/attribute.sql:2"),
        ("SD130", "s/view/token.sql:2"),
        ("SD111", "s/veiw/kind.sql:1"),
        ("SD112", "s/view/notes.txt:1"),
        ("SD126", "s/view/package-info.txt:1"),
    }
    assert [item for item in found if not item.advice] == []
    assert list(found) == sorted(found)


def test_ignored_files_are_neither_objects_nor_problems(tmp_path: Path) -> None:
    files = {
        "sparkdeploy.yaml": "ignore:\n  - '*.md'\n  - /scratch/\n  - old_*.sql\n  - '!old_but_gold.sql'\n",
        "notes/a.md": "x",
        "scratch/view/v.sql": "x",
        "s/view/old_v.sql": "x",
        "s/view/old_but_gold.sql": "CREATE VIEW old_but_gold AS SELECT 1",
    }
    found = open_repository(write(tmp_path, files), use_cache=False)
    assert not found.problems
    assert list(found.objects) == [name("s.old_but_gold")]
    assert set(found.schemas) == {"s"}


class TestFolderDefaults:
    def test_hold_for_every_file_of_the_folder_that_is_silent(self) -> None:
        found = healthy(
            {
                "s/view/package-info.txt": "-- //// METADATA tags=a,b compute=ETL lifecycle=protected\n",
                "s/view/v.sql": VIEW,
                "s/view/w.sql": "//// METADATA tags=c\nCREATE VIEW w AS SELECT 1",
                "s/table/t.sql": "CREATE TABLE t (a INT)",
            }
        ).objects
        v, w, t = (found[name(text)] for text in ("s.v", "s.w", "s.t"))
        assert (v.tags, v.compute, v.lifecycle) == (("a", "b"), "etl", "protected")
        assert (w.tags, w.compute) == (("c",), "etl")
        assert (t.tags, t.compute, t.lifecycle) == ((), None, "managed")

    def test_may_leave_a_folder_out_of_an_environment(self) -> None:
        files = {"s/view/package-info.txt": "//// METADATA includeEnvs=prod*", "s/view/v.sql": VIEW}
        assert len(healthy(files, env="prod-eu").objects) == 1
        assert len(healthy(files, env="dev").objects) == 0

    def test_may_use_tokens(self) -> None:
        files = {"s/view/package-info.txt": "//// METADATA compute=${cluster}", "s/view/v.sql": VIEW}
        assert healthy(files, "tokens: {cluster: etl}").objects[name("s.v")].compute == "etl"

    def test_with_an_undefined_token_are_an_error(self) -> None:
        files = {"s/view/package-info.txt": "//// METADATA compute=${cluster}", "s/view/v.sql": VIEW}
        assert places(repository(files)) == [("SD130", "s/view/package-info.txt:1")]

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("", "SD127"),
            ("tags=a", "SD127"),
            ("//// CHANGE name=a", "SD127"),
            ("//// METADATA tags=a\n//// METADATA tags=b", "SD127"),
            ("//// METADATA tags=a\nSELECT 1", "SD127"),
            ("//// METADATA tagz=a", "SD123"),
            ("//// METADATA keys=a", "SD124"),
        ],
    )
    def test_hold_one_metadata_line_and_nothing_else(self, text: str, code: str) -> None:
        found = repository({"s/view/package-info.txt": text, "s/view/v.sql": VIEW})
        assert [(item.code, item.file) for item in found.problems] == [(code, "s/view/package-info.txt")]

    def test_may_start_with_a_byte_order_mark_and_end_lines_in_any_way(self) -> None:
        for text in ("\ufeff//// METADATA tags=a\r\n", "-- x\r//// METADATA tags=a"):
            assert healthy({"s/view/package-info.txt": text, "s/view/v.sql": VIEW}).objects[
                name("s.v")
            ].tags == ("a",)


class TestTokens:
    SETTINGS = """
tokens: {Limit: 10}
schemas: {s: dev.sales}
environments:
  dev:
  prod:
    tokens: {limit: 20}
    schemas: {s: lake.sales_eu}
"""
    FILES: ClassVar = {"S/view/v.sql": "CREATE VIEW ${Schema}.v AS SELECT * FROM ${S}.t LIMIT ${LIMIT}", "s/table/t.sql": "CREATE TABLE ${schema}.t (a INT)"}  # fmt: skip

    def test_are_case_insensitive_and_follow_the_environment(self) -> None:
        dev, prod = (
            healthy(self.FILES, self.SETTINGS, env=env).objects[name("s.v")] for env in ("dev", "prod")
        )
        assert dev.body.statements[0].sql == "CREATE VIEW dev.sales.v AS SELECT * FROM dev.sales.t LIMIT 10"
        assert (
            prod.body.statements[0].sql
            == "CREATE VIEW lake.sales_eu.v AS SELECT * FROM lake.sales_eu.t LIMIT 20"
        )
        assert prod.physical == ("lake", "sales_eu", "v")

    def test_count_in_the_hash_by_their_value(self) -> None:
        one, same, other = (
            healthy(self.FILES, self.SETTINGS, env="dev", overrides=overrides).objects[name("s.v")].body.hash
            for overrides in ((), ("unused=1",), ("limit=11",))
        )
        assert one == same != other

    def test_of_folders_cannot_be_redefined(self) -> None:
        found = repository({"s/view/v.sql": VIEW}, "redeploy: replace\ntokens:\n  a: x\n  s: y\n")
        assert places(found) == [("SD102", "sparkdeploy.yaml:4")]

    @pytest.mark.parametrize("token", ["S", "Schema", "schema"])
    def test_of_folders_cannot_be_redefined_in_another_case(self, token: str) -> None:
        found = repository({"s/view/v.sql": VIEW}, f"tokens: {{{token}: y}}")
        assert [item.code for item in found.problems] == ["SD102"]

    def test_in_the_value_of_a_token_do_not_reach_spark(self) -> None:
        found = repository({"s/view/v.sql": "CREATE VIEW v AS SELECT '${a}'"}, "tokens: {a: 'x_${b}', b: y}")
        texts = [item.body.statements[0].sql for item in found.objects.values()]
        assert found.problems or texts == ["CREATE VIEW v AS SELECT 'x_y'"]

    def test_in_headers_are_replaced(self) -> None:
        found = healthy({"s/view/v.sql": "-- //// METADATA compute=${c}\n" + VIEW}, "tokens: {c: etl}")
        assert found.objects[name("s.v")].compute == "etl"

    def test_in_csv_are_replaced(self) -> None:
        found = healthy({"s/data/d.csv": "//// METADATA keys=a\na\n${c}\n"}, "tokens: {c: 1}")
        definition = found.objects[name("s.d")].definition
        assert definition is not None
        assert definition.columns[0].type == "bigint"


def test_the_order_of_files_makes_no_difference() -> None:
    files = {
        f"s/view/v{number}.sql": f"CREATE VIEW v{number} AS SELECT * FROM v{number + 1}"
        for number in range(9)
    }
    found = listing({**files, "s/veiw/x.sql": "", "s/view/v3b.sql": "CREATE VIEW v3b AS SELECT ${nope}"})
    expected = build_repository(found, Settings())
    shuffled = list(found.files)
    random.Random(1).shuffle(shuffled)
    again = build_repository(Listing(tuple(shuffled), found.defaults, found.problems), Settings())
    assert list(again.objects.items()) == list(expected.objects.items())
    assert again.problems == expected.problems


def test_jinja_is_text_like_any_other() -> None:
    sql = "CREATE VIEW v AS SELECT '{{ ds }}' AS a, '{% if x %}' AS b"
    assert healthy({"s/view/v.sql": sql}).objects[name("s.v")].body.statements[0].sql == sql


def test_a_file_that_is_not_utf8_has_no_other_problem(tmp_path: Path) -> None:
    for text, line in ((TABLE.encode("utf-16"), 1), (b"\r\r${nope} \xff", 3), (b"\xef\xbb\xbf\n'\xff", 2)):
        assert places(opened(tmp_path, text)) == [("SD103", f"s/table/t.sql:{line}")]


def test_folder_defaults_that_are_not_utf8_are_reported() -> None:
    files = listing({"s/view/v.sql": VIEW})
    found = build_repository(Listing(files.files, {("s", "view"): b"//// METADATA\n\xff"}, ()), Settings())
    assert places(found) == [("SD103", "s/view/package-info.txt:2")]


def test_a_token_in_a_token_is_reported_where_it_is_defined() -> None:
    found = repository({"s/view/v.sql": VIEW}, "tokens:\n  a: 'x_${b}'\n  b: y\n")
    assert places(found) == [("SD102", "sparkdeploy.yaml:2")]


@pytest.mark.parametrize("text", ["schemas: {slaes: lake.sales}", "propagation: {schemas: {slaes: false}}"])
def test_settings_of_a_folder_that_is_nearly_there_are_a_warning(text: str) -> None:
    found = repository({"sales/view/v.sql": "CREATE VIEW ${sales}.v AS SELECT 1 AS x"}, text)
    assert [(item.code, item.severity) for item in found.problems] == [("SD108", "warning")]
    assert "Did you mean sales?" in found.problems[0].advice
    other = text.replace("slaes", "yet_to_come")
    assert not repository({"sales/view/v.sql": "CREATE VIEW ${sales}.v AS SELECT 1 AS x"}, other).problems


ENVIRONMENTS = "environments: {prod: {}, dev: {}}\ndefault_environment: prod\n"


@pytest.mark.parametrize(
    "text",
    [
        "//// METADATA includeEnvs=pord\n" + VIEW,
        "//// METADATA excludeEnvs=dev,Prd\n" + VIEW,
    ],
)
def test_an_environment_that_nobody_declares_is_a_warning(text: str) -> None:
    """A typing error would leave the object out, and drop what is deployed of it."""
    found = repository({"s/view/v.sql": text}, ENVIRONMENTS)
    assert [(item.code, item.severity, item.where) for item in found.problems] == [
        ("SD144", "warning", "s/view/v.sql:1")
    ]
    assert not repository({"s/view/v.sql": text}).problems  # without a list every name is one


@pytest.mark.parametrize(
    ("schedule", "readable"),
    [
        ("0 2 * * *", True),
        ("*/5 9-17 1,15 jan-MAR mon-fri", True),
        ("0 0 ? * 5#2", True),
        ("0 0 L * *", True),
        ("${nightly}", True),
        ("@daily", True),
        ("@dayly", False),
        ("daily", False),
        ("0 2 * *", False),
        ("61 2 * * *", False),
        ("0 2 * * mo", False),
        ("0 2 0 * *", False),
    ],
)
def test_a_schedule_that_nobody_can_read_is_a_warning(schedule: str, readable: bool) -> None:
    text = f'//// METADATA schedule="{schedule}"\nCREATE MATERIALIZED VIEW s.m AS SELECT 1 AS a'
    found = repository({"s/materialized_view/m.sql": text}, 'tokens: {nightly: "0 2 * * *"}')
    expected = [] if readable else [("SD140", "warning", "s/materialized_view/m.sql:1")]
    assert [(item.code, item.severity, item.where) for item in found.problems] == expected


def test_environments_of_folders_and_sections_are_checked_too() -> None:
    files = {
        "s/view/package-info.txt": "//// METADATA includeEnvs=stage,ci*",
        "s/view/v.sql": VIEW,
        "s/table/t.sql": "//// CHANGE name=a\nCREATE TABLE s.t (a INT)\n//// CHANGE name=b excludeEnvs=devv\nSELECT 1",
    }
    assert places(repository(files, ENVIRONMENTS)) == [
        ("SD144", "s/table/t.sql:3"),
        ("SD144", "s/view/package-info.txt:1"),
        ("SD144", "s/view/package-info.txt:1"),
    ]


def test_an_environment_of_later_may_be_named_beside_others() -> None:
    files = {
        "s/view/v.sql": "//// METADATA includeEnvs=prod,ci*\n" + VIEW,
        "s/view/w.sql": "//// METADATA excludeEnvs=ci*\nCREATE VIEW s.w AS SELECT 1 AS a",
    }
    assert not repository(files, ENVIRONMENTS).problems


def test_who_names_a_broken_file_is_not_blamed_for_it() -> None:
    files = {
        "s/view/broken.sql": "CREATE VIEW s.broken AS SELECT 'open",
        "s/view/reader.sql": "//// METADATA dependencies=s.broken\nCREATE VIEW s.reader AS SELECT 1 AS a",
        "s/table/t.sql": "//// CHANGE name=a dependencies=broken,missing\nCREATE TABLE s.t (a INT)",
    }
    found = plan(repository(files)).plan
    assert [(item.code, item.where) for item in found.errors] == [
        ("SD301", "s/table/t.sql:1"),
        ("SD201", "s/view/broken.sql:1"),
    ]


SCRIPT = "//// CHANGE name=a\nCREATE TABLE s.t (a INT);\n//// CHANGE name=b\nSELECT 1"


@pytest.mark.parametrize(
    ("metadata", "code"),
    [
        ("dependencies=s.missing", "SD301"),
        ("includeDependencies=s.t", "SD302"),
        ("dependencies=s.k", "SD303"),
    ],
)
@pytest.mark.parametrize("path", ["s/table/t.sql", "s/table/package-info.txt"])
def test_a_wrong_dependency_is_told_once_where_it_is_written(metadata: str, code: str, path: str) -> None:
    files = {
        "s/table/t.sql": SCRIPT,
        "s/table/u.sql": SCRIPT.replace("s.t", "s.u").replace("name=b", "name=b compute=small"),
        "s/sink/k.sql": "INSERT INTO x SELECT 1",
    }
    files[path] = f"-- about it\n//// METADATA {metadata}\n" + files.get(path, "")
    found = plan(repository(files)).plan
    assert [(item.code, item.where) for item in found.errors] == [(code, f"{path}:2")]


def test_a_default_of_a_folder_is_warned_of_once_where_it_is_written() -> None:
    files = {
        "s/materialized_view/a.sql": "CREATE MATERIALIZED VIEW s.a AS SELECT 1 AS x",
        "s/materialized_view/b.sql": "//// METADATA tags=x\nCREATE MATERIALIZED VIEW s.b AS SELECT 1 AS x",
        "s/materialized_view/package-info.txt": "\n//// METADATA schedule=never",
    }
    (warning,) = plan(repository(files)).plan.warnings
    assert (warning.code, warning.where) == ("SD140", "s/materialized_view/package-info.txt:2")


def test_an_object_is_not_suggested_to_itself() -> None:
    files = {"s/view/b.sql": "//// METADATA dependencies=s.a\nCREATE VIEW s.b AS SELECT 1 AS x"}
    (error,) = plan(repository(files)).plan.errors
    assert error.code == "SD301"
    assert "Did you mean" not in error.advice


@pytest.mark.parametrize(
    ("dependency", "advice"),
    [
        ("s.tabel", "Did you mean s.table?"),
        ("s.table.inti", "Did you mean s.table.init?"),
        ("table.inti", "Did you mean table.init?"),
        ("s.other.x", "Did you mean s.other?"),
    ],
)
def test_a_misspelled_dependency_comes_with_the_name_that_was_meant(dependency: str, advice: str) -> None:
    files = {
        "s/table/table.sql": "//// CHANGE name=init\nCREATE TABLE s.table (a INT)",
        "s/view/other.sql": "CREATE VIEW s.other AS SELECT 1 AS a",
        "s/view/v.sql": f"//// METADATA dependencies={dependency}\n" + VIEW,
    }
    assert [item.advice for item in plan(repository(files)).plan.errors] == [advice]


def test_the_schema_of_what_was_meant_may_be_left_out() -> None:
    files = {
        "warehouse/view/orders.sql": "CREATE VIEW warehouse.orders AS SELECT 1 AS a",
        "warehouse/view/v.sql": "//// METADATA dependencies=ordrs\nCREATE VIEW warehouse.v AS SELECT 1 AS a",
    }
    assert [item.advice for item in plan(repository(files)).plan.errors] == ["Did you mean warehouse.orders?"]
    del files["warehouse/view/v.sql"]
    with pytest.raises(SparkDeployError, match=r"Did you mean warehouse\.orders\?"):
        plan(repository(files), select=("ordrs",))


@pytest.mark.parametrize("dependency", ["s.t.init.1", "t.init.1"])
def test_a_change_with_a_dot_in_its_name_is_suggested_in_back_quotes(dependency: str) -> None:
    changes = "//// CHANGE name=init.1\nCREATE TABLE s.t (a INT);\n//// CHANGE name=init\nALTER TABLE s.t ADD COLUMNS (b INT);\n"
    files = {"s/table/t.sql": changes, "s/view/v.sql": f"//// METADATA dependencies={dependency}\n" + VIEW}
    (error,) = plan(repository(files)).plan.errors
    right = dependency.replace("init.1", "`init.1`")
    assert error.advice == f"Did you mean {right}?"
    files["s/view/v.sql"] = f"//// METADATA dependencies={right}\n" + VIEW
    assert not plan(repository(files)).plan.errors, "what is advised resolves"


@pytest.mark.parametrize(
    ("token", "warned"),
    [("db_password", True), ("API_KEY", True), ("token", True), ("tokens_kept", False), ("region", False)],
)
def test_a_token_that_is_named_like_a_secret_is_warned_of(token: str, warned: bool) -> None:
    """Its value would be in every place that shows a statement."""
    found = repository({"s/view/v.sql": VIEW}, f"tokens:\n  {token}: hunter2\n")
    assert places(found) == ([("SD109", "sparkdeploy.yaml:2")] if warned else [])
    assert all(item.severity == "warning" for item in found.problems)
    assert not any("hunter2" in str(item) for item in found.problems)

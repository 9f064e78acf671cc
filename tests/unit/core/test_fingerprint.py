"""The fingerprint changes with what could change a plan, and costs no parsing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from sketch import write

from airflow_provider_sparkdeploy.core import fingerprint
from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError
from airflow_provider_sparkdeploy.core.files import Listing, read_files
from airflow_provider_sparkdeploy.core.fingerprint import (
    content_digests,
    fingerprint_of,
    repository_fingerprint,
    tool_versions,
)
from airflow_provider_sparkdeploy.core.repository import open_repository
from airflow_provider_sparkdeploy.core.settings import Settings

VIEW = "CREATE VIEW s.v AS SELECT 1 AS a"
FILES = {
    "s/view/v.sql": VIEW,
    "s/table/t.sql": "//// CHANGE name=init\nCREATE TABLE ${s}.t (a INT)",
    "s/data/d.csv": "//// METADATA keys=a\na\n1\n",
    "s/view/package-info.txt": "//// METADATA tags=a",
    "sparkdeploy.yaml": "tokens: {a: b}\nenvironments: {dev: {tokens: {a: c}}, prod: }\ndefault_environment: prod\nignore: ['*.bak']\n",
}


@pytest.mark.parametrize(
    "files",
    [
        {"s/view/v.sql": VIEW + " "},
        {"s/view/v.sql": "\ufeff" + VIEW},
        {"s/view/v.sql": "not SQL at all '"},
        {"s/view/w.sql": VIEW.replace("s.v", "s.w")},
        {"t/view/v.sql": VIEW},
        {"s/data/d.csv": "//// METADATA keys=a\na\n2\n"},
        {"s/view/package-info.txt": "//// METADATA tags=b"},
        {"s/data/package-info.txt": "//// METADATA tags=b"},
        {"s/veiw/v.sql": VIEW},
        {"s/view/v.txt": "declares nothing, and is reported"},
        {"sparkdeploy.yaml": "redeploy: recreate"},
        {"sparkdeploy.yaml": "schemas: {s: lake.s}"},
        {"sparkdeploy.yaml": FILES["sparkdeploy.yaml"].replace("a: b", "a: d")},
        {"sparkdeploy.yaml": FILES["sparkdeploy.yaml"] + "propagation: false"},
    ],
    ids=str,
)
def test_every_file_counts(tmp_path: Path, files: dict[str, str]) -> None:
    before = repository_fingerprint(write(tmp_path / "r", FILES))
    after = repository_fingerprint(write(tmp_path / "r", files))
    assert after != before
    assert after == open_repository(tmp_path / "r", use_cache=False).fingerprint


def test_a_file_that_is_gone_or_renamed_counts(tmp_path: Path) -> None:
    root = write(tmp_path / "r", FILES)
    found = [repository_fingerprint(root)]
    (root / "s/view/v.sql").rename(root / "s/view/w.sql")
    found.append(repository_fingerprint(root))
    (root / "s/view/w.sql").unlink()
    found.append(repository_fingerprint(root))
    (root / "s/view/package-info.txt").unlink()
    found.append(repository_fingerprint(root))
    assert len(set(found)) == 4


def test_the_environment_and_what_overrides_it_count(tmp_path: Path) -> None:
    root = write(tmp_path / "r", FILES)
    asked = [(None, ()), ("dev", ()), ("dev", ("a=x",)), ("dev", ("redeploy=recreate",))]
    found = [repository_fingerprint(root, environment=env, overrides=sets) for env, sets in asked]
    opened = [
        open_repository(root, environment=env, overrides=sets, use_cache=False).fingerprint
        for env, sets in asked
    ]
    assert found == opened
    assert len(set(found)) == len(asked)


def test_neither_the_place_nor_what_is_ignored_nor_a_comment_in_the_settings_counts(tmp_path: Path) -> None:
    before = repository_fingerprint(write(tmp_path / "a", FILES))
    more = {"s/view/v.sql.bak": "x", "sparkdeploy.yaml": "# a comment\n" + FILES["sparkdeploy.yaml"]}
    assert repository_fingerprint(write(tmp_path / "b", FILES | more)) == before


def test_the_order_in_which_files_are_found_does_not_count(tmp_path: Path) -> None:
    found = read_files(write(tmp_path / "r", FILES))
    turned = Listing(found.files[::-1], dict(reversed(found.defaults.items())), found.problems)
    one, two = (fingerprint_of(item, Settings(), content_digests(item)) for item in (found, turned))
    assert one == two


def test_what_moves_between_two_files_counts(tmp_path: Path) -> None:
    texts = [{"s/view/v.sql": "ab", "s/view/w.sql": "c"}, {"s/view/v.sql": "a", "s/view/w.sql": "bc"}]
    one, two = (repository_fingerprint(write(tmp_path / str(n), files)) for n, files in enumerate(texts))
    assert one != two


def test_another_version_of_the_tool_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write(tmp_path / "r", FILES)
    before = repository_fingerprint(root)
    monkeypatch.setattr(fingerprint, "tool_versions", lambda: ("99.0", *tool_versions()[1:]))
    assert repository_fingerprint(root) != before


def test_wrong_settings_are_raised(tmp_path: Path) -> None:
    with pytest.raises(SparkDeployError):
        repository_fingerprint(write(tmp_path / "r", {"sparkdeploy.yaml": "redeploy: sometimes"}))
    with pytest.raises(SparkDeployError):
        repository_fingerprint(tmp_path / "nowhere")


def test_it_imports_no_parser(tmp_path: Path) -> None:
    root = write(tmp_path / "r", FILES)
    code = (
        "import sys; from pathlib import Path\n"
        "from airflow_provider_sparkdeploy.core.fingerprint import repository_fingerprint\n"
        f"print(repository_fingerprint(Path({str(root)!r})))\n"
        "ours = [name.rpartition('.')[2] for name in sys.modules if name.startswith('airflow_provider')]\n"
        "print(sorted({'sqlglot', 'networkx', 'parse', 'repository'} & {*sys.modules, *ours}))\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [repository_fingerprint(root), "[]"]

"""The documentation does what it says: every command is run, every file is one that exists, every
list of names is complete. UPDATE_DOCS=1 writes the outputs anew. Read the difference.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import reference
import yaml
from click import Command, Context, Group
from snippets import NEEDS_SPARK, ROOT, Session, blocks, commands, elided, matches, renewed, section

from airflow_provider_sparkdeploy.cli import main
from airflow_provider_sparkdeploy.core import dirty, settings
from airflow_provider_sparkdeploy.core.codec import encode_plan
from airflow_provider_sparkdeploy.core.headers import ATTRIBUTES
from airflow_provider_sparkdeploy.core.objects import KINDS
from airflow_provider_sparkdeploy.core.operations import Operation, Plan
from airflow_provider_sparkdeploy.core.planner import make_plan
from airflow_provider_sparkdeploy.core.repository import open_repository
from airflow_provider_sparkdeploy.spark.session import ConnectSessions

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
PACKAGE = ROOT / "airflow_provider_sparkdeploy"


def _page(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def _pages(*, on_spark: bool) -> list[Path]:
    return [path for path in PAGES if (NEEDS_SPARK in path.read_text("utf-8").splitlines()) == on_spark]


def _check(path: Path, session: Session) -> None:
    session.prepare()
    after = session.run(path.read_text("utf-8"))
    if os.environ.get("UPDATE_DOCS"):
        path.write_text(after, "utf-8")
    assert not session.problems, f"{path.name}: " + "\n\n".join(session.problems)


@pytest.mark.parametrize("path", _pages(on_spark=False), ids=lambda path: path.stem)
def test_what_a_page_shows_is_what_happens(path: Path, tmp_path: Path) -> None:
    _check(path, Session(tmp_path))


@pytest.mark.spark
@pytest.mark.xdist_group("docs")  # the pages use the same names, so one after the other
@pytest.mark.parametrize("path", _pages(on_spark=True), ids=lambda path: path.stem)
def test_what_a_page_shows_happens_on_spark(path: Path, tmp_path: Path, empty_warehouse: Path) -> None:
    _check(path, Session(tmp_path, empty_warehouse))


def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert built.returncode == 0, built.stdout + built.stderr
    assert "WARNING" not in built.stderr, built.stderr
    loading = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=\"?(?:https?:)?//[^>]*>")
    for page in sorted(tmp_path.rglob("*.html")):
        assert loading.findall(page.read_text("utf-8")) == [], page.name


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"[\w/]+\.md", str(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]))
    assert sorted(listed) == [path.relative_to(DOCS).as_posix() for path in PAGES]


def test_every_diagnostic_is_explained() -> None:
    sources = "".join(path.read_text("utf-8") for path in PACKAGE.rglob("*.py"))
    explained = re.findall(r"^### (SD\d{3})\b", _page("diagnostics.md"), re.M)
    assert explained == sorted(set(explained))
    assert set(explained) == set(re.findall(r'"(SD\d{3})"', sources))


def test_every_attribute_kind_and_setting_is_described() -> None:
    page = _page("repository.md")
    described = re.findall(r"^#### `(\w+)`", page, re.M)
    assert sorted(described) == sorted([*(item.name for item in ATTRIBUTES.values()), *settings._TOP])
    assert re.findall(r"^### `(\w+)`", page, re.M) == list(KINDS)


def test_every_choice_of_a_setting_is_named() -> None:
    page = _page("repository.md")
    for key, choices in settings._CHOICES.items():
        text = page.partition(f"#### `{key}`")[2].partition("\n#### ")[0]
        assert set(choices) <= set(re.findall(r"`([\w]+)`", text)), key


def test_every_field_of_a_plan_is_described() -> None:
    from airflow_provider_sparkdeploy.core.names import ObjectName

    plan = Plan("f", (Operation("setup.s.o", "setup", "create", ObjectName("s", "o"), "view", "", ""),))
    data = encode_plan(plan)
    described = set(re.findall(r"^\| `(\w+)` \|", _page("plan.md"), re.M))
    assert {*data, *data["operations"][0]} <= described


def test_the_rules_of_the_propagation_are_those_of_the_code() -> None:
    source = Path(dirty.__file__).read_text("utf-8")
    implemented = {line.strip().strip('"') for line in source.splitlines() if " :- " in line}
    text = "\n".join(line for block in blocks(_page("propagation.md")) for line in block.lines)
    shown = {re.sub(r"\s+", " ", line.strip()) for line in text.splitlines() if ":-" in line}
    assert shown == {re.sub(r"\s+", " ", line) for line in implemented}


def test_every_command_is_shown_with_its_options() -> None:
    assert isinstance(main, Group)
    console = [block for block in blocks(_page("cli.md")) if block.language == "console"]
    shown = [command.text for block in console for command in commands(block)]
    names = main.list_commands(Context(main))
    assert {name for name in names if f"sparkdeploy {name} --help" not in shown} == set()


def test_the_python_reference_is_that_of_the_docstrings() -> None:
    """Every public name, and every argument of it, is described where it is defined."""
    for name in reference.names():
        assert reference.undescribed(name) == set(), name
    head, marker, _ = _page("python.md").partition(reference.MARKER)
    made = f"{head}{marker}\n\n{reference.reference().rstrip()}\n"
    if os.environ.get("UPDATE_DOCS"):
        (DOCS / "python.md").write_text(made, "utf-8")
    assert _page("python.md") == made


def test_every_argument_of_the_factories_is_explained_in_the_guide() -> None:
    page = _page("airflow.md")
    for name in ("SparkDeployDag", "SparkDeployTaskGroup", "SparkRefreshDag"):
        missing = {item for item in reference.parameters(name) if f"`{item}" not in page}
        assert missing - reference.PASSED_ON - {"dag_id", "group_id"} == set(), name


def test_every_setting_of_airflow_and_every_metric_is_named() -> None:
    from airflow_provider_sparkdeploy.airflow.provider import get_provider_info

    page = _page("airflow.md")
    options = get_provider_info()["config"]["sparkdeploy"]["options"]
    assert {name for name in options if f"`{name}`" not in page} == set()
    sources = "".join(path.read_text("utf-8") for path in (PACKAGE / "airflow").rglob("*.py"))
    metrics = set(re.findall(r'Stats\.\w+\(\s*"([\w.]+)"', sources))
    assert metrics
    assert {name for name in metrics if f"`{name}`" not in page} == set()


def _mentioned(text: str) -> list[tuple[str, list[str]]]:
    """Commands in the prose of a page, in its unchecked blocks and in the README: names and options."""
    lines = [line for block in blocks(text) if block.language == "text" for line in block.lines]
    lines += re.findall(r"^    (.*)$", text, re.M) + re.findall(r"`([^`\n]+)`", text)
    found = [re.match(r"(?:\$ )?sparkdeploy ((?:local )?[a-z]+)\b(.*)", line.strip()) for line in lines]
    return [(call[1], re.findall(r"(?<!\S)--[a-z-]+", call[2])) for call in found if call]


@pytest.mark.parametrize("path", [*PAGES, ROOT / "README.md"], ids=lambda path: path.stem)
def test_every_command_that_is_mentioned_exists(path: Path) -> None:
    for name, options in _mentioned(path.read_text("utf-8")):
        assert set(options) <= _options(name), (name, options)


def _options(name: str) -> set[str]:
    """The options of a command, which must exist."""
    command: Command = main
    for part in name.split():
        assert isinstance(command, Group), name
        found = command.get_command(Context(command), part)
        assert found is not None, name
        command = found
    return {word for option in command.params for word in option.opts} | {"--help"}


def test_commands_in_prose_are_found() -> None:
    page = (
        "Run `sparkdeploy plan --env x`.\n\n```text\nsparkdeploy local stop --warehouse DIR  ends it\n```\n"
    )
    assert _mentioned(page) == [("local stop", ["--warehouse"]), ("plan", ["--env"])]


def test_settings_of_airflow_that_are_shown_are_settings() -> None:
    from airflow.configuration import conf

    shown = [block for block in blocks(_page("airflow.md")) if block.lines and block.lines[0].startswith("[")]
    assert shown
    for block in shown:
        section = ""
        for line in block.lines:
            if found := re.match(r"\[(\w+)\]", line):
                section = found[1]
            elif found := re.match(r"(\w+) = ", line):
                assert conf.has_option(section, found[1]), f"[{section}] {found[1]}"


def test_the_files_of_the_readme_are_planned_as_it_says(tmp_path: Path) -> None:
    [sql] = [block for block in blocks((ROOT / "README.md").read_text("utf-8")) if block.language == "sql"]
    file = tmp_path / "sales" / "table" / "orders.sql"
    file.parent.mkdir(parents=True)
    file.write_text("\n".join(sql.lines), "utf-8")
    plan = make_plan(open_repository(tmp_path, use_cache=False), {}).plan
    assert not plan.diagnostics
    assert [item.id for item in plan.operations] == [
        "setup.sales.orders.init.1",
        "setup.sales.orders.add_region.1",
    ]


def test_what_is_ready_to_copy_calls_commands_that_there_are() -> None:
    found = [block for block in blocks(_page("ci.md")) if block.title.endswith((".yml", ".yaml"))]
    assert found
    for block in found:
        text = "\n".join(block.lines)
        assert yaml.safe_load(text)
        for call in re.findall(r"\bsparkdeploy (\w+)((?: +(?:--[\w-]+|[^\s|>&-]\S*))*)", text):
            assert set(re.findall(r"--[\w-]+", call[1])) <= _options(call[0]), call


@pytest.mark.spark
@pytest.mark.xdist_group("docs")
def test_the_workflow_comments_on_a_pull_request(tmp_path: Path, sessions: ConnectSessions) -> None:
    """Its steps, in order, as GitHub runs them; what is called there to comment is called here, too."""
    [block] = [block for block in blocks(_page("ci.md")) if block.title.endswith("sparkdeploy.yml")]
    job = yaml.safe_load("\n".join(block.lines))["jobs"]["plan"]
    steps = [step["run"] for step in job["steps"] if "run" in step]
    assert steps[0] == "pip install airflow-provider-sparkdeploy"
    gh = tmp_path / "bin" / "gh"
    gh.parent.mkdir()
    gh.write_text('#!/bin/sh\necho "$@" > called\ncp plan.md commented.md\n', "utf-8")
    gh.chmod(0o755)
    path = os.pathsep.join([str(gh.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {
        **os.environ,
        "PATH": path,
        "SPARKDEPLOY_SPARK": sessions.address,
        "PYTHONWARNINGS": "ignore",
    }

    def run(command: str) -> None:
        done = subprocess.run(
            ["bash", "-e", "-c", command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"

    run("sparkdeploy init shop")
    with (tmp_path / "shop" / "sparkdeploy.yaml").open("a") as settings:
        settings.write(
            "log_schema: workflow_log\ndata_schema: workflow_data\nschemas: {shop: workflow_shop}\n"
        )
    try:
        run("sparkdeploy apply --repository shop --env prod --log elsewhere.jsonl")
        run("sed -i 's/sum(amount) AS total/sum(amount) + 1 AS total/' shop/shop/view/revenue.sql")
        for step in steps[1:]:
            run(step.replace("${{ github.event.number }}", "7"))
    finally:
        with sessions.open() as spark:
            for schema in ("workflow_shop", "workflow_log", "workflow_data"):
                spark.sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
    assert (tmp_path / "called").read_text("utf-8").startswith("pr comment 7 --body-file plan.md ")
    comment = (tmp_path / "commented.md").read_text("utf-8")
    assert "environment prod" in comment
    assert "`shop.revenue` view | modified" in comment


def test_the_readme_fits_two_screens_and_leads_somewhere() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.splitlines()) <= 80
    links = re.findall(r"\]\(([^)#]+)", text)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
    targets = set(re.findall(r"^    make (\w+)", text, re.M))
    assert targets <= set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    [code] = [block for block in blocks(text) if block.language == "python"]
    known = {*reference.parameters("SparkDeployDag"), "schedule"}
    assert set(re.findall(r"^    (\w+)=", "\n".join(code.lines), re.M)) <= known
    compile("\n".join(code.lines), "README.md", "exec")


def test_the_modules_that_contributors_are_sent_to_are_there() -> None:
    named = re.findall(r"`((?:core|cli|spark|airflow|telling)/\w+\.py)`", _page("architecture.md"))
    assert named
    assert [name for name in named if not (PACKAGE / name).is_file()] == []


def test_the_pictures_are_those_that_the_script_draws(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(DOCS / "pictures" / "draw.py"), str(tmp_path)], check=True)
    drawn = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    assert drawn == {path.name: path.read_text("utf-8") for path in (DOCS / "pictures").glob("*.svg")}


def test_elided_lines_match_anything_and_nothing_else_does() -> None:
    assert matches(("a", "...", "d"), ("a", "b", "c", "d"))
    assert matches(("at ... by me",), ("at noon by me",))
    assert not matches(("a", "...", "d"), ("a", "b", "c"))
    assert not matches(("a",), ("a", "b"))
    assert matches(("b", "c"), ("a", "b", "c", "d"), ends=False)
    assert not matches(("b", "d"), ("a", "b", "c", "d"), ends=False)


def test_an_update_keeps_what_was_elided() -> None:
    assert renewed(("a", "...", "d"), ("x", "b", "c", "y")) == ("x", "...", "y")
    assert renewed(("at ...", "b"), ("at noon", "c")) == ("at ...", "c")


def test_what_is_never_the_same_is_elided() -> None:
    lines = ("✓ 1/3  setup.s.o  0.12 s", "at 2026-01-31T12:00:00+00:00 run apply-20260131T120000-1a2b3c done")
    assert elided(lines) == ("✓ 1/3  setup.s.o  ... s", "at ... run apply-... done")
    assert matches(elided(lines), lines)


def test_a_section_of_an_example_is_cut_out(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("import b\n# [START x]\none\ntwo\n# [END x]\nthree\n")
    assert section(path, "x") == ("one", "two")
    assert section(path, "y") == ()
    session = Session(tmp_path)
    page = '```python title="dags_examples/deploy_shop.py#minimal"\nimport nothing\n```\n'
    assert "SparkDeployDag(" in session.run(page)
    assert session.problems == ["line 1: not the section minimal of dags_examples/deploy_shop.py"]


def test_a_page_that_is_wrong_fails(tmp_path: Path) -> None:
    page = '```console\n$ echo one\ntwo\n$ false\n```\n```sql title="dags_examples/x.sql"\nSELECT 1\n```\n```sql\nSELECT 1\n```\n'
    session = Session(tmp_path)
    after = session.run(page)
    assert len(session.problems) == 4
    assert "$ echo one\none\n$ false\n" in after

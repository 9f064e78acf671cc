"""What goes wrong is told once, with advice and exit code 1; JSON stays JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_calls import FILES, ORDERS, Shop, call, write

WRONG = {
    "no folder": (("--repository", "nowhere"), "SD100", "sparkdeploy init"),
    "a file for a folder": (("--repository", "a_file"), "SD100", "--repository"),
    "unknown environment": (("--env", "prdo"), "SD101", "Did you mean prod?"),
    "not a setting": (("--set", "nothing"), "SD101", "--set name=value"),
    "a folder for a log": (("--log", "."), "SD603", ""),
    "no log at all": (("--log", "a_file"), "SD602", "Restore the file"),
    "unknown selector": (("--select", "tga:x"), "SD501", "Did you mean tag?"),
    "nothing selected": (("--select", "s.ordres"), "SD501", "Did you mean s.orders?"),
    "unknown schema": (("--force-schema", "ss"), "SD502", ""),
    "no catalog": (("--catalog", "nowhere.json"), "SD607", ""),
    "not a catalog": (("--catalog", "a_file"), "SD607", "Expected"),
}


@pytest.fixture
def place(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    (tmp_path / "a_file").write_text("hello\n")
    monkeypatch.chdir(tmp_path)
    return shop


@pytest.mark.parametrize("command", ["plan", "explain"])
@pytest.mark.parametrize("wrong", WRONG)
def test_one_clear_message_and_exit_1(place: Shop, wrong: str, command: str) -> None:
    options, code, advice = WRONG[wrong]
    subject = ("s.orders",) if command == "explain" else ()
    result = place.call(command, *subject, *options)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith(f"error {code} ")
    assert advice in result.stderr
    assert result.stderr.count("error SD") == 1
    found = place.json(command, *subject, *options, exit_code=1)
    assert [item["code"] for item in found["errors"]] == [code]


@pytest.mark.parametrize("command", ["lint", "graph", "components", "baseline", "history"])
@pytest.mark.parametrize("options", [("--repository", "nowhere"), ("--env", "prdo")])
def test_the_other_commands_too(place: Shop, command: str, options: tuple[str, ...]) -> None:
    result = call(command, "--repository", str(place.root), *options)
    assert result.exit_code == 1
    assert result.stderr.startswith("error SD")
    asked = call(command, "--repository", str(place.root), *options, "--format", "json")
    assert (asked.exit_code, asked.stderr) == (1, "")
    assert len(json.loads(asked.stdout)["errors"]) == 1


def test_an_unknown_object_is_told_with_a_near_name(place: Shop) -> None:
    assert "Did you mean s.orders?" in place.call("explain", "s.order").stderr
    assert "Did you mean s.report?" in place.call("explain", "reprot").stderr
    assert "graph" in place.call("explain", "xyzzy").stderr
    place.edit("t/view/open.sql", "CREATE VIEW t.open AS SELECT 1 AS x")
    assert "open is not clear: s.open, t.open" in place.call("explain", "open").stderr


@pytest.mark.parametrize(
    "arguments", [("plan", "--what"), ("explain",), ("plan", "--format", "xml"), ("nothing",)]
)
def test_usage_errors_are_2(arguments: tuple[str, ...]) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Error: " in result.stderr


def test_all_problems_of_a_repository_in_one_run(shop: Shop) -> None:
    shop.edit("s/view/bad.sql", "CREATE VIEW s.bad AS SELECT ${nope}")
    shop.edit("s/veiw/lost.sql", "SELECT 1")
    for command in ("plan", "lint", "graph", "components", "baseline"):
        result = shop.call(command)
        assert result.exit_code == 1
        assert "s/veiw/lost.sql:1" in result.stderr
        assert "s/view/bad.sql:1" in result.stderr
        assert "2 errors; nothing was changed." in result.stderr
    told = shop.call("status")
    assert "Nothing to do" not in told.stdout
    assert "There is no plan." in told.stdout
    assert "2 errors" in told.stderr


def test_a_repository_without_objects_is_told(tmp_path: Path) -> None:
    shop = Shop(tmp_path, {"sparkdeploy.yaml": "default_environment: dev\n"})
    for command in ("plan", "lint", "graph", "components", "status", "drift", "baseline"):
        result = shop.call(command)
        assert result.exit_code == 0
        assert f"warning SD105 there are no objects in {shop.root}" in result.stderr
        assert "<schema>/<kind>/<object>.sql" in result.stderr
        assert [item["code"] for item in shop.json(command)["warnings"]] == ["SD105"]


def test_an_empty_repository_still_drops_what_is_deployed(deployed: Shop) -> None:
    for path in FILES:
        if path.startswith(("s/view", "t/")):
            (deployed.root / path).unlink()
    (deployed.root / "s/table/orders.sql").unlink()
    found = deployed.json("plan", exit_code=1)
    assert [item["code"] for item in found["errors"]] == ["SD401"]
    assert [item["code"] for item in found["warnings"]] == ["SD105"]


def test_a_torn_log_is_reported_and_the_plan_is_made(deployed: Shop) -> None:
    with deployed.log.open("ab") as file:
        file.write(b'{"v": 1, "type"')
    result = deployed.call("plan")
    assert result.exit_code == 0
    assert "warning SD601 log.jsonl:" in result.stderr
    assert [item["code"] for item in deployed.json("plan")["warnings"]] == ["SD601"]


def test_a_log_of_another_environment_is_refused(deployed: Shop) -> None:
    assert "SD606" in deployed.call("plan", "--env", "prod").stderr


def test_a_file_that_cannot_be_read_is_no_stack_trace(shop: Shop) -> None:
    (shop.root / "s/view/broken.sql").symlink_to("nowhere.sql")
    result = shop.call("plan")
    assert result.exit_code == 1
    assert "broken.sql" in result.stderr
    assert "SD900" not in result.stderr
    assert shop.json("plan", exit_code=1)["operations"] == []


def test_what_nobody_expected_is_called_a_bug(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.delenv("SPARKDEPLOY_DEBUG", raising=False)
    monkeypatch.setattr("airflow_provider_sparkdeploy.cli.planning.make_plan", fails)
    result = shop.call("plan")
    assert result.exit_code == 1
    assert "SD900 sparkdeploy itself failed: ZeroDivisionError: a mistake of ours" in result.stderr
    assert shop.json("plan", exit_code=1)["errors"][0]["code"] == "SD900"
    monkeypatch.setenv("SPARKDEPLOY_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        shop.call("plan")


def test_a_plan_needs_neither_a_cache_nor_a_log_that_can_be_written(
    deployed: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a_file").write_text("")
    monkeypatch.setenv("SPARKDEPLOY_CACHE", str(tmp_path / "a_file" / "cache"))
    before = deployed.log.read_bytes()
    deployed.log.chmod(0o444)
    deployed.edit("s/table/orders.sql", ORDERS + "\n-- a remark\n")
    assert deployed.call("plan", "--detailed-exitcode").exit_code == 0
    assert deployed.log.read_bytes() == before


def test_a_log_that_cannot_be_written_is_told(shop: Shop, tmp_path: Path) -> None:
    write(tmp_path, {"a_file": ""})
    result = shop.call("baseline", "--log", str(tmp_path / "a_file" / "log.jsonl"))
    assert result.exit_code == 1
    assert "a_file" in result.stderr
    assert "SD900" not in result.stderr


def test_what_the_system_refuses_is_no_bug(tmp_path: Path) -> None:
    write(tmp_path, {"a_file": ""})
    result = call("init", str(tmp_path / "a_file" / "shop"))
    assert result.exit_code == 1
    assert result.stderr.startswith("error SD106 ")
    assert "Check the path and its permissions" in result.stderr


def test_a_folder_above_or_below_the_repository_is_one_error(shop: Shop, tmp_path: Path) -> None:
    write(tmp_path, {"docs/guide/index.md": "", "src/lib/code.py": "", "notes/view/todo.md": ""})  # beside it
    for folder in (tmp_path, shop.root / "s"):
        told = call("plan", "--repository", str(folder))
        assert told.exit_code == 1
        assert told.stderr.count("error SD") == 1
        assert f"SD100 {folder} is not a repository: sparkdeploy.yaml is in " in told.stderr
        assert f"--repository {shop.root}; " in told.stderr


def test_a_folder_of_other_things_is_one_error(tmp_path: Path) -> None:
    write(tmp_path, {f"src/lib{number}/code.py": "" for number in range(9)})
    told = call("plan", "--repository", str(tmp_path))
    assert told.exit_code == 1
    assert told.stderr.count("error SD") == 1
    assert f"SD100 {tmp_path} is not a repository: none of its files" in told.stderr


def test_folders_that_are_misspelled_are_each_named(tmp_path: Path) -> None:
    write(tmp_path, {f"s{number}/views/v.sql": "CREATE VIEW v AS SELECT 1" for number in range(9)})
    told = call("plan", "--repository", str(tmp_path))
    assert told.stderr.count("Did you mean view?") == 9

"""``sparkdeploy.yaml``, the environments in it, and ``--set``."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_sparkdeploy.core.diagnostics import Diagnostic, SparkDeployError
from airflow_provider_sparkdeploy.core.settings import Propagation, Settings, load_settings


def load(text: str, env: str | None = None, *overrides: str) -> Settings:
    return load_settings(text, environment=env, overrides=overrides)


def problems(text: str, env: str | None = None, *overrides: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(SparkDeployError) as error:
        load(text, env, *overrides)
    return error.value.diagnostics


@pytest.mark.parametrize("text", [None, "", "# nothing\n", "---\n"])
def test_every_setting_has_a_default(text: str | None) -> None:
    assert load_settings(text) == Settings()


def test_the_defaults_are_those_of_the_design() -> None:
    found = Settings()
    assert (found.redeploy, found.on_drift, found.on_destructive) == ("replace", "heal", "approve")
    assert (found.allow_circular, found.max_fixpoint_iterations, found.retention) == ("false", 100, 3600)
    assert found.propagation.through_schema("s")
    assert found.propagation.through_compute("s")


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("redeploy: recreate", "redeploy", "recreate"),
        ("redeploy: Recreate", "redeploy", "recreate"),
        ("on_drift: fail", "on_drift", "fail"),
        ("on_destructive: block", "on_destructive", "block"),
        ("allow_circular: true", "allow_circular", "true"),
        ("allow_circular: unsafe", "allow_circular", "unsafe"),
        ("allow_circular: false", "allow_circular", "false"),
        ("max_fixpoint_iterations: 7", "max_fixpoint_iterations", 7),
        ("retention: 90", "retention", 90),
        ("retention: 15m", "retention", 900),
        ("retention: 2h", "retention", 7200),
        ("retention: 1d", "retention", 86400),
        ("ignore: ['*.md', '!a.md']", "ignore", ("*.md", "!a.md")),
    ],
)
def test_a_setting_is_read(text: str, name: str, value: Any) -> None:
    assert getattr(load(text), name) == value
    if not text.startswith("ignore"):
        key, _, given = text.partition(": ")
        assert getattr(load("", None, f"{key}={given}"), name) == value, "--set means the same"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("abc", "abc"),
        ("'1.10'", "1.10"),
        ("10", "10"),
        ("2024-01-31", "2024-01-31"),
        ("true", "true"),
        ('"a b"', "a b"),
        ("''", ""),
        # text is text: what YAML makes of it must not reach the SQL
        ("1.10", "1.10"),
        ("NO", "NO"),
        ("010", "010"),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("null", "null"),
    ],
)
def test_a_token_is_the_text_that_was_written(written: str, value: str) -> None:
    assert load(f"tokens:\n  a: {written}\n").tokens == {"a": value}


def test_an_environment_overrides_the_project_and_set_overrides_both() -> None:
    text = """
redeploy: recreate
on_drift: warn
tokens: {a: project, b: project, c: project}
schemas: {sales: sales, ref: ref}
environments:
  prod:
    on_drift: fail
    tokens: {b: prod, c: prod}
    schemas: {Sales: lake.sales_prod}
"""
    found = load(text, "prod", "c=set", "on_drift=adopt")
    assert (found.environment, found.redeploy, found.on_drift) == ("prod", "recreate", "adopt")
    assert found.tokens == {"a": "project", "b": "prod", "c": "set"}
    assert found.physical_schema("SALES") == ("lake", "sales_prod")
    assert found.physical_schema("ref") == ("ref",)
    assert found.physical_schema("Other") == ("Other",)


@pytest.mark.parametrize(
    ("text", "asked", "chosen"),
    [
        ("", None, "default"),
        ("", "dev", "dev"),
        ("environments: {prod: }", None, "prod"),
        ("environments: {prod: , dev: }", "dev", "dev"),
        ("environments: {prod: , default: }", None, "default"),
        ("default_environment: dev\nenvironments: {prod: , dev: }", None, "dev"),
        ("default_environment: dev\nenvironments: {prod: , dev: }", "prod", "prod"),
    ],
)
def test_an_environment_is_chosen(text: str, asked: str | None, chosen: str) -> None:
    assert load(text, asked).environment == chosen


def test_a_schema_may_have_a_quoted_name() -> None:
    assert load("schemas: {s: 'cat.`a.b`'}").physical_schema("s") == ("cat", "a.b")


@pytest.mark.parametrize(
    ("text", "schema", "compute"),
    [
        ("propagation: false", (False, False), (False, False)),
        ("propagation: {schema: false}", (False, False), (True, True)),
        ("propagation: {compute: false, schemas: {Ref: true}}", (True, True), (True, False)),
        ("propagation: {schemas: {ref: {schema: false}}}", (False, True), (True, True)),
        ("propagation: {schemas: {ref: false}}", (False, True), (False, True)),
    ],
)
def test_propagation_is_switched_per_schema(
    text: str, schema: tuple[bool, bool], compute: tuple[bool, bool]
) -> None:
    found = load(text).propagation
    assert (found.through_schema("ref"), found.through_schema("sales")) == schema
    assert (found.through_compute("ref"), found.through_compute("sales")) == compute


def test_set_changes_one_rule_of_the_propagation_and_keeps_the_rest() -> None:
    found = load(
        "propagation: {schemas: {ref: {schema: false}}}", None, "propagation.compute=false"
    ).propagation
    assert found == Propagation(schema=True, compute=False, schema_by_folder={"ref": False})


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("redeploi: replace", 1, "Did you mean redeploy?"),
        ("tokens: {}\n\nredeploy: never", 3, "never"),
        ("on_drift: heel", 1, "Did you mean heal?"),
        ("environments:\n  dev:\n    toknes: {}\n", 3, "Did you mean tokens?"),
        ("environments:\n  dev:\n    ignore: []\n", 3, "ignore"),
        ("environments: [dev]", 1, "mapping"),
        ("tokens: abc", 1, "mapping"),
        ("tokens:\n  a: [1]\n", 2, "a"),
        ("tokens:\n  a: |\n    x\n    y\n", 2, "one line"),
        ("max_fixpoint_iterations: 0", 1, "above 0"),
        ("retention: soon", 1, "1h"),
        ("schemas:\n  s: a..b\n", 2, "catalog.schema"),
        ("catalogs: {lake: icebreg}", 1, "iceberg"),
        ("ignore: '*.md'", 1, "list"),
        ("propagation: {schema: maybe}", 1, "true or false"),
        ("propagation: {schemas: {ref: {shcema: false}}}", 1, "schema"),
        ("propagation: {shcema: false}", 1, "schema"),
        ("a: [", 1, "not YAML"),
        ("a: 1\n b: 2", 2, "not YAML"),
        ("- a\n- b", 1, "mapping"),
        ("environments: {prod: , dev: }", 1, "--env"),
        ("tokens: {a: '\x01'}", 1, "not YAML"),
    ],
)
def test_a_mistake_is_reported_with_its_line(text: str, line: int, words: str) -> None:
    found = problems(text)
    assert [item.where for item in found] == [f"sparkdeploy.yaml:{line}"]
    assert words in str(found[0])


def test_an_unknown_environment_is_an_error() -> None:
    found = problems("environments: {prod: , dev: }", "pord")
    assert "Did you mean prod?" in found[0].advice


@pytest.mark.parametrize(
    "override",
    ["redeploy", "=x", "redeploy=never", "retention=soon", "propagation.schema=flase", "on_dirft=fail"],
)
def test_a_wrong_set_is_an_error(override: str) -> None:
    assert "--set" in str(problems("", None, override)[0])


def test_all_mistakes_are_reported_at_once() -> None:
    found = problems(
        "redeploy: x\non_drift: y\nzz: 1\nenvironments:\n  dev: {retention: z}\n", "dev", "on_destructive=q"
    )
    assert len(found) == 5


def test_tokens_that_differ_in_case_only_are_one_name_twice() -> None:
    assert "a" in str(problems("tokens: {a: 1, A: 2}")[0])


@pytest.mark.parametrize(
    "text", ["redeploy: replace\nredeploy: recreate", "schemas: {s: a, S: b}", "environments: {dev: , Dev: }"]
)
def test_what_is_there_twice_is_reported_with_its_line(text: str) -> None:
    found = problems(text, "dev")
    assert any("twice" in item.message for item in found)
    assert all(item.advice for item in found)


def test_a_token_is_one_whatever_the_case_of_its_name() -> None:
    text = "tokens: {limit: 1}\nenvironments: {dev: {tokens: {Limit: 2}}}"
    assert load(text).tokens == {"limit": "2"}
    assert load(text, None, "LIMIT=3").tokens == {"limit": "3"}


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("tokens: {NO: a, 010: b}", "tokens", {"no": "a", "010": "b"}),
        ("schemas: {2020: 1_0}", "schemas", {"2020": ("1_0",)}),
        ("default_environment: NO\nenvironments: {no: , se: }", "environment", "no"),
    ],
)
def test_names_are_the_text_that_was_written(text: str, name: str, value: Any) -> None:
    assert getattr(load(text), name) == value


def test_environments_are_found_in_any_case() -> None:
    assert load("environments: {Prod: , dev: }", "PROD").environment == "Prod"


def test_every_environment_is_checked_not_only_the_chosen_one() -> None:
    found = problems("environments:\n  dev: {redeploy: x}\n  prod: {retention: y}\n", "dev")
    assert [item.line for item in found] == [2, 3]


@pytest.mark.parametrize(
    "text",
    ["tokens: &a {b: *a}", "[" * 5000, "retention: 2024-13-45", "? [a]\n: b", "a: !!python/name:os.system x", "max_fixpoint_iterations: \u00b2"],
)  # fmt: skip
def test_no_text_is_a_crash(text: str) -> None:
    assert all(item.code == "SD101" and item.line and item.advice for item in problems(text))


def test_one_name_of_a_mapping_can_be_set() -> None:
    text = "tokens: {n: 1, m: 2}\nschemas: {s: one}\ncatalogs: {lake: delta}"
    found = load(text, None, "tokens.N=7", "schemas.s=lake.two", "catalogs.lake=iceberg")
    assert found.tokens == {"n": "7", "m": "2"}
    assert found.schemas == {"s": ("lake", "two")}
    assert found.catalogs == {"lake": "iceberg"}
    assert load("tokens: {tokens.n: 1}", None, "tokens.n=2").tokens == {"tokens.n": "2"}


@pytest.mark.parametrize(
    "override",
    ["ignore=x", "environments=x", "propagation.shcema=false", "a=x\ny", "tokens.=1", "catalogs.lake=x", "schemas.s="],
)  # fmt: skip
def test_what_cannot_be_set_is_not_silently_a_token(override: str) -> None:
    (found,) = problems("", None, override)
    assert "--set" in found.message
    assert found.advice


def test_a_misspelled_token_is_not_silently_another_one() -> None:
    (found,) = problems("tokens: {vip_from: 1000}", None, "vip_form=2000")
    assert "Did you mean vip_from?" in found.advice
    assert load("tokens: {vip_from: 1000}", None, "vip_from=2000").tokens["vip_from"] == "2000"
    assert load("tokens: {vip_from: 1000}", None, "region=eu").tokens["region"] == "eu"

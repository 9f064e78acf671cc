"""The texts that a run keeps of what was deployed before it."""

from __future__ import annotations

import sketch

from airflow_provider_sparkdeploy.airflow.before import texts_before

FILES = {
    "s/table/t.sql": "-- //// CHANGE name=init\nCREATE TABLE s.t (a INT);\n",
    "s/view/v.sql": "CREATE VIEW s.v AS SELECT a FROM s.t",
    "s/materialized_view/x.sql": "CREATE MATERIALIZED VIEW s.x (a INT) AS SELECT a FROM s.t UNION SELECT a FROM s.y",
    "s/materialized_view/y.sql": "CREATE MATERIALIZED VIEW s.y (a INT) AS SELECT DISTINCT a FROM s.x",
}
SETTINGS = "allow_circular: true\n"


def _before(after: dict[str, str]) -> dict[str, str]:
    state = sketch.everything(sketch.healthy(FILES, SETTINGS))
    plan = sketch.plan(sketch.healthy(after, SETTINGS), state).plan
    assert not plan.errors
    return texts_before(plan.operations, state)


def test_what_is_deployed_until_then() -> None:
    assert _before({**FILES, "s/view/v.sql": "CREATE VIEW s.v AS SELECT a + 1 AS a FROM s.t"})[
        "setup.s.v"
    ] == ("CREATE VIEW s.v AS SELECT a FROM s.t")


def test_what_is_new_had_no_text() -> None:
    more = "-- //// CHANGE name=more\nALTER TABLE s.t ADD COLUMNS (b INT);\n"
    found = _before(
        {
            **FILES,
            "s/table/t.sql": FILES["s/table/t.sql"] + more,
            "s/view/w.sql": "CREATE VIEW s.w AS SELECT 1 AS a",
        }
    )
    assert (found["setup.s.w"], found["setup.s.t.more.1"]) == ("", "")


def test_a_component_is_deployed_together() -> None:
    changed = FILES["s/materialized_view/y.sql"].replace("DISTINCT a", "DISTINCT a + 0")
    text = _before({**FILES, "s/materialized_view/y.sql": changed})["setup.s.x.fixpoint"]
    assert "MATERIALIZED VIEW s.x" in text
    assert "MATERIALIZED VIEW s.y" in text


def test_very_long_texts_are_left_out() -> None:
    huge = f"CREATE VIEW s.v AS SELECT '{'x' * 30_000}' AS a"
    state = sketch.everything(sketch.healthy({**FILES, "s/view/v.sql": huge}, SETTINGS))
    plan = sketch.plan(sketch.healthy(FILES, SETTINGS), state).plan
    assert "setup.s.v" in {operation.id for operation in plan.operations}
    assert "setup.s.v" not in texts_before(plan.operations, state)

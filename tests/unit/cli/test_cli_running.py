"""What is told of a run: where an error is, once."""

from __future__ import annotations

import pytest
from click import unstyle
from sketch import healthy, operation, plan, step

from airflow_provider_sparkdeploy.cli.apply import _line, _shortened
from airflow_provider_sparkdeploy.cli.running import _line as ended
from airflow_provider_sparkdeploy.spark.apply import Event

VIEW = """-- a remark

CREATE VIEW s.v AS
SELECT 1 AS a,
  nothing
FROM s.t;
"""
FILES = {
    "s/view/v.sql": VIEW,
    "s/table/t.sql": "-- //// CHANGE name=init\nCREATE TABLE s.t (a INT);\n\nINSERT INTO s.t\nSELECT nothing;\n",
}


@pytest.mark.parametrize(
    ("said", "line"), [("line 3 pos 2", 5), ("(line 3, pos 2)", 5), ("no line", 3), ("line 99 pos 2", 6)]
)
def test_the_line_of_an_error_is_that_of_the_file(said: str, line: int) -> None:
    found = healthy(FILES)
    made = operation(plan(found), "setup.s.v")
    assert _line(found.objects[made.object], made, f"[UNRESOLVED_COLUMN] wrong; {said}") == line


def test_of_a_statement_that_spark_repeats_the_marked_line_is_shown() -> None:
    said = (
        "[PARSE_SYNTAX_ERROR] near 'BY'. (line 7, pos 6)\n\n== SQL ==\n"
        + "a,\n" * 6
        + "GRUOP BY a\n------^^^\nb"
    )
    assert _shortened(said) == ["[PARSE_SYNTAX_ERROR] near 'BY'. (line 7, pos 6)", "GRUOP BY a", "------^^^"]
    assert _shortened("wrong\n\n== SQL ==\na\nb\n") == ["wrong"]


def test_also_where_only_the_query_is_sent() -> None:
    before = {**FILES, "s/view/v.sql": "CREATE VIEW s.v AS SELECT 2 AS a FROM s.t"}
    made = step(before, FILES)
    swap = operation(made, "setup.s.v")
    assert swap.sql.startswith("ALTER VIEW")
    assert swap.sql.splitlines()[2] == "  nothing"
    assert _line(made.repository.objects[swap.object], swap, "wrong; line 3 pos 2") == 5


def test_also_in_a_later_statement() -> None:
    found = healthy(FILES)
    made = operation(plan(found), "setup.s.t.init.2")
    assert _line(found.objects[made.object], made, "wrong; line 2 pos 7") == 5


def test_an_error_is_named_when_it_happens_and_told_at_the_end() -> None:
    made = operation(plan(healthy(FILES)), "setup.s.v")
    told = unstyle(ended(Event(made, "failed", 0.5, "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column"), 1, 2))
    assert told.endswith("setup.s.v  0.50 s  [UNRESOLVED_COLUMN.WITH_SUGGESTION]")
    assert ended(Event(made, "failed", 0.5, "the lock is gone"), 1, 2).endswith("setup.s.v  0.50 s")

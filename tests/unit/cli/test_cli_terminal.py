"""Colours and progress are for terminals; pipes get plain text, and JSON in UTF-8."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from cli_calls import COMMAND, Shop, on_terminal, process

ESCAPE = "\x1b["


def plan_of(shop: Shop) -> tuple[str, ...]:
    return ("plan", "--repository", str(shop.root), "--log", str(shop.log))


def test_colours_only_on_a_terminal(shop: Shop) -> None:
    plain = process(*plan_of(shop))
    assert plain.returncode == 0
    assert ESCAPE.encode() not in plain.stdout + plain.stderr
    shown = on_terminal(*COMMAND, *plan_of(shop))
    assert ESCAPE in shown
    quiet = on_terminal(*COMMAND, *plan_of(shop), NO_COLOR="1")
    assert ESCAPE not in quiet
    assert re.sub(r"\x1b\[\d*m", "", shown) == quiet
    assert ESCAPE not in on_terminal(*COMMAND, *plan_of(shop), TERM="dumb")


def test_problems_are_coloured_by_the_same_rule(shop: Shop) -> None:
    wrong = ("plan", "--repository", str(shop.root / "nowhere"))
    assert ESCAPE in on_terminal(*COMMAND, *wrong)
    assert ESCAPE not in on_terminal(*COMMAND, *wrong, NO_COLOR="1")
    assert ESCAPE.encode() not in process(*wrong).stderr


def test_lines_fit_the_terminal(shop: Shop) -> None:
    shop.edit(
        "t/view/wide.sql", f"CREATE VIEW t.wide AS SELECT {', '.join(f'{n} AS c{n}' for n in range(200))}"
    )
    shop.edit(
        "t/table/long.sql",
        "-- //// CHANGE name=from_customers\nCREATE TABLE t.long AS SELECT\n"
        + ",\n".join(f"{n} AS c{n}" for n in range(200)),
    )
    text = on_terminal(*COMMAND, *plan_of(shop), NO_COLOR="1", COLUMNS="80")
    wide = [line for line in text.splitlines() if "t.wide AS" in line or "t.long AS" in line]
    assert len(wide) == 2
    assert all(len(line) <= 80 for line in wide)


def test_json_is_utf_8_whatever_the_locale(shop: Shop) -> None:
    shop.edit("t/view/漢.sql", "CREATE VIEW t.`漢` AS SELECT 'é' AS x")
    for encoding in ("ascii", "latin-1"):
        done = process(*plan_of(shop), "--format", "json", PYTHONIOENCODING=encoding)
        assert done.returncode == 0, done.stderr
        assert "t.`漢`" in [item["object"] for item in json.loads(done.stdout.decode())["operations"]]
    text = process(*plan_of(shop), PYTHONIOENCODING="latin-1")
    assert text.returncode == 0, text.stderr
    assert b"t.`\\u6f22`" in text.stdout


def test_a_reader_that_goes_away_is_no_stack_trace(shop: Shop) -> None:
    running = subprocess.Popen([*COMMAND, *plan_of(shop)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout is not None
    running.stdout.close()
    assert running.stderr is not None
    said = running.stderr.read()
    running.stderr.close()
    running.wait(60)
    assert b"Traceback" not in said
    assert b"Exception" not in said


SLOW = """
import sys
from airflow_provider_sparkdeploy.cli import progress
progress._PATIENCE = float(sys.argv[1])
with progress.progress("Reading") as report:
    for done in range(1, 4):
        if report:
            report(done, 3)
with progress.working("Planning"):
    import time
    time.sleep(float(sys.argv[2]))
print("done")
"""


def test_progress_is_shown_on_a_terminal_when_it_takes_long(tmp_path: Path) -> None:
    script = tmp_path / "slow.py"
    script.write_text(SLOW)
    patient = on_terminal(sys.executable, str(script), "1000", "0")
    assert patient == "done\n"
    shown = on_terminal(sys.executable, str(script), "0", "1")
    assert "Reading" in shown
    assert "3/3" in shown
    assert "Planning" in shown
    piped = subprocess.run([sys.executable, str(script), "0", "0"], capture_output=True, check=True)
    assert (piped.stdout, piped.stderr) == (b"done\n", b"")

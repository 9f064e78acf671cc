"""What ``make demo`` and ``make ui`` tell whoever waits, and whoever starts them twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "dags_examples"))
import local_airflow
import ui


def test_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ui, "LOCK", tmp_path / "build" / "demo.lock")
    with ui.alone(), pytest.raises(SystemExit, match="at work"), ui.alone():
        pass
    with ui.alone():
        pass


def _airflow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> tuple[local_airflow.LocalAirflow, list[int]]:
    """One whose program is another, and how often it was waited for."""
    program = tmp_path / "bin" / "airflow"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(local_airflow, "BIN", program.parent)
    waits: list[int] = []

    def wait() -> None:
        waits.append(1)
        local_airflow.time.sleep(0.05)

    return local_airflow.LocalAirflow(tmp_path / "home", 0, wait=wait), waits


def test_a_command_that_takes_long_is_waited_for_where_it_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    airflow, waits = _airflow(tmp_path, monkeypatch, "sleep 0.5; echo $1")
    assert airflow.command("version") == "version\n"
    assert len(waits) > 1


def test_what_does_not_start_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    airflow, _ = _airflow(tmp_path, monkeypatch, 'test "$1" = db || { echo broken; exit 3; }')
    monkeypatch.setattr(ui, "local_airflow", lambda: airflow)
    with pytest.raises(SystemExit, match="ended by itself") as told, ui.started():
        pass
    assert str(airflow.home) in str(told.value)


@pytest.mark.parametrize(
    ("at_work", "told"),
    [
        (["setup.a", "setup.b"], "  3 of 9 tasks ended after 12 s; now: setup.a, setup.b"),
        ([], "  3 of 9 tasks ended after 12 s; now: waiting for the scheduler"),
    ],
)
def test_a_run_says_how_far_it_is(at_work: list[str], told: str) -> None:
    assert ui.standing(3, 9, at_work, 12.3) == told


def test_a_tour_that_is_stopped_is_no_stack_trace(tmp_path: Path) -> None:
    lock = f"demo.ui.LOCK = demo.Path({str(tmp_path / 'build' / 'demo.lock')!r})"
    script = f"import demo\n{lock}\ndef main():\n    raise KeyboardInterrupt\ndemo.main = main\ndemo.run()"
    folder = Path(ui.__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "was stopped" in done.stderr
    assert "Traceback" not in done.stderr

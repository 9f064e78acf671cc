"""Calls of the command line as tests make them: in this process, as a process, on a terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from airflow_provider_sparkdeploy.cli import main

COMMAND = (sys.executable, "-m", "airflow_provider_sparkdeploy.cli")
ORDERS = """\
-- //// CHANGE name=init
CREATE TABLE s.orders (id BIGINT, amount INT) USING parquet;
-- // ROLLBACK
DROP TABLE s.orders;
"""
FILES = {
    "sparkdeploy.yaml": "propagation: {schema: false}\nenvironments: {dev: {}, prod: {}}\ndefault_environment: dev\n",
    "s/table/orders.sql": ORDERS,
    "s/view/open.sql": "CREATE VIEW s.open AS\nSELECT id\nFROM s.orders\nWHERE amount > 0\n",
    "s/view/report.sql": "-- //// METADATA tags=top\nCREATE VIEW s.report AS SELECT count(*) AS n FROM s.open\n",
    "t/view/alone.sql": "CREATE VIEW t.alone AS SELECT 1 AS one\n",
}
CYCLE = {
    "sparkdeploy.yaml": "allow_circular: true\n",
    "g/table/base.sql": "CREATE TABLE g.base (x INT)",
    "g/materialized_view/a.sql": "CREATE MATERIALIZED VIEW g.a (x INT) AS\nSELECT x FROM g.base\nUNION SELECT x FROM g.b",
    "g/materialized_view/b.sql": "CREATE MATERIALIZED VIEW g.b (x INT) AS SELECT DISTINCT x FROM g.a WHERE x < 9",
}


def write(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


class Shop:
    """A repository and its log."""

    def __init__(self, folder: Path, files: dict[str, str]) -> None:
        self.root = write(folder / "repository", files)
        self.log = folder / "log.jsonl"

    def edit(self, path: str, text: str) -> None:
        write(self.root, {path: text})

    def call(self, command: str, *options: str) -> Result:
        return call(command, "--repository", str(self.root), "--log", str(self.log), *options)

    def json(self, command: str, *options: str, exit_code: int = 0) -> dict[str, Any]:
        result = self.call(command, *options, "--format", "json")
        assert result.exit_code == exit_code, result.output
        assert result.stderr == ""
        found: dict[str, Any] = json.loads(result.stdout)
        return found


def call(*arguments: str) -> Result:
    """An exception that reaches the user is a failure of the test."""
    result = CliRunner().invoke(main, [*arguments], catch_exceptions=False)
    assert "Traceback" not in result.output
    return result


def process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
        timeout=120,
    )


def on_terminal(*command: str, **environment: str) -> str:
    """What a program writes to a terminal, standard error included."""
    master, slave = pty.openpty()
    clean = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    running = subprocess.Popen(
        command,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**clean, "TERM": "xterm", "COLUMNS": "100", **environment},
    )
    os.close(slave)
    read = b""
    while select.select([master], [], [], 60)[0]:
        try:
            part = os.read(master, 65536)
        except OSError:  # how Linux says that the other side is closed
            break
        if not part:
            break
        read += part
    os.close(master)
    running.wait(60)
    return read.decode("utf-8", "replace").replace("\r\n", "\n")

"""What the commands of Airflow say of the provider, through its entry point: as after a ``pip install``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

NAME = "airflow-provider-sparkdeploy"


def airflow(home: Path, *arguments: str) -> Any:
    """Run a command in a home of its own, and read its answer."""
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
    }
    command = [sys.executable, "-m", "airflow", *arguments, "--output", "json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "sparkdeploy" not in done.stderr.lower()  # a warning about us, which every command would show
    return json.loads(done.stdout[done.stdout.index("[") :])


def test_the_list_has_the_provider(tmp_path: Path) -> None:
    found = {item["package_name"]: item for item in airflow(tmp_path, "providers", "list")}
    assert NAME in found
    assert found[NAME]["version"] == metadata.version(NAME)
    assert found[NAME]["description"].startswith("Deploy tables, views, materialized views and functions")


def test_one_can_ask_for_the_provider(tmp_path: Path) -> None:
    [found] = airflow(tmp_path, "providers", "get", NAME)
    assert found["Provider"] == NAME
    assert found["Version"] == metadata.version(NAME)

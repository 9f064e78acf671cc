"""A whole Airflow on this machine: API server, scheduler, DAG processor, triggerer.

    make ui      the shop in Airflow, in a browser

For trying things out, and for the tests. It lives in one folder, listens on 127.0.0.1 only, and ends
with the process that started it. Its output is in files of that folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

BIN = Path(sys.executable).parent
PROCESSES = ("api-server", "scheduler", "dag-processor", "triggerer")
PATIENCE = 300.0  # seconds for what takes a few on a machine that nobody else uses
# Ends the process group when whoever started it is gone (its standard input ends then): asked first,
# after five seconds by force. It ends, too, when its process has ended by itself.
_WATCH = (
    'exec 3<&0; "$@" <&- 3<&- & child=$!; trap "" TERM; '
    "{ read -r _ <&3; kill -s TERM -- -$$; sleep 5; kill -s KILL -- -$$; } & "
    "wait $child; sleep 1; kill -s KILL -- -$$"
)


def free_port(wanted: int = 0) -> int:
    """``wanted`` if nobody has it, else one that nobody has."""
    for port in (wanted, 0):
        with contextlib.suppress(OSError), socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", port))
            return int(taken.getsockname()[1])
    raise RuntimeError("no port is free")


@dataclass
class Process:
    """A command in a process group of its own, with its output in a file."""

    name: str
    popen: subprocess.Popen[bytes]
    log: Path

    def stop(self) -> None:
        """Let it end; the shell that watches it sees to that."""
        assert self.popen.stdin is not None
        self.popen.stdin.close()


@dataclass
class LocalAirflow:
    """An Airflow in a folder. Use it as a context manager; it is spoken to through its REST API."""

    home: Path
    port: int
    database: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    processes: dict[str, Process] = field(default_factory=dict)
    token: str = ""
    people: tuple[tuple[str, str], ...] = (("admin", "admin"),)
    wait: Callable[[], None] = lambda: time.sleep(0.3)

    @property
    def dags(self) -> Path:
        return self.home / "dags"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def settings(self) -> dict[str, str]:
        """Section and option to value. Everything that only waits is made to wait less."""
        secret = "sparkdeploy" * 6  # it listens on this machine only, and the people are in a file beside it
        return {
            "CORE__EXECUTOR": "LocalExecutor",
            "CORE__DAGS_FOLDER": str(self.dags),
            "CORE__LOAD_EXAMPLES": "False",
            "CORE__PARALLELISM": "4",
            "CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{name}:{role}" for name, role in self.people),
            "CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(self.home / "passwords.json"),
            "DATABASE__SQL_ALCHEMY_CONN": self.database or f"sqlite:///{self.home / 'airflow.db'}",
            "API__BASE_URL": self.url,
            "API__PORT": str(self.port),
            "API__HOST": "127.0.0.1",
            "API__WORKERS": "1",
            "API__SECRET_KEY": secret,
            "API_AUTH__JWT_SECRET": secret,
            "LOGGING__BASE_LOG_FOLDER": str(self.home / "logs"),
            "DAG_PROCESSOR__DAG_BUNDLE_STORAGE_PATH": str(self.home / "bundles"),
            "DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "2",
            "DAG_PROCESSOR__REFRESH_INTERVAL": "2",
            "DAG_PROCESSOR__PARSING_PROCESSES": "1",
            "SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.2",
            "WORKERS__MIN_HEARTBEAT_INTERVAL": "1",
            "USAGE_DATA_COLLECTION__ENABLED": "False",
        }

    def environ(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW")}
        ours = {f"AIRFLOW__{key}": value for key, value in self.settings().items()}
        home = {
            "AIRFLOW_HOME": str(self.home),
            "NO_COLOR": "1",
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        }
        return {**kept, **ours, **home, **self.environment}

    def command(self, *words: str) -> str:
        """``airflow ...``, to its end."""
        with tempfile.TemporaryFile("w+") as said:
            running = subprocess.Popen(
                [str(BIN / "airflow"), *words],
                env=self.environ(), stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
            )  # fmt: skip
            try:
                self.until(lambda: running.poll() is not None, f"airflow {' '.join(words)} has ended")
            finally:
                running.kill()
                running.wait()
            said.seek(0)
            text = said.read()
        if running.returncode:
            raise RuntimeError(f"airflow {' '.join(words)} failed:\n{text[-4000:]}")
        return text

    def start(self, name: str) -> None:
        """One of its processes."""
        log = self.home / f"{name}.log"
        with log.open("ab") as output:
            popen = subprocess.Popen(
                ["/bin/sh", "-c", _WATCH, "sh", str(BIN / "airflow"), name],
                stdin=subprocess.PIPE, stdout=output, stderr=output, env=self.environ(), start_new_session=True,
                cwd=self.home,
            )  # fmt: skip
        self.processes[name] = Process(name, popen, log)

    def __enter__(self) -> Self:
        self.dags.mkdir(parents=True, exist_ok=True)
        (self.home / "passwords.json").write_text(json.dumps({name: name for name, _ in self.people}))
        try:
            self.command("db", "migrate")
            for name in PROCESSES:
                self.start(name)
            self.until(self._answers, "the API server answers")
            self.token = self.login(self.people[0][0])
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            process.stop()
        for process in self.processes.values():
            process.popen.wait()

    def _answers(self) -> bool:
        for process in self.processes.values():
            if process.popen.poll() is not None:
                raise RuntimeError(f"airflow {process.name} ended by itself\n{self.told()}")
        try:
            with urllib.request.urlopen(f"{self.url}/api/v2/monitor/health", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def login(self, name: str) -> str:
        data = json.dumps({"username": name, "password": name}).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/auth/token", data, headers, method="POST")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return str(json.load(answer)["access_token"])

    def api(self, method: str, path: str, body: Any = None, *, token: str | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token or self.token}"}
        request = urllib.request.Request(f"{self.url}/api/v2/{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read()
                return json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()[:2000]}") from None

    def until(self, condition: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
        """Wait until something is so."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if found := condition():
                return found
            self.wait()
        raise AssertionError(f"it never came to be that {what}\n{self.told()}")

    def told(self) -> str:
        """The ends of its logs."""
        parts = []
        for process in self.processes.values():
            with contextlib.suppress(OSError):
                parts.append(f"--- {process.name}\n{process.log.read_text(errors='replace')[-1500:]}")
        return "\n".join(parts)

    def import_errors(self) -> list[str]:
        return [item["stack_trace"] for item in self.api("GET", "importErrors")["import_errors"]]

    def parsed(self, dag_id: str, condition: Callable[[set[str]], bool] = lambda tasks: True) -> set[str]:
        """The task ids of a DAG as it is parsed now, once they are as wanted."""

        def look() -> set[str] | None:
            try:
                tasks = {item["task_id"] for item in self.api("GET", f"dags/{dag_id}/tasks")["tasks"]}
            except AssertionError as error:
                if " 404 " in str(error):
                    return None
                raise
            return tasks if condition(tasks) else None

        found: set[str] = self.until(look, f"{dag_id} is parsed as wanted")
        return found

    def trigger(self, dag_id: str, **conf: Any) -> str:
        self.api("PATCH", f"dags/{dag_id}", {"is_paused": False})
        made = self.api("POST", f"dags/{dag_id}/dagRuns", {"logical_date": None, "conf": conf})
        return str(made["dag_run_id"])

    def run_state(self, dag_id: str, run_id: str) -> str:
        return str(self.api("GET", f"dags/{dag_id}/dagRuns/{urllib.parse.quote(run_id)}")["state"])

    def ended(self, dag_id: str, run_id: str, patience: float = PATIENCE) -> str:
        """How a run ended, once it has."""

        def look() -> str | None:
            state = self.run_state(dag_id, run_id)
            return state if state in ("success", "failed") else None

        return str(self.until(look, f"{dag_id} {run_id} has ended", patience))

    def states(self, dag_id: str, run_id: str) -> dict[str, str | None]:
        """Of every task of a run."""
        found: dict[str, str | None] = {}
        path = (
            f"dags/{dag_id}/dagRuns/{urllib.parse.quote(run_id)}/taskInstances?limit=100&order_by=id&offset="
        )
        while True:
            page = self.api("GET", f"{path}{len(found)}")
            found |= {item["task_id"]: item["state"] for item in page["task_instances"]}
            if len(found) >= page["total_entries"]:
                return found

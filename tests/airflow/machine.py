"""A real Airflow for the tests: the local Airflow of the examples on PostgreSQL, and what tests do to it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2] / "dags_examples"))
from local_airflow import PATIENCE, LocalAirflow, free_port

__all__ = ["PATIENCE", "Airflow", "airflow_on", "attached"]
_PEOPLE = (("admin", "admin"), ("viewer", "viewer"), ("nobody", "viewer"))


class Airflow(LocalAirflow):
    """A running Airflow. Its people: an admin, and two who may only look."""

    @property
    def git(self) -> Path:
        """A git repository whose branch ``main`` is a second bundle: its runs are pinned to a commit."""
        return self.home / "git"

    def settings(self) -> dict[str, str]:
        here = "airflow.dag_processing.bundles.local.LocalDagBundle"
        there = "airflow.providers.git.bundles.git.GitDagBundle"
        pinned = {"repo_url": str(self.git), "tracking_ref": "main", "refresh_interval": 2}
        bundles = [
            {"name": "dags-folder", "classpath": here, "kwargs": {"refresh_interval": 2}},
            {"name": "pinned", "classpath": there, "kwargs": pinned},
        ]
        return {
            **super().settings(),
            "CORE__PARALLELISM": "8",  # tasks of several tests, of which some take a nap
            "DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps(bundles),
            "SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.1",
            "SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "30",  # a busy machine is no dead worker
            "SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
            "SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "2",
            "SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "15",  # then another one has its tasks
            "SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "5",
        }

    def start(self, name: str) -> None:
        super().start(name)
        self._pid(name).write_text(str(self.processes[name].popen.pid))

    def kill(self, name: str) -> None:
        """SIGKILL to one of its processes, all of it at once, whichever worker has started it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(int(self._pid(name).read_text()), signal.SIGKILL)
        if name in self.processes:
            self.processes[name].popen.wait()
            self.processes[name].stop()  # nothing is left of it to end but our side of its pipe

    def _pid(self, name: str) -> Path:
        return self.home / f"{name}.pid"

    @contextlib.contextmanager
    def without(self, name: str) -> Iterator[None]:
        """While one of its processes is not there: it is killed, and started again."""
        self.kill(name)
        try:
            yield
        finally:
            self.start(name)

    def commit(self, message: str) -> None:
        """Everything in the work tree of the git repository."""
        who = ("-c", "user.name=tester", "-c", "user.email=tester@example.com")
        for words in (("add", "-A"), (*who, "commit", "-q", "--allow-empty", "-m", message)):
            subprocess.run(["git", "-C", str(self.git), *words], check=True, capture_output=True)

    def write_dag(self, name: str, text: str) -> None:
        """A file in the DAGs folder; replaced in one go."""
        draft = self.home / f"{name}.draft"
        draft.write_text(text, encoding="utf-8")
        draft.replace(self.dags / f"{name}.py")

    def runs(self, dag_id: str) -> list[dict[str, Any]]:
        found = self.api("GET", f"dags/{dag_id}/dagRuns?order_by=run_after&limit=100")["dag_runs"]
        return [dict(item) for item in found]

    def clear(self, dag_id: str, run_id: str, tasks: list[str] | None = None, **how: Any) -> None:
        body = {"dry_run": False, "dag_run_id": run_id, "only_failed": False, "reset_dag_runs": True, **how}
        if tasks is not None:
            body["task_ids"] = tasks
        self.api("POST", f"dags/{dag_id}/clearTaskInstances", body)

    def mark(self, dag_id: str, run_id: str, task_id: str, state: str) -> None:
        """What a person does to a task in the UI."""
        path = (
            f"dags/{dag_id}/dagRuns/{urllib.parse.quote(run_id)}/taskInstances/{urllib.parse.quote(task_id)}"
        )
        self.api("PATCH", path, {"new_state": state})

    def log(self, dag_id: str, run_id: str, task_id: str, attempt: int = 1) -> str:
        quoted = urllib.parse.quote(run_id)
        path = f"dags/{dag_id}/dagRuns/{quoted}/taskInstances/{urllib.parse.quote(task_id)}/logs/{attempt}?full_content=true"
        content = self.api("GET", path)["content"]
        return "\n".join(map(_line, content))

    def hitl(self, dag_id: str, run_id: str) -> dict[str, Any]:
        """What a person is asked."""
        path = f"dags/{dag_id}/dagRuns/{urllib.parse.quote(run_id)}/taskInstances/approve/-1/hitlDetails"
        return dict(self.api("GET", path))

    def answer(self, dag_id: str, run_id: str, option: str, task: str = "approve") -> None:
        """As a person does, who needs some seconds: Airflow takes an answer that comes before its scheduler
        has heard that the task waits for a task that died."""
        time.sleep(4)
        path = f"dags/{dag_id}/dagRuns/{urllib.parse.quote(run_id)}/taskInstances/{task}/-1/hitlDetails"
        self.api("PATCH", path, {"chosen_options": [option], "params_input": {}})

    def workers(self, dag_id: str, run_id: str, task_id: str) -> list[int]:
        """The processes that run a task: its supervisor, and the task itself."""
        path = (
            f"dags/{dag_id}/dagRuns/{urllib.parse.quote(run_id)}/taskInstances/{urllib.parse.quote(task_id)}"
        )
        instance = str(self.api("GET", path)["id"]).encode()
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdecimal() and instance in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
        return found

    def kill_workers(self, dag_id: str, run_id: str, task_id: str) -> None:
        """SIGKILL to them, at once."""
        pids = self.until(lambda: self.workers(dag_id, run_id, task_id), f"a worker runs {task_id}")
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def why(self, dag_id: str, run_id: str) -> str:
        """What went wrong in a run, for a failed test."""
        parts = [str(self.states(dag_id, run_id))]
        for task, state in self.states(dag_id, run_id).items():
            if state == "failed":
                with contextlib.suppress(AssertionError):
                    parts.append(f"--- {task}\n{self.log(dag_id, run_id, task)[-3000:]}")
        return "\n".join(parts)


def _line(item: Any) -> str:
    """A line of a log, with the exception that it tells of."""
    if not isinstance(item, dict):
        return str(item)
    raised = [f"{error['exc_type']}: {error['exc_value']}" for error in item.get("error_detail") or ()]
    return "\n".join([str(item.get("event", item)), *raised])


@contextlib.contextmanager
def airflow_on(home: Path, database: str, environment: Mapping[str, str]) -> Iterator[Airflow]:
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "-b", "main", str(home / "git")], check=True)
    made = Airflow(home, free_port(), database, environment, people=_PEOPLE)
    made.commit("nothing yet")
    with made as running:
        yield running


@contextlib.contextmanager
def attached(home: str, port: int, database: str, environment: Mapping[str, str]) -> Iterator[Airflow]:
    """An Airflow that somebody else has started, and ends."""
    made = Airflow(Path(home), port, database, environment, people=_PEOPLE)
    made.token = made.login(_PEOPLE[0][0])
    try:
        yield made
    finally:
        made.__exit__()

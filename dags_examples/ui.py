"""The shop in Airflow: ``make ui`` starts it and says where to look; ``make demo`` deploys with it.

Works on the shop that ``make demo`` left in build/demo, or on a fresh copy. Airflow lives in
build/demo/airflow and listens on 127.0.0.1 only; its output is in files there.
"""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from local_airflow import PROCESSES, LocalAirflow, free_port

HERE = Path(__file__).resolve().parent
DEMO = HERE.parent / "build" / "demo"
LOCK = HERE.parent / "build" / "demo.lock"
SHOP = DEMO / "shop"
DAG = "deploy_shop"
PORT = 8080  # or the next one that is free
ADDRESS = f"http://127.0.0.1:{PORT}"
_FILE = """\
from airflow_provider_sparkdeploy import SparkDeployDag, SparkRefreshDag

SparkDeployDag("deploy_shop", repository={shop!r}, environment="stage")
SparkRefreshDag("refresh_shop", repository={shop!r}, environment="stage")
"""


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Nobody else works in build/demo meanwhile: there is one Airflow, and one shop."""
    LOCK.parent.mkdir(exist_ok=True)
    with LOCK.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(
                f"A make demo or make ui is at work in {DEMO} already. End it there with Ctrl-C, or look at it."
            )
        yield


@contextlib.contextmanager
def started() -> Iterator[LocalAirflow]:
    """The Airflow of the demo, for as long as it is needed."""
    airflow = local_airflow()
    try:
        with airflow:
            yield airflow
    except (RuntimeError, AssertionError) as error:
        sys.exit(
            f"\nAirflow did not do as it should: {error}\n\nIts output is in {airflow.home}, files *.log."
        )


def local_airflow() -> LocalAirflow:
    """The Airflow of the demo, not yet started."""
    if not SHOP.is_dir():
        shutil.copytree(HERE / "repository_shop", SHOP, ignore=shutil.ignore_patterns(".sparkdeploy"))
    home = DEMO / "airflow"
    (home / "dags").mkdir(parents=True, exist_ok=True)
    (home / "dags" / "shop.py").write_text(_FILE.format(shop=str(SHOP)), "utf-8")
    where = {"AIRFLOW__SPARKDEPLOY__WAREHOUSE": str(DEMO / "warehouse")}
    return LocalAirflow(home, free_port(PORT), environment=where, wait=Waiting("Airflow is starting"))


class Waiting:
    """A dot a second, so that nobody wonders; nothing where nobody looks."""

    def __init__(self, what: str) -> None:
        self._what, self._last = what, 0.0

    def __call__(self) -> None:
        if sys.stdout.isatty() and time.monotonic() - self._last > 1:
            print(self._what if not self._last else ".", end="", flush=True)
            self._last = time.monotonic()
        time.sleep(0.3)

    def done(self) -> None:
        if self._last:
            print(flush=True)


def standing(done: int, total: int, at_work: Sequence[str], seconds: float) -> str:
    """How far a run is, in a line."""
    what = ", ".join(at_work) or "waiting for the scheduler"
    return f"  {done} of {total} tasks ended after {seconds:.0f} s; now: {what}"


def shown_for_now(line: str) -> None:
    """A line at the bottom of the terminal, until the next one; nothing where nobody looks."""
    if sys.stdout.isatty():
        print(f"\r\033[K{line[: shutil.get_terminal_size().columns - 1]}", end="", flush=True)


def deploy() -> None:
    """The shop by Airflow, task by task."""
    with started() as airflow:
        tasks = airflow.parsed(DAG)
        airflow.wait.done()  # type: ignore[attr-defined]
        operations = len([name for name in tasks if "." in name])
        print(f"The graph of {DAG} has {operations} operations between plan and record.", flush=True)
        run = airflow.trigger(DAG)
        begun = time.monotonic()
        seen: set[str] = set()
        state = "queued"
        while state not in ("success", "failed"):
            time.sleep(1)
            state = airflow.run_state(DAG, run)
            states = airflow.states(DAG, run)
            ended = {
                task: became
                for task, became in states.items()
                if became in ("success", "failed", "skipped", "upstream_failed")
            }
            shown_for_now("")
            for task, became in ended.items():
                if task not in seen:
                    print(f"  {became:<8} {task}", flush=True)
            seen |= ended.keys()
            at_work = [task for task, became in states.items() if became == "running"]
            shown_for_now(standing(len(seen), len(states), at_work, time.monotonic() - begun))
        shown_for_now("")
        print(f"The run ended: {state}.", flush=True)
        if state != "success":
            sys.exit(f"Look into {airflow.home / 'logs'}.")


def main() -> None:
    try:
        with alone(), started() as airflow:
            airflow.wait.done()  # type: ignore[attr-defined]
            if airflow.port != PORT:
                print(f"Port {PORT} is taken, so it listens on {airflow.port}.")
            print(f"\n    {airflow.url}/dags/{DAG}        user admin, password admin\n")
            print(f"Its output is in {airflow.home}, files *.log. Ctrl-C ends it.", flush=True)
            while all(airflow.processes[name].popen.poll() is None for name in PROCESSES):
                time.sleep(1)
            sys.exit(f"A part of Airflow ended by itself. Look into the files *.log in {airflow.home}.")
    except KeyboardInterrupt:
        print("\nEnded. The embedded Spark goes on; to end it: make stop")


if __name__ == "__main__":
    main()

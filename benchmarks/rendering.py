"""How fast a DAG file is parsed: in the DAG processor, on a worker, and beside Cosmos.

    python benchmarks/rendering.py [--objects 10000] [--no-peers] [--markdown]

All in one run on one machine; times are the best of several, each in a fresh process in which Airflow
is imported already. They are processor time, which other work on the machine hardly changes; the parse on
a worker, which also imports, is by the clock. What a parse reads from Airflow's Variables comes from the environment here, so
the 20 to 45 ms of a real one, for each of the two that it reads, are not in it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from generate import edit, generate, unread
from measure import best_of_each, run
from peers import PEERS, Peer, _environment, _version
from table import Line, as_markdown, as_text

HERE = Path(__file__).resolve().parent
_RUNS = 5
_OPERATIONS = 20
_COSMOS = Peer(
    "Cosmos", "cosmos", ("astronomer-cosmos", "apache-airflow>=3.3,<3.4"), "astronomer_cosmos", "dbt", ("python",)
)  # fmt: skip

# Each prints one number: seconds, after everything of Airflow's was imported.
_PREPARE = """
import base64, json, os, sys, time, zlib
from pathlib import Path
repository, log = Path(sys.argv[1]), Path(sys.argv[2])
import airflow.sdk.execution_time.task_runner
from airflow.sdk import DAG, BaseOperator, TaskGroup, Variable
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow_provider_sparkdeploy.core.deploylog import FileLog
from airflow_provider_sparkdeploy.core.planner import make_plan
from airflow_provider_sparkdeploy.core.repository import open_repository
"""
_CORE = (
    _PREPARE
    + """
from airflow_provider_sparkdeploy.core import diff, dirty, graph, plan
begun = time.process_time()
found = make_plan(open_repository(repository), FileLog(log).read().state).plan
print(time.process_time() - begun, len(found.operations))
"""
)
# As many operations of the plan as asked for: the first ones need none of the others.
_KEEP = (
    _PREPARE
    + """
from airflow_provider_sparkdeploy.airflow import keeping, rendering
from airflow_provider_sparkdeploy.airflow.deploying import Deploying
from dataclasses import replace
kept = {}
keeping.Variable.set = staticmethod(lambda key, value, description=None: kept.__setitem__(key, value))
found = open_repository(repository)
state = FileLog(log).read().state if log.exists() else {}
plan = make_plan(found, state).plan
plan = replace(plan, operations=plan.operations[:int(sys.argv[4])])
deploying = Deploying("deploy", repository)
view = rendering.view_of(deploying, found, plan)
keeping.write_view("deploy", replace(view, fingerprint="another") if "changed" in sys.argv else view)
keeping.write_texts("deploy", rendering.texts_of(plan.operations))
keeping.write_recorded("deploy", keeping.Recorded(1, state))
Path(sys.argv[3]).write_text(json.dumps(kept))
print(0, len(plan.operations))
"""
)
_VARIABLES = """
import json, os
from pathlib import Path
for key, value in json.loads(Path(sys.argv[3]).read_text()).items():
    os.environ["AIRFLOW_VAR_" + key.upper()] = value
"""
_RENDER = (
    _PREPARE
    + _VARIABLES
    + """
import airflow_provider_sparkdeploy.airflow.factory, airflow_provider_sparkdeploy.airflow.operators
from airflow_provider_sparkdeploy import SparkDeployDag
Variable.get("nothing", default=None)
begun = time.process_time()
dag = SparkDeployDag("deploy", repository=repository)
print(time.process_time() - begun, len(dag.task_dict) - 2)
"""
)
_WORKER = (
    """
import os, sys, time
"""
    + _VARIABLES
    + """
os.environ["_AIRFLOW_PARSING_CONTEXT_DAG_ID"] = "deploy"
os.environ["_AIRFLOW_PARSING_CONTEXT_TASK_ID"] = "setup.a.b"
import airflow.sdk.execution_time.task_runner
from airflow.sdk import DAG, BaseOperator
begun = time.perf_counter()
exec(compile(sys.argv[1], "dag.py", "exec"), {"__file__": "dag.py", "__name__": "dag"})
print(time.perf_counter() - begun, 1)
"""
)
_BARE_FILE = """
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
with DAG("deploy", schedule=None):
    EmptyOperator(task_id="setup.a.b")
"""
_OUR_FILE = """
from airflow_provider_sparkdeploy import SparkDeployDag
SparkDeployDag("deploy", repository="REPOSITORY")
"""
_COSMOS_FILE = """
import sys, time
from pathlib import Path
import airflow.sdk.execution_time.task_runner
from airflow.sdk import DAG, BaseOperator, TaskGroup
from cosmos import DbtDag, ExecutionConfig, ExecutionMode, LoadMode, ProfileConfig, ProjectConfig, RenderConfig
project = Path(sys.argv[1])
begun = time.process_time()
dag = DbtDag(
    dag_id="cosmos", schedule=None,
    project_config=ProjectConfig(dbt_project_path=project, manifest_path=project / "target" / "manifest.json", project_name="bench"),
    profile_config=ProfileConfig(profile_name="bench", target_name="dev", profiles_yml_filepath=project / "profiles.yml"),
    render_config=RenderConfig(load_method=LoadMode.DBT_MANIFEST, emit_datasets=False),
)
print(time.process_time() - begun, len(dag.task_dict))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--no-peers", action="store_true", help="leave out Cosmos")
    parser.add_argument("--markdown", action="store_true", help="print the table for docs/performance.md")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lines = _few(Path(folder) / "few", asked.objects)
        lines += _many(Path(folder) / "many", peers=not asked.no_peers)
        lines += _worker(Path(folder) / "worker")
    print((as_markdown if asked.markdown else as_text)(lines))


def _few(folder: Path, objects: int) -> list[Line]:
    """A few operations of a large repository: rendering beside the warm plan of the core. Usually what
    was kept fits; after a change the first parse makes a plan itself, and the next ones find that."""
    repository, log = folder / "repository", folder / "log.jsonl"
    fits, changed = folder / "fits.json", folder / "changed.json"
    generate(objects, repository)
    _sparkdeploy(folder, "baseline", "--repository", str(repository), "--log", str(log))
    edit(repository, _OPERATIONS, unread(objects))
    _timed(folder, _KEEP, repository, log, fits, str(objects))
    _timed(folder, _KEEP, repository, log, changed, str(objects), "changed")
    counts: set[int] = set()

    def seconds(*program: str | Path) -> Callable[[], float]:
        def measured() -> float:
            found, count = _timed(folder, *program)
            counts.add(count)
            return found

        return measured

    def first() -> float:
        """Nothing is remembered: other parses have not seen this repository yet."""
        for found in (folder / "cache").glob("*.shown"):
            found.unlink()
        return seconds(_RENDER, repository, log, changed)()

    core, kept, anew, again = best_of_each(
        _RUNS,
        seconds(_CORE, repository, log),
        seconds(_RENDER, repository, log, fits),
        first,
        seconds(_RENDER, repository, log, changed),
    )
    (operations,) = counts
    return [
        Line(objects, "warm plan of the core, in process", core, note=f"{operations} operations"),
        _beside_plan(objects, "rendering, repository as it was", kept, core),
        _beside_plan(objects, "rendering, repository changed since, first parse", anew, core),
        _beside_plan(objects, "the same, the parses after it", again, core),
    ]


def _beside_plan(objects: int, what: str, seconds: float, core: float) -> Line:
    ratio = seconds / core
    return Line(objects, what, seconds, ratio=ratio, target="<= 1.5x the plan", ok=ratio <= 1.5)


def _worker(folder: Path) -> list[Line]:
    """The parse that every task starts with, by the size of the plan that its run has."""
    repository, none = folder / "repository", folder / "none.jsonl"
    generate(2_000, repository)
    kept = {}
    for operations in (20, 1_000, 3_000):
        kept[operations] = folder / f"{operations}.json"
        _timed(folder, _KEEP, repository, none, kept[operations], str(operations))
    text = _OUR_FILE.replace("REPOSITORY", str(repository))

    def parse(file: str, variables: Path) -> Callable[[], float]:
        return lambda: _timed(folder, _WORKER, file, "-", variables)[0]

    bare, *ours = best_of_each(
        _RUNS, parse(_BARE_FILE, kept[20]), *(parse(text, variables) for variables in kept.values())
    )
    return [
        Line(1, "parse on a worker, a bare DAG file", bare),
        *(
            Line(
                operations, "parse on a worker, ours", seconds, target="< 50 ms more", ok=seconds - bare < 0.05,
                note="of so many operations",
            )
            for operations, seconds in zip(kept, ours, strict=True)
        ),
    ]  # fmt: skip


def _many(folder: Path, *, peers: bool) -> list[Line]:
    """As many operations as objects, beside Cosmos from a manifest."""
    count = 1_000
    repository, log, kept = folder / "repository", folder / "none.jsonl", folder / "kept.json"
    generate(count, repository)
    _timed(folder, _KEEP, repository, log, kept, str(count))
    found = [_timed(folder, _RENDER, repository, log, kept) for _ in range(_RUNS)]
    ours, operations = min(found)
    lines = [Line(count, f"rendering of {operations} operations", ours)]
    if not peers:
        return lines
    home, problem = _environment(_COSMOS)
    if problem:
        return [*lines, Line(count, "Cosmos", note=f"not installed: {problem}")]
    made, problem = _environment(PEERS[0])
    if problem:
        return [*lines, Line(count, "Cosmos", note=f"no manifest, dbt is not installed: {problem}")]
    project = folder / "dbt"
    generate(count, project, fmt="dbt")
    parsed = run([made / "bin" / "dbt", "parse", "--profiles-dir", "."], cwd=project)
    if parsed.code != 0:
        return [*lines, Line(count, "Cosmos", note=f"no manifest: {parsed.reason}")]
    told = [_timed(folder, _COSMOS_FILE, project, python=home / "bin" / "python") for _ in range(3)]
    theirs, tasks = min(told)
    ratio = theirs / ours
    note = f"{_version(home, 'astronomer_cosmos')}, {tasks} tasks"
    what, target = "Cosmos, from a manifest", ">= 3x ours"
    return [*lines, Line(count, what, theirs, ratio=ratio, target=target, ok=ratio >= 3, note=note)]


def _timed(
    folder: Path, program: str, *arguments: str | Path, python: Path | None = None
) -> tuple[float, int]:
    environment = {
        "AIRFLOW_HOME": str(folder / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "SPARKDEPLOY_CACHE": str(folder / "cache"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE.parent) if python is None else "", os.environ.get("PYTHONPATH")])),
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    done = run([python or sys.executable, "-c", program, *map(str, arguments)], env=environment)
    if done.code != 0:
        sys.exit(f"a measurement failed: {done.reason}")
    seconds, count = done.output.strip().splitlines()[-1].split()
    return float(seconds), int(count)


def _sparkdeploy(folder: Path, *arguments: str) -> None:
    done = run(
        [sys.executable, "-m", "airflow_provider_sparkdeploy.cli", *arguments],
        env={"PYTHONPATH": str(HERE.parent), "SPARKDEPLOY_CACHE": str(folder / "cache")},
    )
    if done.code != 0:
        sys.exit(f"a measurement failed: {done.reason}")


if __name__ == "__main__":
    main()

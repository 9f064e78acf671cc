"""What other tools need for the same objects: dbt (Python and Rust parsers) and SQLMesh.

    python benchmarks/peers.py 1000

Each lives in a virtual environment of its own under ``benchmarks/.peers``, made on first
use. Nothing here is a dependency of the project; a tool that does not install is left out
with the reason.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from generate import generate
from measure import Run, run

_HOME = Path(__file__).parent / ".peers"
_LIMIT = 240.0
_LONG = 60.0  # what takes longer is run once, and its memory is not measured
_QUIET = {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "SQLMESH__DISABLE_ANONYMIZED_ANALYTICS": "true"}

# Loads and makes a plan, without printing or applying it.
_SQLMESH_PLAN = """
from sqlmesh import Context
plan = Context(paths=".").plan_builder("prod", skip_tests=True).build()
print(len(plan.new_snapshots), "models")
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement; without ``seconds``, the note says why there are none."""

    name: str
    seconds: float | None
    peak_mb: float | None
    note: str


@dataclass(frozen=True, slots=True)
class Peer:
    """``install`` are pip's arguments, ``package`` is whose version is shown. ``command`` runs in
    the project; its first word is a program of the environment."""

    name: str
    environment: str
    install: tuple[str, ...]
    package: str
    fmt: str
    command: tuple[str, ...]


# Newer releases of the Rust parser are built by downloading it from elsewhere, which fails
# where only a package index can be reached. A wheel of any version is good enough here.
_DBT = ("--only-binary", "dbt-core-experimental-parser", "dbt-core>=1.10", "dbt-duckdb")
PEERS = (
    Peer(
        "dbt parse",
        "dbt",
        _DBT,
        "dbt_core",
        "dbt",
        ("dbt", "parse", "--no-partial-parse", "--profiles-dir", "."),
    ),
    Peer(
        "dbt 2 parse (Rust)",
        "dbt",
        _DBT,
        "dbt_core_experimental_parser",
        "dbt",
        ("dbt-core-experimental-parser", "parse", "--no-partial-parse", "--profiles-dir", "."),
    ),
    # SQLMesh extends sqlglot's parser, which the compiled one does not allow.
    Peer(
        "SQLMesh load + plan", "sqlmesh", ("sqlmesh",), "sqlmesh", "sqlmesh", ("python", "-c", _SQLMESH_PLAN)
    ),
)


def measure_peers(count: int) -> list[Row]:
    """All peers on a generated repository of ``count`` objects, one after the other."""
    return [_measure(peer, count) for peer in PEERS]


def _measure(peer: Peer, count: int) -> Row:
    home, problem = _environment(peer)
    if problem:
        return Row(peer.name, None, None, f"not installed: {problem}")
    program = home / "bin" / peer.command[0]
    if not program.exists():
        return Row(peer.name, None, None, f"not installed: no {peer.command[0]} in this release")
    version = _version(home, peer.package)
    timed = _cold(peer, program, count, memory=False)
    if timed.code is None:
        return Row(peer.name, None, None, f"{version}; over {_LIMIT:.0f} s")
    if timed.code != 0:
        return Row(peer.name, None, None, f"{version}; failed: {timed.reason}")
    peak = _cold(peer, program, count, memory=True).peak_mb if timed.seconds < _LONG else None
    return Row(peer.name, timed.seconds, peak, version)


def _cold(peer: Peer, program: Path, count: int, *, memory: bool) -> Run:
    """One run on a project that no tool has seen yet: every cache lives inside the project."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        generate(count, project, fmt=peer.fmt)
        return run([program, *peer.command[1:]], cwd=project, env=_QUIET, limit=_LIMIT, memory=memory)


def _environment(peer: Peer) -> tuple[Path, str]:
    """The peer's virtual environment, made if it is not there, and what went wrong, if anything."""
    home = _HOME / peer.environment
    ready = home / "ready.txt"
    wanted = " ".join(peer.install)
    if ready.exists() and ready.read_text(encoding="utf-8") == wanted:
        return home, ""
    shutil.rmtree(home, ignore_errors=True)
    print(f"installing {peer.environment} ...", file=sys.stderr)
    steps: tuple[list[str | Path], ...] = (
        [sys.executable, "-m", "venv", home],
        [home / "bin" / "python", "-m", "pip", "install", "--quiet", *peer.install],
    )
    for step in steps:
        done = run(step, limit=1800)
        if done.code != 0:
            return home, _pip_reason(done)
    ready.write_text(wanted, encoding="utf-8")
    return home, ""


def _pip_reason(done: Run) -> str:
    if done.code is None:
        return "pip took over 30 minutes"
    errors = [line for line in done.errors.splitlines() if line.startswith("ERROR:")]
    return errors[0].removeprefix("ERROR:").strip() if errors else done.reason


def _version(home: Path, package: str) -> str:
    found = sorted(home.glob(f"lib/python*/site-packages/{package}-*.dist-info"))
    if not found:
        return package
    name, _, version = found[0].name.removesuffix(".dist-info").rpartition("-")
    return f"{name.replace('_', '-')} {version}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure dbt and SQLMesh on a generated repository.")
    parser.add_argument("count", type=int, nargs="?", default=1000, metavar="N", help="number of objects")
    for row in measure_peers(parser.parse_args().count):
        seconds = "-" if row.seconds is None else f"{row.seconds:.2f} s"
        peak = "-" if row.peak_mb is None else f"{row.peak_mb:.0f} MB"
        print(f"{row.name:22} {seconds:>10} {peak:>8}  {row.note}")


if __name__ == "__main__":
    main()

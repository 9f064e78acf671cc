"""The only place where the benchmarks know the names inside the engine.

ADAPTERS: when a function of the engine moves or changes its arguments, this file follows.
Imports are inside the functions, so that what has not been imported can be checked.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping
from pathlib import Path

# As a command; ``python`` is the one that runs the benchmarks.
CLI = (sys.executable, "-m", "airflow_provider_sparkdeploy.cli")
CACHE_VARIABLE = "SPARKDEPLOY_CACHE"
LAZY_MODULES = ("sqlglot", "networkx")  # not to be imported when nothing changed

Name = tuple[str, str]


def plan_arguments(repository: Path, log: Path) -> list[str]:
    return ["plan", "--repository", str(repository), "--log", str(log), "--format", "json"]


def baseline_arguments(repository: Path, log: Path) -> list[str]:
    return ["baseline", "--repository", str(repository), "--log", str(log)]


def import_engine() -> None:
    """Import what the command line imports at its start, and nothing of ``LAZY_MODULES``."""
    import airflow_provider_sparkdeploy.cli  # noqa: F401


def plan_in_process(repository: Path, log: Path) -> None:
    """The plan command, printing and all, without starting Python."""
    from airflow_provider_sparkdeploy.cli import main

    main(plan_arguments(repository, log), standalone_mode=False)


def propagate_and_order(needs: Mapping[Name, tuple[Name, ...]], changed: list[Name]) -> int:
    """Dirty propagation with the reasons of every dirty object, then the order of all objects.

    Returns how many are dirty.
    """
    gc.freeze()  # as the command line does at its start
    gc.disable()
    from airflow_provider_sparkdeploy.core.dirty import Facts, propagate
    from airflow_provider_sparkdeploy.core.names import ObjectName
    from airflow_provider_sparkdeploy.core.order import components, levels
    from airflow_provider_sparkdeploy.core.settings import Propagation

    names = [ObjectName(*name) for name in needs]
    dependents: dict[ObjectName, list[ObjectName]] = {name: [] for name in names}
    for name, sources in zip(names, needs.values(), strict=True):
        for source in sources:
            dependents[ObjectName(*source)].append(name)
    facts = Facts(
        objects=tuple(names),
        dependents={name: tuple(found) for name, found in dependents.items()},
        changed={ObjectName(*name): "changed" for name in changed},
        propagation=Propagation(schema=False, compute=False),
    )
    dirty = propagate(facts)
    found = dirty.facts("object")
    for fact in found:
        dirty.reasons(fact)

    number = {name: position for position, name in enumerate(needs)}
    edges = [[number[source] for source in sources] for sources in needs.values()]
    level = levels(edges, components(edges))
    sorted(range(len(edges)), key=level.__getitem__)
    return len(found)

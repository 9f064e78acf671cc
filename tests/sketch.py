"""Repositories in memory, for tests: paths and texts go in, plans and states come out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from airflow_provider_sparkdeploy.core.catalog import Catalog, ObservedObject
from airflow_provider_sparkdeploy.core.files import FOLDER_DEFAULTS, Listing, SourceFile
from airflow_provider_sparkdeploy.core.graph import build_graph
from airflow_provider_sparkdeploy.core.names import ObjectName
from airflow_provider_sparkdeploy.core.objects import TableDef
from airflow_provider_sparkdeploy.core.operations import Operation, Plan
from airflow_provider_sparkdeploy.core.planner import Planned, Request, make_plan
from airflow_provider_sparkdeploy.core.records import record_of
from airflow_provider_sparkdeploy.core.repository import Repository, build_repository
from airflow_provider_sparkdeploy.core.settings import load_settings
from airflow_provider_sparkdeploy.core.state import DeployedObject, State, apply_effect
from airflow_provider_sparkdeploy.core.statement import function_body, view_text

Files = Mapping[str, str]


def name(text: str) -> ObjectName:
    return ObjectName(*text.split("."))


def listing(files: Files) -> Listing:
    """The files as they would be read from disk, in the order in which they are given."""
    defaults, found = {}, []
    for path, text in files.items():
        schema, kind, file = path.split("/")
        if file == FOLDER_DEFAULTS:
            defaults[schema, kind] = text.encode()
        else:
            found.append(SourceFile(path, schema, kind, file.rpartition(".")[0], text.encode()))  # type: ignore[arg-type]
    return Listing(tuple(found), defaults, ())


def repository(
    files: Files, settings: str | None = None, *, env: str | None = None, overrides: Iterable[str] = ()
) -> Repository:
    """A repository without a folder and without a cache."""
    return build_repository(listing(files), load_settings(settings, environment=env, overrides=overrides))


def healthy(files: Files, settings: str | None = None, **rest: Any) -> Repository:
    """A repository that has no problems: what a test is about must not fail for another reason."""
    found = repository(files, settings, **rest)
    assert not [item for item in found.problems if item.severity == "error"], found.problems
    return found


def everything(found: Repository) -> dict[ObjectName, DeployedObject]:
    """The state in which all of a repository is deployed."""
    graph = build_graph(found)
    return {
        key: record_of(item, graph.depends_on[key], graph.requires) for key, item in found.objects.items()
    }


def plan(
    found: Repository, state: State | None = None, *, catalog: Catalog | None = None, **request: Any
) -> Planned:
    return make_plan(found, state or {}, catalog=catalog, request=Request(**request))


def step(before: Files, after: Files, settings: str | None = None, **request: Any) -> Planned:
    """The plan from one repository, all of it deployed, to another."""
    return plan(healthy(after, settings), everything(healthy(before, settings)), **request)


def run(
    found: Plan, state: State | None = None, operations: Iterable[Operation] | None = None
) -> dict[ObjectName, DeployedObject]:
    """The state after the notes and the operations (all, unless some are given) are recorded."""
    after = dict(state or {})
    for note in found.notes:
        apply_effect(after, note)
    for operation in found.operations if operations is None else operations:
        for effect in operation.effects:
            apply_effect(after, effect)
    return after


def deploy(found: Repository, state: State | None = None, **request: Any) -> dict[ObjectName, DeployedObject]:
    """Plan and run; a plan with errors or blocked operations is not what the test meant."""
    planned = plan(found, state, **request).plan
    assert not planned.errors, planned.errors
    assert not planned.blocked, planned.blocked
    return run(planned, state)


def known(state: State) -> dict[ObjectName, DeployedObject]:
    """A state without what only makes planning faster, or says when and by whom."""
    return {key: replace(record, digest="", at="", run="") for key, record in sorted(state.items())}


def observed(state: State) -> Catalog:
    """The catalog in which exactly the recorded state is deployed."""
    return Catalog({name: found for name, record in state.items() if (found := _observe(record))})


def _observe(record: DeployedObject) -> ObservedObject | None:
    if record.kind == "view":
        parts = view_text(record.text)
        assert parts is not None
        return ObservedObject("view", text=parts.query)
    if record.kind == "function":
        return ObservedObject("function", text=function_body(record.text))
    if record.kind == "materialized_view":
        return ObservedObject("materialized_view", marker=record.hash)
    if record.kind in ("table", "data"):
        return ObservedObject("table", record.definition or TableDef())
    return None


def ids(planned: Planned) -> list[str]:
    return [operation.id for operation in planned.plan.operations]


def operation(planned: Planned, id: str) -> Operation:
    found = {item.id: item for item in planned.plan.operations}
    assert id in found, sorted(found)
    return found[id]


def codes(planned: Planned, severity: str = "error") -> list[str]:
    return sorted(item.code for item in planned.plan.diagnostics if item.severity == severity)


def ancestors(found: Plan, id: str) -> set[str]:
    """Everything that must have run before an operation."""
    needs = {item.id: item.depends_on for item in found.operations}
    result: set[str] = set()
    pending = list(needs[id])
    while pending:
        one = pending.pop()
        if one not in result:
            result.add(one)
            pending += needs[one]
    return result


def write(root: Path, files: Files) -> Path:
    """The files on disk, for what needs a folder."""
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return root

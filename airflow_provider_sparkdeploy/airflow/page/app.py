"""The routes of the page. All of them read, and all of them ask Airflow who is there: whoever may
read a DAG may read its page, nobody else. The files of the page hold no data, and still need a login.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag, requires_authenticated
from fastapi import Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import FileResponse

from .components import components_json
from .history import deployment_json, history_json
from .objects import object_json, objects_json
from .plan import operation_json, plan_json, run_json
from .reading import (
    Deployment,
    read_dags,
    read_deployment,
    read_groups,
    read_log,
    read_logs,
    read_retried,
    read_run,
    read_runs,
    read_tasks,
)
from .values import Log, Run, Step, Task

_ASSETS = Path(__file__).parent / "assets"
_TYPES = {".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FILES = {path.name: path for path in _ASSETS.iterdir() if path.suffix in _TYPES}
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "same-origin",
}
_MOST_DAGS = 200
_FIXPOINT = ".fixpoint"  # what the ids of operations that compute a component end with

app = FastAPI(
    title="SparkDeploy",
    docs_url=None,
    redoc_url=None,
    openapi_url=None,
    dependencies=[Depends(requires_authenticated())],
)
of_a_dag = [Depends(requires_access_dag("GET"))]
Group = Annotated[str, Query(max_length=250)]
RunId = Annotated[str, Query(max_length=250)]
Name = Annotated[str, Query(max_length=1000)]


@app.middleware("http")
async def _guarded(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    response = await call_next(request)
    response.headers.update(_HEADERS)
    response.headers["Cache-Control"] = "no-store" if "/api/" in request.url.path else "no-cache"
    return response


@app.get("/")
def page() -> Response:
    return asset("index.html")


@app.get("/assets/{name}")
def asset(name: str) -> Response:
    path = _FILES.get(name)
    if path is None:
        raise HTTPException(404, "there is no such file")
    return FileResponse(path, media_type=_TYPES[path.suffix])


@app.get("/api/dags")
def dags(session: SessionDep, user: GetUserDep) -> dict[str, Any]:
    """The DAGs that deploy something, and that the user may read."""
    readable = get_auth_manager().get_authorized_dag_ids(user=user, method="GET")
    return {
        "dags": [
            _overview(session, dag_id, paused) for dag_id, paused in read_dags(session, readable)[:_MOST_DAGS]
        ]
    }


def _overview(session: SessionDep, dag_id: str, paused: bool) -> dict[str, Any]:
    newest = read_runs(session, dag_id, 1)
    found = [read_deployment(session, dag_id, group) for group in read_groups(session, dag_id)]
    return {
        "dag_id": dag_id,
        "paused": paused,
        "last": run_json(newest[0]) if newest else None,
        "deployments": [
            {
                "group": item.place.prefix,
                "known": item.kept.known,
                "objects": len(item.kept.state),
                "operations": len(item.steps),
                "destructive": sum(step.destructive for step in item.steps),
                "problems": len(item.kept.problems),
                "active": item.kept.active,
            }
            for item in found
            if item is not None
        ],
    }


@app.get("/api/dags/{dag_id}", dependencies=of_a_dag)
def dag(dag_id: str, session: SessionDep) -> dict[str, Any]:
    """The deployments of a DAG, and its last runs."""
    return {
        "dag_id": dag_id,
        "groups": list(read_groups(session, dag_id)),
        "runs": [run_json(run) for run in read_runs(session, dag_id)],
    }


@app.get("/api/dags/{dag_id}/plan", dependencies=of_a_dag)
def plan(dag_id: str, session: SessionDep, group: Group = "", run_id: RunId = "") -> dict[str, Any]:
    """What is to be done; with a run, what it does."""
    found = _deployment(session, dag_id, group)
    run, log, tasks, steps = _of_run(session, found, run_id)
    return plan_json(found.kept, steps, run=run, log=log, tasks=tasks)


@app.get("/api/dags/{dag_id}/operation", dependencies=of_a_dag)
def operation(
    dag_id: str, name: Name, session: SessionDep, group: Group = "", run_id: RunId = ""
) -> dict[str, Any]:
    """One operation in full."""
    found = _deployment(session, dag_id, group)
    _, log, tasks, steps = _of_run(session, found, run_id)
    step = next((item for item in steps if item.id == name), None)
    if step is None:
        raise HTTPException(404, "the plan has no such operation")
    return operation_json(step, steps, found.kept.state, log=log, task=tasks.get(name))


@app.get("/api/dags/{dag_id}/objects", dependencies=of_a_dag)
def objects(dag_id: str, session: SessionDep, group: Group = "") -> dict[str, Any]:
    """Everything that is deployed."""
    found = _deployment(session, dag_id, group)
    return objects_json(found.kept, found.steps)


@app.get("/api/dags/{dag_id}/object", dependencies=of_a_dag)
def one_object(dag_id: str, name: Name, session: SessionDep, group: Group = "") -> dict[str, Any]:
    """One deployed object in full."""
    found = _deployment(session, dag_id, group)
    told = object_json(found.kept, found.steps, name)
    if told is None:
        raise HTTPException(404, "no such object is deployed")
    return told


@app.get("/api/dags/{dag_id}/history", dependencies=of_a_dag)
def history(
    dag_id: str, session: SessionDep, group: Group = "", offset: Annotated[int, Query(ge=0)] = 0
) -> dict[str, Any]:
    """The deployments, the newest first; ``offset`` says how many of them to leave out."""
    place = _deployment(session, dag_id, group).place
    runs = read_runs(session, dag_id, offset=offset)
    logs = read_logs(session, place, runs)
    shown = [run for run in runs if run.run_id in logs]
    tasks = read_retried(session, place, {run_id: log.ids if log else () for run_id, log in logs.items()})
    more = len(shown) < len(runs) or bool(read_runs(session, dag_id, 1, offset + len(runs)))
    return history_json(shown, logs, tasks, more=more)


@app.get("/api/dags/{dag_id}/deployment", dependencies=of_a_dag)
def deployment(dag_id: str, run_id: RunId, session: SessionDep, group: Group = "") -> dict[str, Any]:
    """One deployment in full."""
    found = _deployment(session, dag_id, group)
    run, log, tasks, _ = _of_run(session, found, run_id)
    if run is None:
        raise HTTPException(404, "the DAG has no such run")
    return deployment_json(run, log, tasks)


@app.get("/api/dags/{dag_id}/components", dependencies=of_a_dag)
def components(dag_id: str, session: SessionDep, group: Group = "") -> dict[str, Any]:
    """Cyclic components, and how they were computed."""
    found = _deployment(session, dag_id, group)
    logs = read_logs(session, found.place, read_runs(session, dag_id, 50), only=_FIXPOINT)
    return components_json(found.kept, [log for log in logs.values() if log is not None])


def _deployment(session: SessionDep, dag_id: str, group: str) -> Deployment:
    found = read_deployment(session, dag_id, group)
    if found is None:
        raise HTTPException(404, "this DAG deploys nothing with SparkDeploy")
    return found


def _of_run(
    session: SessionDep, found: Deployment, run_id: str
) -> tuple[Run | None, Log | None, dict[str, Task], tuple[Step, ...]]:
    """A run, its log and its tasks; the operations are those of its frozen plan, or of the graph
    where it has none, or no run was asked for."""
    if not run_id:
        return None, None, {}, found.steps
    run = read_run(session, found.place.dag_id, run_id)
    if run is None:
        raise HTTPException(404, "the DAG has no such run")
    log = read_log(session, found.place, run_id)
    steps = log.steps if log is not None else found.steps
    return run, log, read_tasks(session, found.place, run_id, [step.id for step in steps]), steps

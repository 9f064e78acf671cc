"""From the options of a command to a plan, and everything that led to it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from ..core.catalog import Catalog, decode_catalog
from ..core.codec import plan_to_json
from ..core.diagnostics import Diagnostic, problem
from ..core.operations import Plan
from ..core.planner import Planned, Request, make_plan
from .place import Place
from .progress import working

_NOTHING_DIRTY: dict[str, tuple[str, ...]] = {"objects": (), "schemas": (), "compute": (), "indexes": ()}


def plan_here(place: Place, request: Request, catalog: Path | None = None) -> Planned:
    """The plan for a repository and its log; what there is to say about both comes with it."""
    observed = None if catalog is None else read_catalog(catalog)
    repository = place.open()
    with working("Planning"):
        content = place.read_log(repository.settings.environment)
        planned = make_plan(repository, content.state, catalog=observed, request=request)
    remarks = {*content.problems, *place.remarks(repository)}
    if remarks:
        merged = tuple(sorted({*planned.plan.diagnostics, *remarks}))
        planned = replace(planned, plan=replace(planned.plan, diagnostics=merged))
    return planned


def failed_plan_json(problems: tuple[Diagnostic, ...]) -> str:
    """A plan in which there is nothing but what went wrong."""
    return plan_to_json(Plan("", dirty=_NOTHING_DIRTY, diagnostics=problems))


def read_catalog(path: Path) -> Catalog:
    try:
        return decode_catalog(json.loads(path.read_text("utf-8")))
    except OSError as error:
        raise problem("SD607", f"cannot read the observed catalog {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise problem(
            "SD607",
            f"{path} is not an observed catalog: {type(error).__name__}: {error}",
            advice='Expected: {"objects": {"schema.object": {"kind": "view", "text": "SELECT ..."}}}.',
        ) from None

"""What a parse of a refresh DAG shows: as of a deployment, from the same Variable. Never talks to Spark.

A refresh runs what is deployed, and needs nothing of files that are not. So the last units that were good
are shown while a run is under way, whatever becomes of the files, and for as long as these have errors.
"""

from __future__ import annotations

from dataclasses import replace

from ..core.diagnostics import SparkDeployError
from . import keeping
from .deploying import Deploying
from .keeping import View
from .rendering import kept_view


def what_to_refresh(deploying: Deploying) -> View:
    """The units of this parse. While the files have errors: what these are, with the last good units if
    there are any. The files are read first, as for a deployment: a run may begin meanwhile."""
    try:
        contents = deploying.read()
    except SparkDeployError as error:
        kept, is_active = kept_view(deploying)
        return kept if kept is not None and is_active else _despite(error, kept)
    kept, is_active = kept_view(deploying)
    if kept is not None and (is_active or kept.fingerprint == contents.fingerprint):
        return kept
    from .due import units_of

    try:
        repository = deploying.parse(contents)
        units = units_of(repository)
    except SparkDeployError as error:
        return _despite(error, kept)
    return View(contents.fingerprint, units=units, environment=repository.settings.environment)


def _despite(error: SparkDeployError, kept: View | None) -> View:
    """The last good units, and what is wrong with the files."""
    return replace(kept or View(""), problems=tuple(map(str, error.diagnostics)))


def keep(deploying: Deploying, view: View, run_id: str) -> None:
    """From here on every parse shows these units, until the run has ended."""
    kept = View(view.fingerprint, units=view.units, environment=view.environment, active=run_id)
    keeping.write_view(deploying.name, kept)

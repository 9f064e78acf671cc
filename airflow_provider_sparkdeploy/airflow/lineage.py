"""Inputs and outputs of an operation for OpenLineage, where its provider is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..core.operations import Operation


def lineage_of(operation: Operation | None, environment: str) -> Any:
    """What it wrote, and what that is read from; None where nothing is known, or nobody listens."""
    try:
        from airflow.providers.common.compat.openlineage.facet import Dataset, SQLJobFacet
        from airflow.providers.openlineage.extractors import OperatorLineage
    except ImportError:
        return None
    if operation is None:
        return None
    from ..core.names import display
    from ..core.state import PutObject

    space = f"sparkdeploy://{environment}"
    reads = sorted(
        {
            name
            for effect in operation.effects
            if isinstance(effect, PutObject)
            for name in effect.record.dependencies
        }
    )
    made = {effect.record.name for effect in operation.effects if isinstance(effect, PutObject)}
    writes = sorted(made | {operation.object})  # the members of a cycle are written together
    return OperatorLineage(
        inputs=[Dataset(namespace=space, name=display(name)) for name in reads],
        outputs=[Dataset(namespace=space, name=display(name)) for name in writes],
        job_facets={"sql": SQLJobFacet(query=operation.sql)},
    )

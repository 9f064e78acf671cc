"""The environment that operations run in: what an executor must know beside the operation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..core.settings import Settings


@dataclass(frozen=True, slots=True)
class Target:
    """An environment, its side schemas, and how its materialized views are kept."""

    environment: str = "default"
    log_schema: str = "sparkdeploy"
    data_schema: str = "sparkdeploy_data"
    native_views: bool = False
    retention: int = 3600
    max_iterations: int = 100
    catalogs: Mapping[str, str] = field(default_factory=dict)

    def catalog_type(self, physical: tuple[str, ...]) -> str:
        """The type of the catalog that a physical object name lies in."""
        return self.catalogs.get(physical[0], "builtin") if len(physical) > 2 else "builtin"

    def encode(self) -> dict[str, Any]:
        return asdict(self)


def target_of(settings: Settings) -> Target:
    return Target(
        environment=settings.environment,
        log_schema=settings.log_schema,
        data_schema=settings.data_schema,
        native_views=settings.materialized_views == "native",
        retention=settings.retention,
        max_iterations=settings.max_fixpoint_iterations,
        catalogs=dict(settings.catalogs),
    )

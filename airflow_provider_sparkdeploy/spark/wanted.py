"""What is looked for in a catalog, and in which schemas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..core.names import SESSION_CATALOG, ObjectName
from ..core.objects import Kind, ObjectDef, TableDef
from ..core.repository import Repository
from ..core.state import DeployedObject, State


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object to look for. ``exact`` asks for it alone, where the text that Spark prints for a
    whole schema could not tell what was declared from something else."""

    physical: tuple[str, ...]
    kind: Kind
    catalog_type: str = "builtin"
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema, and the objects that are looked for in it."""

    parts: tuple[str, ...]
    catalog_type: str
    relations: Mapping[ObjectName, Wanted]
    functions: Mapping[ObjectName, Wanted]

    @property
    def in_session_catalog(self) -> bool:
        return len(self.parts) < 2 or self.parts[0].casefold() == SESSION_CATALOG

    @property
    def is_jdbc(self) -> bool:
        return not self.in_session_catalog and "jdbc" in self.catalog_type.casefold()

    def key(self, name: str) -> str:
        """What decides whether two names are the same here: a database tells them by case."""
        return name if self.is_jdbc else name.casefold()

    def key_of(self, wanted: Wanted) -> str:
        return self.key(wanted.physical[-1])


def wanted_objects(repository: Repository, state: State) -> dict[ObjectName, Wanted]:
    """Everything that a catalog could hold of a repository and a log. Where the two differ, it is
    looked for as it was deployed."""
    found: dict[ObjectName, Wanted] = {}
    items: list[ObjectDef | DeployedObject] = [*repository.objects.values(), *state.values()]
    for item in items:
        name = item.name
        if item.kind in ("migration", "sink") or item.lifecycle == "external":
            found.pop(name, None)
            continue
        before = found.get(name)
        exact = _ambiguous(item.definition) or (before is not None and before.exact)
        catalog_type = repository.settings.catalog_type(item.physical)
        found[name] = Wanted(item.physical, item.kind, catalog_type, exact)
    return found


def schemas_of(wanted: Mapping[ObjectName, Wanted]) -> list[Schema]:
    groups: dict[tuple[tuple[str, ...], str], list[ObjectName]] = {}
    for name, item in wanted.items():
        folded = tuple(part.casefold() for part in item.physical[:-1])
        parts = folded if item.catalog_type == "builtin" else item.physical[:-1]
        groups.setdefault((parts, item.catalog_type), []).append(name)
    return [
        Schema(
            parts,
            catalog_type,
            {name: wanted[name] for name in names if wanted[name].kind != "function"},
            {name: wanted[name] for name in names if wanted[name].kind == "function"},
        )
        for (parts, catalog_type), names in groups.items()
    ]


def _ambiguous(definition: TableDef | None) -> bool:
    """Whether what is declared would come back from SHOW TABLE EXTENDED as something else."""
    if definition is None:
        return False
    pairs = definition.properties
    return "\n" in definition.comment or any(
        not value or ", " in value or "\n" in value or "=" in key or ", " in key for key, value in pairs
    )

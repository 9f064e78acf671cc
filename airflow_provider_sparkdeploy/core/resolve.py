"""From the names in SQL and headers to the objects of the repository.

A qualified name resolves exactly, by its physical schema. An unqualified one means the own
schema, because every operation runs in a session whose current schema is its object's. A
name that is not in the repository is external.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .names import SESSION_CATALOG, Node, ObjectName, parse_name
from .objects import ObjectDef
from .repository import Repository


@dataclass(frozen=True, slots=True)
class Resolver:
    """Looks names up. Folders are found by the physical schema that they map to."""

    objects: Mapping[ObjectName, ObjectDef]
    folders: Mapping[tuple[str, ...], tuple[str, ...]]
    catalogs: Mapping[str, str]
    broken: frozenset[ObjectName] = frozenset()

    def table(self, parts: tuple[str, ...], schema: str) -> ObjectName | None:
        """The object that folded ``parts`` mean in a statement of an object of ``schema``."""
        if len(parts) == 1:
            found = ObjectName(schema, parts[0])
            return found if found in self.objects else None
        if len(parts) == 2:
            parts = (self.catalogs.get(schema, SESSION_CATALOG), *parts)
        for folder in self.folders.get(parts[:-1], ()):
            found = ObjectName(folder, parts[-1])
            if found in self.objects:
                return found
        return None

    def function(self, parts: tuple[str, ...], schema: str) -> ObjectName | None:
        found = self.table(parts, schema)
        return found if found is not None and self.objects[found].kind == "function" else None

    def word(self, parts: tuple[str, ...], schema: str) -> ObjectName | None:
        """The object that the beginning of a dotted word means: ``s.t.column`` names ``s.t``.

        A function is not meant by a word, only by a call.
        """
        for length in range(len(parts), 0, -1):
            found = self.table(parts[:length], schema)
            if found is not None and self.objects[found].kind != "function":
                return found
        return None

    def explicit(self, text: str, schema: str) -> Node | None:
        """A name in a header: ``object``, ``schema.object``, or either with ``.change``.

        Headers speak of folders, not of physical schemas.
        """
        for name, change in _candidates(text, schema):
            found = self.objects.get(name)
            if found is None:
                continue
            if not change:
                return last_node(found)
            if change in found.change_names:
                return Node(*name, change)
        return None

    def names_broken(self, text: str, schema: str) -> bool:
        """Whether a name in a header means a file that could not be read: that is said of the
        file, and not again of everyone who names it."""
        return any(name in self.broken for name, _ in _candidates(text, schema))


def _candidates(text: str, schema: str) -> list[tuple[ObjectName, str]]:
    """What a name in a header can mean, as an object and a change of it."""
    parts = tuple(part.casefold() for part in parse_name(text) or ())
    if len(parts) == 1:
        return [(ObjectName(schema, parts[0]), "")]
    if len(parts) == 2:
        return [(ObjectName(*parts), ""), (ObjectName(schema, parts[0]), parts[1])]
    return [(ObjectName(parts[0], parts[1]), parts[2])] if len(parts) == 3 else []


def last_node(item: ObjectDef) -> Node:
    """What a bare object name means: its last change."""
    return Node(*item.name, item.change_names[-1] if item.change_names else "")


def physical_schema(parts: tuple[str, ...]) -> tuple[str, ...]:
    """A physical schema as folders are found by it: folded, and with its catalog."""
    full = tuple(part.casefold() for part in parts)
    return full if len(full) > 1 else (SESSION_CATALOG, *full)


def make_resolver(repository: Repository) -> Resolver:
    folders: dict[tuple[str, ...], list[str]] = {}
    catalogs: dict[str, str] = {}
    for folder, physical in repository.schemas.items():
        full = physical_schema(physical)
        catalogs[folder] = full[0]
        folders.setdefault(full, []).append(folder)
    found = {key: tuple(value) for key, value in folders.items()}
    return Resolver(repository.objects, found, catalogs, repository.broken)

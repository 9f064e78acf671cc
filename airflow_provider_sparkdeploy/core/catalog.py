"""The observed catalog, as a value. The inspector that makes one talks to Spark; this does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from .names import ObjectName, object_name, parse_name
from .objects import Column, TableDef
from .signature import Signature
from .sqltypes import canonical_type
from .state import decode_definition, encode_definition

ObservedKind = Literal["table", "view", "materialized_view", "function"]
REDACTED = "*********(redacted)"
"""What Spark shows instead of the value of a property whose name sounds like a secret."""


@dataclass(frozen=True, slots=True)
class ObservedObject:
    """What a catalog says of one object.

    ``text`` is the query of a view or the body of a function, ``marker`` the hash that a
    deployment left on it, ``indexes`` the names of its indexes where the catalog has any.
    ``signature`` is what is known of a function's.
    ``readable`` is False for what exists but could not be described: it is not missing.
    """

    kind: ObservedKind
    definition: TableDef = TableDef()
    text: str | None = None
    marker: str | None = None
    indexes: tuple[str, ...] | None = None
    readable: bool = True
    signature: Signature = Signature()


@dataclass(frozen=True, slots=True)
class Catalog:
    """The objects that were found, and the names that were looked for: a name that was not
    looked for is not judged."""

    objects: Mapping[ObjectName, ObservedObject] = field(default_factory=dict)
    looked_for: frozenset[ObjectName] | None = None

    def judged(self, name: ObjectName) -> bool:
        return self.looked_for is None or name in self.looked_for


def decode_catalog(data: Mapping[str, Any]) -> Catalog:
    """A catalog from JSON: ``{"objects": {"sales.orders": {"kind": "table", ...}}}``."""
    objects: dict[ObjectName, ObservedObject] = {}
    for text, item in data.get("objects", {}).items():
        definition = {**item, "columns": [_column(column) for column in item.get("columns", ())]}
        definition["properties"] = list(dict(item.get("properties", {})).items())
        indexes, parameters, returns = item.get("indexes"), item.get("parameters"), item.get("returns")
        if item["kind"] not in get_args(ObservedKind):
            raise ValueError(f"{text} is a {item['kind']}, not one of {', '.join(get_args(ObservedKind))}")
        objects[_name(text)] = ObservedObject(
            kind=item["kind"],
            definition=decode_definition(definition),
            text=item.get("text"),
            marker=item.get("marker"),
            indexes=None if indexes is None else tuple(indexes),
            readable=item.get("readable", True),
            signature=Signature(
                None
                if parameters is None
                else tuple(Column(p["name"], canonical_type(p["type"])) for p in parameters),
                None if returns is None else canonical_type(returns),
            ),
        )
    looked_for = data.get("looked_for")
    return Catalog(objects, None if looked_for is None else frozenset(_name(text) for text in looked_for))


def encode_catalog(catalog: Catalog) -> dict[str, Any]:
    objects = {}
    for name, item in sorted(catalog.objects.items()):
        definition = encode_definition(item.definition)
        definition["columns"] = [
            {"name": c[0], "type": c[1], "nullable": c[2], "comment": c[3]} for c in definition["columns"]
        ]
        definition["properties"] = dict(item.definition.properties)
        parameters = item.signature.parameters
        objects[str(name)] = {
            "kind": item.kind, **definition, "text": item.text, "marker": item.marker,
            "indexes": None if item.indexes is None else list(item.indexes), "readable": item.readable,
            "parameters": None if parameters is None else [{"name": p.name, "type": p.type} for p in parameters],
            "returns": item.signature.returns,
        }  # fmt: skip
    looked_for = None if catalog.looked_for is None else sorted(str(name) for name in catalog.looked_for)
    return {"objects": objects, "looked_for": looked_for}


def _name(text: str) -> ObjectName:
    parts = parse_name(text)
    if parts is None or len(parts) != 2:
        raise ValueError(f"{text} is not schema.object")
    return object_name(*parts)


def _column(column: Mapping[str, Any]) -> list[Any]:
    kind = canonical_type(column["type"])
    return [column["name"], kind, column.get("nullable", True), column.get("comment", "")]

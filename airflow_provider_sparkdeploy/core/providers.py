"""Families of table providers: what ALTER can do to their tables, and what their catalogs tell.

Only what a catalog tells truthfully is worth comparing: planning right after deploying must
be empty, and a false difference that ends in a new table costs its data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from . import names
from .nesting import inner
from .objects import Column, TableDef
from .sqltypes import type_key


def _never(deployed: str, desired: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Abilities:
    """What can be altered in a family, and what is compared at all.

    ``drops_with`` is a property without which columns cannot be dropped. ``widens`` says which
    type may become which, ``stored_as`` which declared types come back as others; ``nests`` that
    what is inside a type (the fields of a STRUCT) is altered like columns. A family
    that does not tell NOT NULL is not asked for it. ``comments`` are those of columns; the
    built-in catalog refuses them for partition columns.
    """

    drops: bool = False
    drops_with: str = ""
    widens: Callable[[str, str], bool] = _never
    stored_as: tuple[tuple[str, str], ...] = ()
    nests: bool = False
    tells_not_null: bool = False
    relaxes: bool = False
    orders: bool = False
    comments: Literal["all", "data", "none"] = "all"
    properties: bool = True
    partitions: Literal["fixed", "fields", "none"] = "fixed"
    clusters: bool = False

    def can_drop(self, deployed: TableDef) -> bool:
        modes = [value for key, value in deployed.properties if key.casefold() == self.drops_with.casefold()]
        return self.drops or any(mode.casefold() in ("name", "id") for mode in modes)

    def same_type(self, deployed: str, desired: str) -> bool:
        """Whether a catalog that says ``deployed`` may hold what was declared as ``desired``."""
        spellings = {type_key(desired)}
        for pattern, replacement in self.stored_as:
            spellings |= {re.sub(pattern, replacement, spelling) for spelling in spellings}
        return not desired or type_key(deployed) in spellings

    def can_widen(self, deployed: str, desired: str) -> bool:
        return self.widens(type_key(deployed), type_key(desired))

    def can_alter(self, deployed: str, desired: str) -> bool:
        """Whether ALTERs make one type of the other, also by what is inside. The keys of a MAP stay."""
        if self.same_type(deployed, desired) or self.can_widen(deployed, desired):
            return True
        (word, old), (other, new) = inner(deployed), inner(desired)
        pairs = both(TableDef(old), TableDef(new))
        if not self.nests or word != other or not pairs:
            return False
        if word == "map" and not self.same_type(old[0].type, new[0].type):
            return False
        return all(self.can_alter(was.type, column.type) for was, column in pairs)


def _numbers(spelled: str, *words: str) -> tuple[int, ...]:
    match = re.fullmatch(rf"(?:{'|'.join(words)})\((\d+)(?:,(\d+))?\)", spelled)
    return tuple(int(number) for number in match.groups() if number) if match else ()


def _widens_in_iceberg(deployed: str, desired: str) -> bool:
    old, new = _numbers(deployed, "decimal"), _numbers(desired, "decimal")
    if old and new:
        return new[0] > old[0] and new[1] == old[1]
    return (deployed, desired) in (("int", "bigint"), ("float", "double"))


def _widens_in_jdbc(deployed: str, desired: str) -> bool:
    """What Spark itself lets through to the database: casts that lose nothing."""
    old = _numbers(deployed, "decimal") or _AS_DECIMAL.get(deployed, ())
    new = _numbers(desired, "decimal")
    if old and new:
        return new[1] >= old[1] and new[0] - new[1] >= old[0] - old[1]
    longer = _numbers(desired, "varchar")
    if longer:
        return (0,) < _numbers(deployed, "varchar", "char") <= longer
    return desired == "string" or desired in _WIDER.get(deployed, ())


_AS_DECIMAL = {"tinyint": (3, 0), "smallint": (5, 0), "int": (10, 0), "bigint": (20, 0)}
_WIDER = {
    "tinyint": ("smallint", "int", "bigint", "float", "double"),
    "smallint": ("int", "bigint", "float", "double"),
    "int": ("bigint", "float", "double"),
    "bigint": ("float", "double"),
    "float": ("double",),
    "date": ("timestamp", "timestamp_ntz"),
}
_FEWER_TYPES = (
    (r"\btinyint\b", "smallint"),
    (r"\bsmallint\b", "int"),
    (r"\b(?:var)?char\(\d+\)", "string"),
)

FAMILIES = {
    "builtin": Abilities(comments="data", clusters=True),
    "delta": Abilities(
        drops_with="delta.columnMapping.mode", tells_not_null=True, relaxes=True, clusters=True
    ),
    "iceberg": Abilities(
        drops=True,
        widens=_widens_in_iceberg,
        stored_as=_FEWER_TYPES,
        nests=True,
        tells_not_null=True,
        relaxes=True,
        orders=True,
        partitions="fields",
    ),
    "jdbc": Abilities(
        drops=True,
        widens=_widens_in_jdbc,
        stored_as=(*_FEWER_TYPES, (r"\btimestamp_ntz\b", "timestamp")),
        relaxes=True,
        comments="none",
        properties=False,
        partitions="none",
    ),
}

# Refused by Spark, or counted by an engine: neither set nor unset.
_NOT_OURS = re.compile(
    r"provider|location|owner|comment|external|is_managed_location|collation|table_type|path|uuid"
    r"|transient_lastddltime|last_modified_(?:by|time)|numfiles|numrows|rawdatasize|totalsize"
    r"|column_stats_accurate|bucketing_version|clusteringcolumns|current-snapshot-id"
    r"|(?:sparkdeploy|spark\.sql|view)\..*"
)
# An author may set these, but where the declaration is silent they are the engine's.
_ENGINE_DEFAULTS = re.compile(
    r"(?:delta|option)\..*|serialization\.format|format|format-version|sort-order|identifier-fields"
    r"|write\.parquet\.compression-codec"
)


def may_set(key: str) -> bool:
    """Whether a property is the author's to set."""
    return not _NOT_OURS.fullmatch(key.casefold())


def may_unset(key: str) -> bool:
    """Whether a property goes when the declaration no longer names it."""
    return may_set(key) and not _ENGINE_DEFAULTS.fullmatch(key.casefold())


def provider_family(desired: TableDef, catalog_type: str | None) -> str:
    """Whose rules hold: ``builtin``, ``delta``, ``iceberg`` or ``jdbc``.

    ``catalog_type`` is a short name or the class of a catalog. A catalog that replaces Spark's
    own has tables of all providers, any other Iceberg catalog only its own.
    """
    catalog = (catalog_type or "").casefold()
    provider = desired.provider.casefold()
    if "jdbc" in catalog:
        return "jdbc"
    if provider in ("iceberg", "delta"):
        return provider
    if "iceberg" in catalog and not (provider and "session" in catalog):
        return "iceberg"
    return "delta" if "delta" in catalog and not provider else "builtin"


def refusals(family: str, old: TableDef, new: TableDef) -> Iterator[str]:
    """All differences that no ALTER of the family can make: ALTER cannot ..."""
    can = FAMILIES[family]
    if not _same_provider(old.provider, new.provider, family):
        yield f"change the provider from {old.provider} to {new.provider}"
    gone = missing(old.columns, new.columns)
    if gone and len(gone) == len(old.columns):
        yield "replace all columns"
    if not can.can_drop(old):
        hint = f" (without {can.drops_with} = name)" if can.drops_with else ""
        yield from (f"drop column {_shown(column)}{hint}" for column in gone)
    if can.tells_not_null:
        for column in missing(new.columns, old.columns):
            if not column.nullable:
                yield f"add column {_shown(column)} as NOT NULL"
    partitions = {type_key(field) for field in old.partitioning}
    for was, column in both(old, new):
        if not can.can_alter(was.type, column.type):
            yield f"change the type of {_shown(column)} from {was.type} to {column.type}"
        if can.tells_not_null and was.nullable and not column.nullable:
            yield f"make {_shown(column)} NOT NULL"
        if can.comments == "data" and type_key(column.name) in partitions and was.comment != column.comment:
            yield f"comment on the partition column {_shown(column)}"
    if can.partitions == "fixed" and _layout(old) != _layout(new):
        yield f"change the partitioning from ({_fields(old)}) to ({_fields(new)})"


def _same_provider(deployed: str, desired: str, family: str) -> bool:
    """Iceberg's own catalogs take USING parquet as a file format; the table is Iceberg's still."""
    old, new = deployed.casefold(), desired.casefold()
    if not old or not new or old == new:
        return True
    return family == "iceberg" and old == "iceberg" and new in ("parquet", "orc", "avro")


def by_name(columns: Iterable[Column]) -> dict[str, Column]:
    return {column.name.casefold(): column for column in columns}


def missing(columns: Iterable[Column], others: Iterable[Column]) -> list[Column]:
    """The columns that are not among the others."""
    known = by_name(others)
    return [column for column in columns if column.name.casefold() not in known]


def both(old: TableDef, new: TableDef) -> list[tuple[Column, Column]]:
    """The columns of both sides, in the order of the new one."""
    before = by_name(old.columns)
    pairs = ((before.get(column.name.casefold()), column) for column in new.columns)
    return [(was, column) for was, column in pairs if was]


def is_clustering(field: str) -> bool:
    return field.startswith("cluster_by(")


def clustered(table: TableDef) -> str:
    """The entry of the partitioning that is CLUSTER BY, which can be altered, unlike the others."""
    return next(filter(is_clustering, table.partitioning), "")


def _layout(table: TableDef) -> tuple[list[str], set[str]]:
    """What is fixed in the files: directories, which have an order, and buckets, which have none."""
    keys = [type_key(field) for field in table.partitioning if not is_clustering(field)]
    return [key for key in keys if "(" not in key], {key for key in keys if "(" in key}


def _fields(table: TableDef) -> str:
    return ", ".join(field for field in table.partitioning if not is_clustering(field))


def _shown(column: Column) -> str:
    return names.display((column.name,))

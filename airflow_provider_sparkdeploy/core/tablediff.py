"""From what a table is and what it should be to the ALTERs between, or to a new table.

Whether a difference can be altered is the family's (``providers``). Each step below makes the
ALTERs for one kind of difference; they run in the order of ``_STEPS``. Any number of them,
applied, leaves exactly the others to do.

Not seen, on purpose:

- NOT NULL in the built-in catalog and in JDBC, which forget it; a column is added without.
- The order of columns but for Iceberg. Elsewhere a new column comes last (in the built-in
  catalog before the partition columns), wherever it is declared.
- Properties that engines keep for themselves, and comments, properties and partitioning in
  JDBC, which has none.
- Renames: the old column, or field of a STRUCT, is dropped, the new one added.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from . import names
from .nesting import inner, outer
from .objects import Column, TableDef
from .providers import (
    FAMILIES,
    Abilities,
    both,
    by_name,
    clustered,
    is_clustering,
    may_set,
    may_unset,
    missing,
    provider_family,
    refusals,
)
from .sqltypes import type_key

__all__ = ["Alteration", "Recreate", "provider_family", "table_changes"]

Phase = Literal["teardown", "setup"]


@dataclass(frozen=True, slots=True)
class Alteration:
    """One statement. ``slug`` is its part of an operation id; ``narrows`` keeps it from
    protected objects; ``after`` is the table once it and all before it are done."""

    slug: str
    phase: Phase
    sql: str
    destructive: bool
    narrows: bool
    after: TableDef


@dataclass(frozen=True, slots=True)
class Recreate:
    """The table must be dropped and created; ``reason`` names all that ALTER cannot do."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Sides:
    """What a step sees: the table as the steps before it leave it, and as it should be; or what is
    inside one of its columns, at ``path``, the same way."""

    table: str
    can: Abilities
    old: TableDef
    new: TableDef
    path: tuple[str, ...] = ()

    def alter(self, clause: str) -> str:
        return f"ALTER TABLE {self.table} {clause}"

    def quoted(self, column: Column) -> str:
        return names.quote((*self.path, column.name))

    def slug(self, kind: str, column: Column) -> str:
        return ".".join((kind, *(names.task_part(part.casefold()) for part in (*self.path, column.name))))

    def inside(self) -> Iterator[tuple[Column, str, _Sides]]:
        """What differs inside of columns, where it is altered like columns: each with the word of its type."""
        for was, column in both(self.old, self.new) if self.can.nests else ():
            if not self.can.same_type(was.type, column.type):
                (word, old), (_, new) = inner(was.type), inner(column.type)
                if old:
                    yield (
                        was,
                        word,
                        replace(self, old=TableDef(old), new=TableDef(new), path=(*self.path, was.name)),
                    )


Steps = Iterator[tuple[str, str, TableDef]]


def table_changes(
    physical: tuple[str, ...], deployed: TableDef, desired: TableDef, provider_family: str
) -> tuple[Alteration, ...] | Recreate:
    """The statements from ``deployed`` to ``desired``, in the order in which they must run."""
    sides = _Sides(names.quote(physical), FAMILIES[provider_family], deployed, desired)
    refused = list(refusals(provider_family, deployed, desired))
    if refused:
        return Recreate(f"{desired.provider or provider_family}: ALTER cannot {', '.join(refused)}")
    found: list[Alteration] = []
    for phase, step in _STEPS:
        for slug, sql, after in step(sides):
            drops = step is _drop_columns
            found.append(Alteration(slug, phase, sql, drops, drops, after))
            sides = replace(sides, old=after)
    return tuple(found)


def _drop_doomed_fields(sides: _Sides) -> Steps:
    """Iceberg does not drop a column that a partition field needs."""
    doomed = list(_doomed(sides))
    pattern = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in doomed)
    yield from _drop_fields(sides, lambda field: bool(doomed and re.search(pattern, type_key(field))))


def _doomed(sides: _Sides) -> Iterator[str]:
    for column in missing(sides.old.columns, sides.new.columns):
        yield type_key(".".join((*sides.path, column.name)))
    for _, _, one in sides.inside():
        yield from _doomed(one)


def _drop_fields(sides: _Sides, wanted: Callable[[str], bool] = bool) -> Steps:
    if sides.can.partitions != "fields":
        return
    old, stays = sides.old, {type_key(field) for field in sides.new.partitioning}
    for field in sides.old.partitioning:
        if type_key(field) not in stays and wanted(field) and not is_clustering(field):
            old = replace(old, partitioning=tuple(other for other in old.partitioning if other != field))
            yield _slug("drop_partition", field), sides.alter(f"DROP PARTITION FIELD {field}"), old


def _drop_columns(sides: _Sides) -> Steps:
    old = sides.old
    for column in missing(sides.old.columns, sides.new.columns):
        old = replace(old, columns=tuple(other for other in old.columns if other != column))
        yield sides.slug("drop_column", column), sides.alter(f"DROP COLUMN {sides.quoted(column)}"), old
    yield from _inside(_drop_columns, replace(sides, old=old))


def _add_columns(sides: _Sides) -> Steps:
    old = sides.old
    known = by_name(old.columns)
    for place, column in enumerate(sides.new.columns):
        if column.name.casefold() in known:
            continue
        comment = column.comment if sides.can.comments != "none" else ""
        clause = f"{sides.quoted(column)} {column.type}"
        clause += f" COMMENT {names.quote_literal(comment)}" if comment else ""
        # a NOT NULL column gets here only where the catalog would forget it
        old, position = _inserted(sides, old, place, replace(column, nullable=True, comment=comment))
        yield sides.slug("add_column", column), sides.alter(f"ADD COLUMNS ({clause}{position})"), old
    yield from _inside(_add_columns, replace(sides, old=old))


def _inserted(sides: _Sides, old: TableDef, place: int, column: Column) -> tuple[TableDef, str]:
    """Where a new column goes: to its declared place, where there is an order, or to the end."""
    columns = list(old.columns)
    if not sides.can.orders:
        partitions = {type_key(field) for field in old.partitioning}
        columns.append(column)
        columns.sort(key=lambda other: type_key(other.name) in partitions)
        return replace(old, columns=tuple(columns)), ""
    at, position = _behind(columns, sides.new.columns, place)
    position = position if at < len(columns) else ""
    columns.insert(at, column)
    return replace(old, columns=tuple(columns)), position


def _move_columns(sides: _Sides) -> Steps:
    if not sides.can.orders:
        return
    columns = list(sides.old.columns)
    for place, column in enumerate(sides.new.columns):
        moved = by_name(columns)[column.name.casefold()]
        if columns[place] == moved:
            continue
        columns.remove(moved)
        at, position = _behind(columns, sides.new.columns, place)
        columns.insert(at, moved)
        sql = sides.alter(f"ALTER COLUMN {sides.quoted(column)}{position}")
        yield sides.slug("move_column", column), sql, replace(sides.old, columns=tuple(columns))
    yield from _inside(_move_columns, replace(sides, old=replace(sides.old, columns=tuple(columns))))


def _behind(columns: list[Column], desired: tuple[Column, ...], place: int) -> tuple[int, str]:
    """The place behind the column that is declared before, and how SQL says so."""
    if place == 0:
        return 0, " FIRST"
    before = desired[place - 1]
    keys = [column.name.casefold() for column in columns]
    return keys.index(before.name.casefold()) + 1, f" AFTER {_quoted(before)}"


def _change_types(sides: _Sides) -> Steps:
    old = sides.old
    for step in _alter_columns(
        sides,
        "alter_type",
        (
            (was, replace(was, type=column.type), f"TYPE {column.type}")
            for was, column in both(sides.old, sides.new)
            if not sides.can.same_type(was.type, column.type) and sides.can.can_widen(was.type, column.type)
        ),
    ):
        *_, old = step
        yield step
    yield from _inside(_change_types, replace(sides, old=old))


def _relax_columns(sides: _Sides) -> Steps:
    return _alter_columns(
        sides,
        "drop_not_null",
        (
            (was, replace(was, nullable=True), "DROP NOT NULL")
            for was, column in both(sides.old, sides.new)
            if sides.can.relaxes and column.nullable and not was.nullable
        ),
    )


def _comment_columns(sides: _Sides) -> Steps:
    return _alter_columns(
        sides,
        "comment_column",
        (
            (was, replace(was, comment=column.comment), f"COMMENT {names.quote_literal(column.comment)}")
            for was, column in both(sides.old, sides.new)
            if sides.can.comments != "none" and was.comment != column.comment
        ),
    )


def _alter_columns(sides: _Sides, slug: str, changes: Iterable[tuple[Column, Column, str]]) -> Steps:
    """One statement per changed column: what it was, what it is then, and the clause."""
    old = sides.old
    for was, then, clause in changes:
        old = replace(old, columns=tuple(then if column == was else column for column in old.columns))
        yield sides.slug(slug, was), sides.alter(f"ALTER COLUMN {sides.quoted(was)} {clause}"), old


def _inside(step: Callable[[_Sides], Steps], sides: _Sides) -> Steps:
    """The same step for what is inside the columns."""
    columns = list(sides.old.columns)
    for was, word, one in sides.inside():
        place = columns.index(was)
        for slug, sql, after in step(one):
            columns[place] = replace(was, type=outer(word, after.columns))
            yield slug, sql, replace(sides.old, columns=tuple(columns))


def _cluster(sides: _Sides) -> Steps:
    before, after = clustered(sides.old), clustered(sides.new)
    if sides.can.clusters and type_key(before) != type_key(after):
        kept = tuple(field for field in sides.old.partitioning if field != before)
        old = replace(sides.old, partitioning=(*kept, after) if after else kept)
        columns = after.removeprefix("cluster_by") or "NONE"
        yield "cluster_by", sides.alter(f"CLUSTER BY {columns}"), old


def _add_fields(sides: _Sides) -> Steps:
    if sides.can.partitions != "fields":
        return
    old, known = sides.old, {type_key(field) for field in sides.old.partitioning}
    for field in sides.new.partitioning:
        if type_key(field) not in known and not is_clustering(field):
            old = replace(old, partitioning=(*old.partitioning, field))
            yield _slug("add_partition", field), sides.alter(f"ADD PARTITION FIELD {field}"), old


def _set_properties(sides: _Sides) -> Steps:
    before = dict(sides.old.properties)
    changed = {key: value for key, value in sides.new.properties if may_set(key) and before.get(key) != value}
    if sides.can.properties and changed:
        pairs = ", ".join(
            f"{names.quote_literal(key)} = {names.quote_literal(value)}" for key, value in changed.items()
        )
        old = replace(sides.old, properties=tuple(sorted((before | changed).items())))
        yield "properties", sides.alter(f"SET TBLPROPERTIES ({pairs})"), old


def _unset_properties(sides: _Sides) -> Steps:
    declared = dict(sides.new.properties)
    gone = [key for key, _ in sides.old.properties if key not in declared and may_unset(key)]
    if sides.can.properties and gone:
        keys = ", ".join(map(names.quote_literal, gone))
        kept = tuple(entry for entry in sides.old.properties if entry[0] not in gone)
        sql = sides.alter(f"UNSET TBLPROPERTIES IF EXISTS ({keys})")
        yield "unset_properties", sql, replace(sides.old, properties=kept)


def _comment(sides: _Sides) -> Steps:
    if sides.can.comments != "none" and sides.old.comment != sides.new.comment:
        sql = f"COMMENT ON TABLE {sides.table} IS {names.quote_literal(sides.new.comment)}"
        yield "comment", sql, replace(sides.old, comment=sides.new.comment)


def _slug(kind: str, name: str) -> str:
    return f"{kind}.{names.task_part(name.casefold())}"


def _quoted(column: Column) -> str:
    return names.quote_part(column.name)


_STEPS: tuple[tuple[Phase, Callable[[_Sides], Steps]], ...] = (
    ("teardown", _drop_doomed_fields),
    ("teardown", _drop_columns),
    ("setup", _add_columns),
    ("setup", _move_columns),
    ("setup", _change_types),
    ("setup", _relax_columns),
    ("setup", _comment_columns),
    ("setup", _cluster),
    ("setup", _drop_fields),
    ("setup", _add_fields),
    ("setup", _set_properties),
    ("setup", _unset_properties),
    ("setup", _comment),
)

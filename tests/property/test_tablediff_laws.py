"""Laws of table differences: any part of a plan, done, leaves exactly the rest."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_sparkdeploy.core.names import task_part
from airflow_provider_sparkdeploy.core.nesting import inner
from airflow_provider_sparkdeploy.core.objects import Column, TableDef
from airflow_provider_sparkdeploy.core.tablediff import Recreate, table_changes

NAME = ("s", "t")
TYPES = (
    "int",
    "bigint",
    "smallint",
    "float",
    "double",
    "decimal(9,2)",
    "decimal(12,2)",
    "string",
    "varchar(5)",
    "struct<x:int>",
    "struct<x:bigint,`y z`:varchar(5)>",
    "struct<`y z`:string,x:int>",
    "struct<w:struct<x:int,y:int>,x:int>",
    "struct<w:struct<y:int,z:int,x:bigint>>",
    "array<struct<x:int>>",
    "array<struct<y:int,x:bigint>>",
    "map<int,struct<x:int>>",
    "map<int,struct<x:int,y:int>>",
    "map<struct<x:int>,int>",
    "map<struct<x:int,y:int>,int>",
)
FAMILIES = st.sampled_from(["builtin", "delta", "iceberg", "jdbc"])
COMMENTS = st.sampled_from(["", "x", "it's", "{}"])
KEYS = st.sampled_from(["a", "b", "delta.columnMapping.mode", "sparkdeploy.hash", "owner", "numFiles"])


@st.composite
def tables(draw: st.DrawFn) -> TableDef:
    chosen = draw(st.lists(st.sampled_from(["a", "B", "c d", "e`f", "g.h", "ef"]), min_size=1, unique=True))
    columns = tuple(
        Column(
            draw(st.sampled_from([name, name.upper()])),
            draw(st.sampled_from(TYPES)),
            draw(st.booleans()),
            draw(COMMENTS),
        )
        for name in chosen
    )
    fields = st.sampled_from(["a", "b", "bucket(4,a)", "days(b)", "cluster_by(a)", "cluster_by(a,b)"])
    return TableDef(
        columns,
        draw(st.sampled_from(["", "parquet"])),
        tuple(draw(st.lists(fields, max_size=2, unique_by=lambda field: field.split("(")[0]))),
        tuple(draw(st.dictionaries(KEYS, st.sampled_from(["1", "name"]))).items()),
        draw(COMMENTS),
    )


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[TableDef, TableDef]:
    """Two tables that often differ only in what can be altered."""
    one, other = draw(tables()), draw(tables())
    shared = {column.name.casefold(): column for column in one.columns}
    kept = tuple(
        Column(column.name, shared[column.name.casefold()].type, True, column.comment)
        if column.name.casefold() in shared and draw(st.integers(0, 3))
        else column
        for column in other.columns
    )
    if draw(st.booleans()):
        declared = {column.name.casefold() for column in other.columns}
        kept += tuple(column for name, column in shared.items() if name not in declared)
    clusters = draw(st.sampled_from([(), ("cluster_by(a)",), ("cluster_by(B,a)",)]))
    partitioning = (*(field for field in one.partitioning if not field.startswith("cluster")), *clusters)
    partitioning = draw(st.sampled_from([partitioning, one.partitioning, other.partitioning]))
    return one, TableDef(kept, "", partitioning, other.properties, other.comment)


@given(tables(), FAMILIES)
def test_a_table_does_not_differ_from_itself(table: TableDef, family: str) -> None:
    assert table_changes(NAME, table, table, family) == ()


@given(st.one_of(neighbours(), st.tuples(tables(), tables())), FAMILIES)
def test_any_prefix_leaves_exactly_the_rest(pair: tuple[TableDef, TableDef], family: str) -> None:
    deployed, desired = pair
    found = table_changes(NAME, deployed, desired, family)
    if isinstance(found, Recreate):
        assert found.reason
        return
    for done, alteration in enumerate(found, 1):
        assert table_changes(NAME, alteration.after, desired, family) == found[done:]


@given(neighbours(), FAMILIES)
def test_teardown_comes_first_and_ids_are_unique(pair: tuple[TableDef, TableDef], family: str) -> None:
    found = table_changes(NAME, *pair, family)
    if isinstance(found, Recreate):
        return
    phases = [alteration.phase for alteration in found]
    assert phases == sorted(phases, reverse=True)
    slugs = [alteration.slug for alteration in found]
    assert len(set(slugs)) == len(slugs)
    assert all(task_part(part) == part or "-" in part for slug in slugs for part in slug.split("."))


@given(neighbours(), FAMILIES)
def test_what_drops_nothing_is_not_destructive(pair: tuple[TableDef, TableDef], family: str) -> None:
    found = table_changes(NAME, *pair, family)
    if isinstance(found, Recreate):
        return
    before, after = (set(_paths(table.columns)) for table in pair)
    dropped = {path for path in before - after if path[:-1] in after or len(path) == 1}
    assert sum(alteration.destructive for alteration in found) == len(dropped)


def _paths(columns: tuple[Column, ...], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """All columns, and what is inside of them."""
    for column in columns:
        here = (*path, column.name.casefold())
        yield here
        yield from _paths(inner(column.type)[1], here)

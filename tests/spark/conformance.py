"""What must hold in every catalog: one suite as a class, inherited once per type of catalog.

The first law is the one that hurts most when it is broken: planning right after deploying is
empty, for everything that the catalog can hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
from sketch import Files, healthy, ids, plan, run

from airflow_provider_sparkdeploy.core.catalog import Catalog
from airflow_provider_sparkdeploy.core.marker import marked
from airflow_provider_sparkdeploy.core.names import ObjectName, quote
from airflow_provider_sparkdeploy.core.operations import Operation
from airflow_provider_sparkdeploy.core.planner import Planned
from airflow_provider_sparkdeploy.core.reconcile import reconcile
from airflow_provider_sparkdeploy.core.repository import Repository
from airflow_provider_sparkdeploy.core.state import PutObject, State
from airflow_provider_sparkdeploy.core.statement import view_text
from airflow_provider_sparkdeploy.spark.catalog import inspect, wanted_objects
from airflow_provider_sparkdeploy.spark.execute import new_attempt
from airflow_provider_sparkdeploy.spark.matview import Member, drop_view, refresh
from airflow_provider_sparkdeploy.spark.observe import looked_up
from airflow_provider_sparkdeploy.spark.session import Sessions, Spark
from airflow_provider_sparkdeploy.spark.target import Target

T = ObjectName("s", "t")


@dataclass(frozen=True, slots=True)
class Place:
    """A schema of the test's own in some catalog; the folder ``s`` of a repository is deployed there."""

    sessions: Sessions
    schema: tuple[str, ...]
    catalog_type: str = "builtin"

    @property
    def settings(self) -> str:
        lines = [f"schemas: {{s: '{quote(self.schema)}'}}", "on_destructive: allow"]
        if len(self.schema) > 1:
            lines.append(f"catalogs: {{{self.schema[0]}: {self.catalog_type}}}")
        return "\n".join(lines)

    @property
    def data_schema(self) -> str:
        return f"{self.schema[-1]}_data"

    def repository(self, files: Files) -> Repository:
        return healthy(files, self.settings)

    def look(self, repository: Repository, state: State) -> Catalog:
        return inspect(self.sessions, wanted_objects(repository, state), data_schema=self.data_schema)

    def drift(self, files: Files, state: State) -> Mapping[ObjectName, str]:
        repository = self.repository(files)
        return reconcile(repository, state, self.look(repository, state)).drift

    def plan(self, files: Files, state: State) -> Planned:
        repository = self.repository(files)
        return plan(repository, state, catalog=self.look(repository, state))

    def deploy(self, files: Files, state: State | None = None) -> State:
        """Plan against the catalog, run every operation, and give the new log."""
        found = self.plan(files, state or {}).plan
        assert not found.errors, found.errors
        with self.sessions.open() as spark:
            spark.sql(f"CREATE SCHEMA IF NOT EXISTS {quote((self.data_schema,))}")
            spark.sql(f"USE {quote(self.schema)}")
            done = [self._run(spark, operation) for operation in found.operations]
        return run(found, state, done)

    def _run(self, spark: Spark, operation: Operation) -> Operation:
        """Give the operation with the effects that it had."""
        if operation.kind == "materialized_view":
            self._materialize(operation)
            return operation
        create = operation.action == "create" and self.catalog_type != "jdbc"
        spark.sql(marked(operation.sql, operation.hash) if create else operation.sql)
        target = Target(catalogs={self.schema[0]: self.catalog_type} if len(self.schema) > 1 else {})
        return replace(operation, effects=looked_up(operation.effects, self.sessions, target))

    def _materialize(self, operation: Operation) -> None:
        with self.sessions.open() as spark:
            spark.sql(f"USE {quote(self.schema)}")
            if operation.action == "drop":
                drop_view(spark, operation.physical, data_schema=self.data_schema)
                return
            [record] = [effect.record for effect in operation.effects if isinstance(effect, PutObject)]
            parts = view_text(record.text)
            assert parts is not None
            columns = record.definition.columns if record.definition else ()
            member = Member(record.name, record.physical, parts.query, columns, record.hash)
            refresh(spark, member, data_schema=self.data_schema, attempt=new_attempt(), retention=0)

    def rows(self, query: str) -> list[tuple[object, ...]]:
        with self.sessions.open() as spark:
            spark.sql(f"USE {quote(self.schema)}")
            return [tuple(row.values()) for row in spark.sql(query)]

    def by_hand(self, *statements: str) -> None:
        with self.sessions.open() as spark:
            spark.sql(f"USE {quote(self.schema)}")
            for statement in statements:
                spark.sql(statement)


def table(text: str) -> Files:
    return {"s/table/t.sql": text}


def scripts(texts: Iterable[str]) -> Files:
    """Each of these tables, under a name of its own, made by a script."""
    named = [
        re.sub(r"\$\{s\}\.t\b", f"${{s}}.t{number}", text, flags=re.I) for number, text in enumerate(texts)
    ]
    return {f"s/table/t{n}.sql": f"-- //// CHANGE name=init\n{text};\n" for n, text in enumerate(named)}


def data_goes_into_the_columns_of_its_header(place: Place) -> None:
    """A table keeps the order in which its columns were made, whatever order the file has them in."""
    head = "-- //// METADATA keys=id\n"
    state = place.deploy({"s/data/d.csv": f"{head}id,net,Gross Sum\n1,10,12\n"})
    turned = {"s/data/d.csv": f"{head}Gross Sum,id,net\n12,1,10\n5,2,4\n"}
    assert _loaded(place, ids(place.plan(turned, state)))
    state = place.deploy(turned, state)
    assert place.rows("SELECT id, net, `Gross Sum` FROM d ORDER BY id") == [(1, 10, 12), (2, 4, 5)]
    assert ids(place.plan(turned, state)) == []
    place.by_hand("DROP TABLE d", "CREATE TABLE d (net BIGINT, id BIGINT, `Gross Sum` BIGINT)")
    assert _loaded(place, ids(place.plan(turned, {}))), "it is adopted as it is"
    state = place.deploy(turned)
    assert place.rows("SELECT id, net, `Gross Sum` FROM d ORDER BY id") == [(1, 10, 12), (2, 4, 5)]
    none = {"s/data/d.csv": f"{head}net:bigint,Gross Sum:bigint,id:bigint\n"}
    assert _loaded(place, ids(place.plan(none, state)))
    place.deploy(none, state)
    assert place.rows("SELECT * FROM d") == []


def _loaded(place: Place, found: list[str]) -> bool:
    """Whether rows are put into the table that is there. Iceberg keeps the order of columns, and gets a new
    table where the file has another."""
    return (
        found[-1:] == ["setup.s.d.load"] if place.catalog_type == "iceberg" else found == ["setup.s.d.load"]
    )


class CatalogConformance:
    """The suite. A subclass has a fixture ``place`` and says what its catalog can hold."""

    tables: ClassVar[Mapping[str, str]]
    """Tables to deploy, by what is special about them."""
    alterations: ClassVar[Mapping[str, tuple[str, str]]]
    """Tables before and after, between which no table is dropped."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        for parameter, cases in (("declared", self.tables), ("altered", self.alterations)):
            if parameter in metafunc.fixturenames:
                metafunc.parametrize(parameter, list(cases.values()), ids=list(cases))

    def test_planning_right_after_deploying_is_empty(self, place: Place, declared: str) -> None:
        state = place.deploy(table(declared))
        assert state, "nothing was deployed"
        assert ids(place.plan(table(declared), state)) == []

    def test_planning_right_after_deploying_scripts_is_empty(self, place: Place) -> None:
        files = scripts(self.tables.values())
        state = place.deploy(files)
        assert all(record.definition for record in state.values())
        planned = place.plan(files, state)
        assert (ids(planned), planned.plan.notes, planned.plan.diagnostics) == ([], (), ())

    def test_a_script_whose_table_was_altered_by_hand(self, place: Place) -> None:
        files = {"s/table/t.sql": "-- //// CHANGE name=init\nCREATE TABLE ${s}.t (a INT);\n"}
        state = place.deploy(files)
        place.by_hand("ALTER TABLE t ADD COLUMNS (b INT)")
        assert place.drift(files, state).keys() == {T}
        migration = "-- //// CHANGE name=one\nALTER TABLE ${s}.t ADD COLUMNS (c INT);\n"
        place.by_hand("DROP TABLE t", "CREATE TABLE t (a INT)")
        files["s/migration/m.sql"] = migration
        state = place.deploy(files, state)
        assert place.drift(files, state) == {}, "what a migration does is not drift"
        assert ids(place.plan(files, state)) == []

    def test_what_is_there_as_declared_is_adopted(self, place: Place, declared: str) -> None:
        place.deploy(table(declared))
        found = place.plan(table(declared), {}).plan
        assert (found.errors, found.operations) == ((), ())
        assert T in run(found)

    def test_an_alteration_leads_to_what_is_declared(self, place: Place, altered: tuple[str, str]) -> None:
        before, after = map(table, altered)
        state = place.deploy(before)
        planned = place.plan(after, state)
        assert planned.plan.operations
        assert not [item.id for item in planned.plan.operations if item.action in ("drop", "create")]
        state = place.deploy(after, state)
        assert ids(place.plan(after, state)) == []

    def test_data_goes_into_the_columns_of_its_header(self, place: Place) -> None:
        data_goes_into_the_columns_of_its_header(place)

    def test_nothing_is_there_before(self, place: Place) -> None:
        repository = place.repository(table("CREATE TABLE ${s}.t (a INT)"))
        assert place.look(repository, {}).objects == {}

    def test_a_schema_that_is_not_there_has_no_objects(self, place: Place) -> None:
        elsewhere = Place(place.sessions, (*place.schema[:-1], "nowhere"), place.catalog_type)
        repository = elsewhere.repository(table("CREATE TABLE ${s}.t (a INT)"))
        found = elsewhere.look(repository, {})
        assert found.objects == {}
        assert found.judged(T)

    def test_a_table_dropped_by_hand_is_missing(self, place: Place) -> None:
        files = table("CREATE TABLE ${s}.t (a INT)")
        state = place.deploy(files)
        place.by_hand("DROP TABLE t")
        assert ids(place.plan(files, state)) == ["setup.s.t"]
        state = place.deploy(files, state)
        assert ids(place.plan(files, state)) == []

    def test_a_column_added_by_hand_is_named(self, place: Place) -> None:
        files = table("CREATE TABLE ${s}.t (a INT)")
        state = place.deploy(files)
        place.by_hand("ALTER TABLE t ADD COLUMNS (`by hand` INT)")
        assert "by-20-hand" in place.drift(files, state)[T] or "`by hand`" in place.drift(files, state)[T]
        state = place.deploy(files, state)
        assert ids(place.plan(files, state)) == []


class RenamingConformance(CatalogConformance):
    """The suite for a catalog in which columns can be renamed and dropped."""

    def test_a_column_renamed_by_hand(self, place: Place) -> None:
        files = table("CREATE TABLE ${s}.t (a INT, b INT)")
        state = place.deploy(files)
        place.by_hand("ALTER TABLE t RENAME COLUMN b TO c")
        assert place.drift(files, state) == {T: "drop_column.c, add_column.b"}
        state = place.deploy(files, state)
        assert ids(place.plan(files, state)) == []

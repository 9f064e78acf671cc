"""Components of materialized views on a real Spark, beside the same fixpoint in plain Python."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError
from airflow_provider_sparkdeploy.core.names import ObjectName
from airflow_provider_sparkdeploy.core.objects import Column
from airflow_provider_sparkdeploy.spark import fixpoint, matview, staging
from airflow_provider_sparkdeploy.spark.fixpoint import FixpointResult, Member, resume_fixpoint, run_fixpoint
from airflow_provider_sparkdeploy.spark.matview import create_empty, data_table_of, data_tables
from airflow_provider_sparkdeploy.spark.session import Sessions, Spark, SparkFailure

Pair = tuple[int | None, int | None]
PAIR = (Column("a", "int"), Column("b", "int"))
LINEAR = "SELECT a, b FROM edge UNION SELECT t.a, e.b FROM tc t JOIN edge e ON t.b = e.a"
_numbers = itertools.count()


def new_attempt() -> str:
    return f"{datetime.now(UTC):%Y%m%d%H%M%S}_{next(_numbers):06}"


@dataclass
class World:
    """A schema with a table of edges, and a data schema beside it."""

    spark: Spark
    schema: str
    passes: list[tuple[int, int]] = field(default_factory=list)

    @property
    def data(self) -> str:
        return f"{self.schema}_data"

    def edges(self, *pairs: Pair) -> None:
        values = ", ".join(
            f"({a if a is not None else 'NULL'}, {b if b is not None else 'NULL'})" for a, b in pairs
        )
        rows = f"VALUES {values}" if values else "SELECT 1, 1 WHERE false"
        self.spark.sql(f"INSERT OVERWRITE {self.schema}.edge {rows}")

    def member(self, name: str, query: str, columns: tuple[Column, ...] = PAIR) -> Member:
        return Member(ObjectName(self.schema, name), (self.schema, name), query, columns, f"hash of {name}")

    def run(self, *members: Member, cap: int = 50, attempt: str = "") -> FixpointResult:
        return run_fixpoint(
            self.spark,
            members,
            data_schema=self.data,
            max_iterations=cap,
            attempt=attempt or new_attempt(),
            on_pass=lambda number, rows: self.passes.append((number, rows)),
        )

    def rows(self, name: str) -> list[tuple[object, ...]]:
        found = self.spark.sql(f"SELECT * FROM {self.schema}.{name}")
        return sorted((tuple(row.values()) for row in found), key=repr)

    def left(self) -> list[str]:
        """Tables of the data schema that no view names, and temporary views."""
        named = set()
        for row in self.spark.sql(f"SHOW VIEWS IN {self.schema}"):
            if not row["isTemporary"]:
                found = matview.check_name(self.spark, (self.schema, row["viewName"]))
                named.add((data_table_of(found.text) or ("",))[-1] if found else "")
        tables = self.spark.sql(f"SHOW TABLES IN {self.data}")
        return sorted(row["tableName"] for row in tables if row["tableName"] not in named)


@pytest.fixture
def world(sessions: Sessions, schema: str) -> Iterator[World]:
    with sessions.open() as spark:
        spark.sql(f"USE {schema}")
        spark.sql("CREATE TABLE edge (a INT, b INT) USING parquet")
        yield World(spark, schema)
        spark.sql(f"DROP SCHEMA IF EXISTS {schema}_data CASCADE")


def closure(pairs: set[Pair]) -> set[Pair]:
    """What the queries below mean: NULL joins nothing."""
    found = set(pairs)
    while True:
        more = {(a, d) for a, b in found for c, d in pairs if b is not None and b == c} - found
        if not more:
            return found
        found |= more


def ordered(pairs: set[Pair]) -> list[tuple[object, ...]]:
    return sorted(pairs, key=repr)


CHAIN: tuple[Pair, ...] = ((1, 2), (2, 3), (3, 4), (4, 5), (5, 6))
TANGLED: tuple[Pair, ...] = ((1, 2), (2, 3), (3, 1), (3, 4), (None, 1), (4, None), (2, 3), (2, 3), (7, 7))

CLOSURES = {
    "linear": LINEAR,
    "left linear": "SELECT a, b FROM edge UNION SELECT e.a, t.b FROM edge e JOIN tc t ON e.b = t.a",
    "not linear": "SELECT a, b FROM edge UNION SELECT x.a, y.b FROM tc x JOIN tc y ON x.b = y.a",
    "select distinct": "SELECT DISTINCT * FROM (SELECT * FROM edge UNION ALL "
    "SELECT tc.a, edge.b FROM tc JOIN edge ON tc.b = edge.a)",
    "cte used twice": "WITH both AS (SELECT a, b FROM edge UNION SELECT a, b FROM tc) "
    "SELECT a, b FROM both UNION SELECT x.a, y.b FROM both x JOIN both AS y ON x.b = y.a",
    "qualified columns": "SELECT a, b FROM edge UNION "
    "SELECT {schema}.tc.a, edge.b FROM {schema}.tc JOIN edge ON {schema}.tc.b = edge.a",
    "exists": "SELECT a, b FROM edge UNION SELECT x.a, y.b FROM tc x, edge y WHERE "
    "EXISTS (SELECT 1 FROM tc z WHERE z.a <=> x.a AND z.b = x.b) AND x.b IN (SELECT b FROM tc WHERE b = y.a)",
    "left join outside": "SELECT a, b FROM edge UNION SELECT t.a, e.b FROM tc t "
    "LEFT JOIN edge e ON t.b = e.a WHERE e.a IS NOT NULL",
    "except outside": "SELECT a, b FROM edge UNION (SELECT t.a, e.b FROM tc t JOIN edge e ON t.b = e.a "
    "EXCEPT SELECT a, b FROM edge WHERE a = 99)",
    "other types": "SELECT CAST(a AS BIGINT), b FROM edge UNION "
    "SELECT CAST(t.a AS STRING), e.b FROM tc t JOIN edge e ON t.b = e.a",
}


@pytest.mark.parametrize("query", CLOSURES.values(), ids=CLOSURES)
def test_transitive_closure(world: World, query: str) -> None:
    world.edges(*TANGLED)
    result = world.run(world.member("tc", query.format(schema=world.schema)))
    expected = closure(set(TANGLED))
    assert world.rows("tc") == ordered(expected)
    assert result.converged
    assert result.late == 0
    assert sum(sum(counts.values()) for counts in result.rows) == len(expected)
    assert world.left() == []


def test_passes_are_told(world: World) -> None:
    world.edges(*CHAIN)
    result = world.run(world.member("tc", LINEAR))
    name = f"{world.schema}.tc"
    assert result == FixpointResult(6, tuple({name: rows} for rows in (5, 4, 3, 2, 1, 0)))
    assert world.passes == [(1, 5), (2, 4), (3, 3), (4, 2), (5, 1), (6, 0)]


def test_nothing_to_start_from(world: World) -> None:
    result = world.run(world.member("tc", LINEAR))
    assert result.iterations == 1
    assert world.rows("tc") == []


def test_more_passes_than_chunks(world: World) -> None:
    """Contents are merged on the way; what one member has stays while another goes on."""
    pairs = {(n, n + 1) for n in range(18)}
    world.edges(*sorted(pairs))
    early = "SELECT a, b FROM edge WHERE a < 2 UNION SELECT a, b FROM tc WHERE b < 5"
    late = LINEAR + " UNION SELECT a, b FROM early"
    assert world.run(world.member("early", early), world.member("tc", late)).iterations == 19
    assert world.rows("tc") == ordered(closure(pairs))
    assert world.rows("early") == ordered({(a, b) for a, b in closure(pairs) if b and b < 5})


def test_many_rows(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contents that are too many to be sent around are compared in another way, with one result."""
    monkeypatch.setattr(staging, "_MANY", 3)
    world.edges(*TANGLED)
    assert world.run(world.member("tc", LINEAR)).late == 0
    assert world.rows("tc") == ordered(closure(set(TANGLED)))
    assert world.left() == []


def test_mutual_recursion(world: World) -> None:
    """Paths of odd and even length."""
    world.edges(*TANGLED)
    odd = world.member(
        "odd", "SELECT a, b FROM edge UNION SELECT x.a, e.b FROM even x JOIN edge e ON x.b = e.a"
    )
    even = world.member("even", "SELECT DISTINCT x.a, e.b FROM odd x JOIN edge e ON x.b = e.a")
    result = world.run(odd, even)
    base = set(TANGLED)
    expected: dict[str, set[Pair]] = {"odd": set(base), "even": set()}
    for _ in range(20):
        for name, other in (("even", "odd"), ("odd", "even")):
            expected[name] |= {
                (a, d) for a, b in expected[other] for c, d in base if b is not None and b == c
            }
    assert world.rows("odd") == ordered(expected["odd"])
    assert world.rows("even") == ordered(expected["even"])
    assert result.late == 0
    assert world.left() == []


def test_members_in_two_schemas(world: World, sessions: Sessions) -> None:
    """An unqualified name means the schema of the member that uses it."""
    other = f"{world.schema}_other"
    world.spark.sql(f"CREATE SCHEMA {other}")
    try:
        world.spark.sql(f"CREATE TABLE {other}.edge AS SELECT 6 AS a, 7 AS b")
        world.edges(*CHAIN)
        here = world.member("m", f"SELECT a, b FROM edge UNION SELECT a, b FROM {other}.m")
        query = f"SELECT a, b FROM edge UNION SELECT x.a, y.b FROM {world.schema}.m x JOIN m y ON x.b = y.a"
        query += f" UNION SELECT a, b FROM {world.schema}.m"
        there = Member(ObjectName(other, "m"), (other, "m"), query, PAIR, "there")
        world.run(here, there)
        expected = closure({*CHAIN, (6, 7)})
        assert world.rows("m") == ordered(expected)
        found = world.spark.sql(f"SELECT * FROM {other}.m")
        assert {(row["a"], row["b"]) for row in found} == expected
    finally:
        world.spark.sql(f"DROP SCHEMA {other} CASCADE")


def test_two_components_beside_each_other(world: World) -> None:
    world.edges(*CHAIN)
    world.run(world.member("tc", LINEAR))
    over = "SELECT a, b FROM tc UNION SELECT r.b, r.a FROM r"
    world.run(world.member("r", over))
    expected = closure(set(CHAIN))
    assert world.rows("r") == ordered(expected | {(b, a) for a, b in expected})


def test_rows_are_sets_also_after_they_got_their_types(world: World) -> None:
    """1.2 and 1.4 are two rows of the query, and one of the declared type."""
    query = "SELECT 1.2 AS a, 0 AS b UNION SELECT 1.4, 0 UNION SELECT a, b + 1 FROM m WHERE b < 2"
    world.run(world.member("m", query))
    assert world.rows("m") == [(1, 0), (1, 1), (1, 2)]


def test_padded_and_nested_columns(world: World) -> None:
    columns = (Column("c", "char(4)"), Column("s", "struct<x:int,y:array<string>>"))
    query = (
        "SELECT 'ab' AS c, named_struct('x', 1, 'y', array('p', NULL)) AS s UNION "
        "SELECT trim(c), named_struct('x', s.x + 1, 'y', s.y) FROM m WHERE s.x < 3"
    )
    result = world.run(world.member("m", query, columns))
    assert result.iterations == 4
    assert [row[0] for row in world.rows("m")] == ["ab  "] * 3


def test_rows_that_only_support_each_other_disappear(world: World) -> None:
    member = world.member(
        "reach",
        "SELECT b AS a FROM edge WHERE a = 0 UNION SELECT e.b FROM reach r JOIN edge e ON r.a = e.a",
        (Column("a", "int"),),
    )
    world.edges((0, 1), (1, 2), (2, 1))
    world.run(member)
    assert world.rows("reach") == [(1,), (2,)]
    world.edges((1, 2), (2, 1))
    world.run(member)
    assert world.rows("reach") == []


def test_rows_that_arrive_meanwhile_are_found_by_the_full_pass(world: World) -> None:
    world.edges(*CHAIN)

    def arrive(number: int, rows: int) -> None:
        if number == 3:
            world.spark.sql(f"INSERT INTO {world.schema}.edge VALUES (0, 1)")

    result = run_fixpoint(
        world.spark, [world.member("tc", LINEAR)], data_schema=world.data, max_iterations=50,
        attempt=new_attempt(), on_pass=arrive,
    )  # fmt: skip
    assert world.rows("tc") == ordered(closure({*CHAIN, (0, 1)}))
    assert result.late > 0


# What goes wrong


def test_the_cap_publishes_nothing(world: World) -> None:
    world.edges(*CHAIN)
    counter = world.member("n", "SELECT 1 AS a UNION SELECT a + 1 FROM n", (Column("a", "int"),))
    create_empty(world.spark, counter, data_schema=world.data, attempt=new_attempt())
    with pytest.raises(SparkDeployError, match=r"SD823 no fixpoint of .* after 4 passes"):
        world.run(counter, cap=4)
    assert world.rows("n") == []
    assert world.left() == []


def test_the_cap_counts_the_pass_that_adds_nothing(world: World) -> None:
    world.edges(*CHAIN)
    with pytest.raises(SparkDeployError, match="SD823"):
        world.run(world.member("tc", LINEAR), cap=5)
    assert world.run(world.member("tc", LINEAR), cap=6).iterations == 6


def test_a_failing_query_publishes_nothing(world: World) -> None:
    world.edges(*CHAIN)
    query = LINEAR.replace("e.b FROM", "IF(e.b = 5, raise_error('five'), e.b) FROM")
    world.run(world.member("tc", LINEAR))
    before = world.rows("tc")
    with pytest.raises(SparkFailure, match="five"):
        world.run(world.member("tc", query))
    assert world.rows("tc") == before
    assert world.left() == []


def test_a_table_of_that_name_is_not_touched(world: World) -> None:
    with pytest.raises(SparkDeployError, match="there is a table of that name"):
        world.run(world.member("edge", "SELECT a, b FROM edge"))


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("swaps", [0, 1])
def test_a_crash_between_the_swaps_is_completed(
    world: World, monkeypatch: pytest.MonkeyPatch, swaps: int
) -> None:
    world.edges(*CHAIN)
    members = [
        world.member("p", "SELECT a, b FROM edge UNION SELECT a, b FROM q"),
        world.member("q", "SELECT DISTINCT p.a, e.b FROM p JOIN edge e ON p.b = e.a"),
    ]
    for member in members:
        create_empty(world.spark, member, data_schema=world.data, attempt=new_attempt())
    attempt = new_attempt()
    real, done = matview.swap, 0

    def dying(*given: object, **named: object) -> object:
        nonlocal done
        if done == swaps:
            raise Killed
        done += 1
        return real(*given, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(matview, "swap", dying)
        with pytest.raises(Killed):
            world.run(*members, attempt=attempt)
    full = [name for name in ("p", "q") if world.rows(name)]
    assert len(full) == swaps
    assert resume_fixpoint(world.spark, members, data_schema=world.data, attempt=attempt)
    assert world.rows("p") == ordered(closure(set(CHAIN)))
    assert world.rows("q") == ordered(closure(set(CHAIN)) - set(CHAIN))
    assert resume_fixpoint(world.spark, members, data_schema=world.data, attempt=attempt)


def test_an_attempt_without_all_of_its_tables_is_not_published(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.edges(*CHAIN)
    members = [
        world.member("p", "SELECT a, b FROM edge UNION SELECT a, b FROM q"),
        world.member("q", "SELECT DISTINCT a, b FROM p"),
    ]
    attempt = new_attempt()
    real, done = fixpoint.fill, 0

    def dying(*given: object, **named: object) -> None:
        nonlocal done
        if done == 1:
            raise Killed
        done += 1
        real(*given, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(fixpoint, "fill", dying)
        with pytest.raises(Killed):
            world.run(*members, attempt=attempt)
    assert not resume_fixpoint(world.spark, members, data_schema=world.data, attempt=attempt)
    world.run(*members, attempt=attempt)
    assert world.rows("q") == ordered(set(CHAIN))


# allow_circular: unsafe


def test_naive_converges(world: World) -> None:
    """The longest way to each node: an aggregate over a member."""
    world.edges((1, 2), (2, 3), (1, 3), (3, 4))
    query = (
        "SELECT 1 AS a, 0 AS b UNION SELECT e.b, max(m.b) + 1 FROM m JOIN edge e ON m.a = e.a GROUP BY e.b"
    )
    result = world.run(world.member("m", query))
    assert world.rows("m") == [(1, 0), (2, 1), (3, 2), (4, 3)]
    assert result.iterations == 5
    assert world.left() == []


def test_naive_counts_how_often_a_row_occurs(world: World) -> None:
    """By content, and not by the number of rows: each pass has one row, and none is like another."""
    query = "SELECT a + 1 AS a, 0 AS b FROM m WHERE a < 5 UNION ALL SELECT 1, 0 WHERE NOT EXISTS (SELECT 1 FROM m)"
    with pytest.raises(SparkDeployError, match="SD823"):
        world.run(world.member("m", query), cap=4)


def test_oscillation_hits_the_cap(world: World) -> None:
    query = "SELECT DISTINCT 1 AS a, 1 AS b FROM edge WHERE NOT EXISTS (SELECT 1 FROM m)"
    world.edges(*CHAIN)
    with pytest.raises(SparkDeployError, match="SD823"):
        world.run(world.member("m", query), cap=5)
    assert len(world.passes) == 5
    assert world.left() == []


# Readers, and any graph


def test_readers_never_fail(world: World, sessions: Sessions) -> None:
    world.edges(*CHAIN)
    member = world.member("tc", LINEAR)
    world.run(member)
    stop, seen, failures = threading.Event(), set[object](), list[Exception]()

    def read() -> None:
        with sessions.open() as reader:
            while not stop.is_set():
                try:
                    seen.add(reader.sql(f"SELECT count(*) AS n FROM {world.schema}.tc")[0]["n"])
                except SparkFailure as failure:
                    failures.append(failure)

    reader = threading.Thread(target=read)
    reader.start()
    world.edges((1, 2))
    world.run(member)
    with pytest.raises(SparkDeployError):
        world.run(member, cap=1)
    stop.set()
    reader.join()
    assert failures == []
    assert seen <= {15, 1}


nodes = st.one_of(st.integers(1, 6), st.none())


@given(pairs=st.lists(st.tuples(nodes, nodes), max_size=9), query=st.sampled_from(sorted(CLOSURES)))
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_graph(world: World, pairs: list[Pair], query: str) -> None:
    world.edges(*pairs)
    result = world.run(world.member("tc", CLOSURES[query].format(schema=world.schema)))
    assert world.rows("tc") == ordered(closure(set(pairs)))
    assert result.late == 0
    assert len(data_tables(world.spark, (world.schema, "tc"), data_schema=world.data)) >= 1

"""Materialized views that depend on each other, computed together until nothing is new.

Semi-naive: from empty, each pass looks only for what follows from the rows that the last pass
has added. Each reference to a member is replaced in turn by these rows, and the others by all
contents, which include them. A full pass over all contents ends it: what that still finds (a
table outside has got rows meanwhile) is a pass like any other. Members that are not known to be
monotone are computed naively, each pass from the contents of the last, until two are equal.

Rows are compared by content. Everything is published after that, or nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..core.diagnostics import problem
from ..core.names import SESSION_CATALOG, ObjectName, display, quote, quote_part
from ..core.polarity import refusals
from ..core.rewrite import MemberOf, Template, template
from .matview import (
    RETENTION,
    Member,
    check_name,
    create_table,
    data_table,
    enter,
    fill,
    is_ready,
    projection,
    publish,
)
from .session import Spark, SparkFailure
from .staging import Contents, Stage

__all__ = ["FixpointResult", "Member", "resume_fixpoint", "run_fixpoint"]

OnPass = Callable[[int, int], None]
"""Called after each pass with its number and how many rows it has added (naive: has)."""


@dataclass(frozen=True, slots=True)
class FixpointResult:
    """How a fixpoint was reached. ``rows`` are, for each pass, the rows that it added to each
    member (naive: that each member had then), ``late`` those that only a full pass has found."""

    iterations: int
    rows: tuple[Mapping[str, int], ...]
    converged: bool = True
    late: int = 0


def run_fixpoint(
    spark: Spark,
    members: Sequence[Member],
    *,
    data_schema: str,
    max_iterations: int,
    attempt: str,
    retention: float = RETENTION,
    on_pass: OnPass | None = None,
    now: datetime | None = None,
) -> FixpointResult:
    """Compute the members of one component, and let readers have all of them.

    Raises ``SparkDeployError``, and publishes nothing, if ``max_iterations`` passes are not enough.
    """
    for member in members:
        check_name(spark, member.physical)
    table = data_table(members[0].physical, f"{attempt}stage")
    stage = Stage(spark, data_schema=data_schema, table=table, attempt=attempt)
    try:
        evaluation = _Evaluation(spark, members, stage, max_iterations, on_pass)
        result = evaluation.run()
        for member, relation in evaluation.results():
            create_table(spark, member, data_schema=data_schema, attempt=attempt)
            fill(spark, member, relation, data_schema=data_schema, attempt=attempt)
    except BaseException:
        with contextlib.suppress(SparkFailure):  # the first failure is the one to tell of
            stage.close()
        raise
    stage.close()
    publish(spark, members, data_schema=data_schema, attempt=attempt, retention=retention, now=now)
    return result


def resume_fixpoint(
    spark: Spark,
    members: Sequence[Member],
    *,
    data_schema: str,
    attempt: str,
    retention: float = RETENTION,
    now: datetime | None = None,
) -> bool:
    """Publish an attempt that died when all of its data tables were complete; False if they are not."""
    if not all(is_ready(spark, member, data_schema=data_schema, attempt=attempt) for member in members):
        return False
    publish(spark, members, data_schema=data_schema, attempt=attempt, retention=retention, now=now)
    return True


@dataclass(slots=True)
class _State:
    """A member, its query cut at its references, and what it holds so far."""

    member: Member
    whole: Template
    parts: tuple[Template, ...]
    contents: Contents
    delta: str | None = None


class _Evaluation:
    def __init__(
        self,
        spark: Spark,
        members: Sequence[Member],
        stage: Stage,
        max_iterations: int,
        on_pass: OnPass | None,
    ) -> None:
        self.spark = spark
        self.stage = stage
        self.max_iterations = max_iterations
        self.on_pass = on_pass
        self.rows: list[Mapping[str, int]] = []
        self.late = 0
        self.schema: tuple[str, ...] | None = None  # the current one, as far as we know
        self.states: dict[ObjectName, _State] = {}
        self.monotone = True
        for number, member in enumerate(members):
            member_of = _resolver(member, members)
            whole = template(member.query, member_of)
            contents = Contents(stage, f"m{number}", member.columns)
            self.states[member.name] = _State(member, whole, whole.branches, contents)
            self.monotone = self.monotone and not refusals(_statement(member), _shown(member_of))

    def run(self) -> FixpointResult:
        if self.monotone:
            self.semi_naive()
        else:
            self.naive()
        return FixpointResult(len(self.rows), tuple(self.rows), late=self.late)

    def results(self) -> Iterator[tuple[Member, str]]:
        for state in self.states.values():
            yield state.member, state.contents.relation

    # Semi-naive

    def semi_naive(self) -> None:
        self.add({state.member.name: self.full(state) for state in self.states.values()})
        for state in self.states.values():
            state.parts = self.separable(state)
        while True:
            while any(state.delta for state in self.states.values()):
                self.add(
                    {
                        state.member.name: query
                        for state in self.states.values()
                        if (query := self.following(state)) is not None
                    }
                )
            before = len(self.rows)
            self.add({state.member.name: self.full(state) for state in self.states.values()}, confirm=True)
            if len(self.rows) == before:
                return
            self.late += sum(self.rows[-1].values())

    def add(self, queries: Mapping[ObjectName, str], *, confirm: bool = False) -> None:
        """One pass: the rows of each query that are not there yet. Nobody sees those of the others."""
        chunks: dict[ObjectName, str] = {}
        for name, query in queries.items():
            state = self.states[name]
            self.enter(state.member)
            chunks[name] = state.contents.add(query)
        counts = self.counts(chunks)
        for state in self.states.values():
            state.delta = None
        for name, chunk in chunks.items():
            if counts[name]:
                self.states[name].contents.take(chunk, counts[name])
                self.states[name].delta = chunk
        if not confirm or any(counts.values()):
            self.passed(counts)

    def full(self, state: _State) -> str:
        """The author's query over all contents."""
        return self.rendered(state, state.whole, None)

    def following(self, state: _State) -> str | None:
        """What may follow from the last pass: one query for each reference to rows that are new."""
        queries = [
            self.rendered(state, part, number)
            for part in state.parts
            for number, name in enumerate(part.slots)
            if self.states[name].delta
        ]
        return f"({' UNION ALL '.join(queries)})" if queries else None

    def rendered(self, state: _State, part: Template, newest: int | None) -> str:
        relations = [
            (self.states[name].delta or "") if number == newest else self.states[name].contents.relation
            for number, name in enumerate(part.slots)
        ]
        return projection(state.member.columns, f"(\n{part.render(relations)}\n)")

    def separable(self, state: _State) -> tuple[Template, ...]:
        """The branches of a union, if they may be asked one by one: their types are the same."""
        if not state.parts:
            return (state.whole,)
        self.enter(state.member)
        types = []
        for part in state.parts:
            relations = [self.states[name].contents.relation for name in part.slots]
            schema = self.spark.schema(part.render(relations))
            types.append([field["type"] for field in schema["fields"]])
        return state.parts if all(some == types[0] for some in types) else (state.whole,)

    # Naive

    def naive(self) -> None:
        while True:
            written: dict[ObjectName, str] = {}
            for name, state in self.states.items():
                self.enter(state.member)
                turn = f"{state.contents.name}_{len(self.rows) % 2}"
                written[name] = self.stage.write(turn, state.member.columns, self.full(state))
            changed = self.counts(
                {
                    name: f"(({_all(old)} EXCEPT ALL {_all(new)}) UNION ALL ({_all(new)} EXCEPT ALL {_all(old)}))"
                    for name, new in written.items()
                    for old in [self.states[name].contents.relation]
                }
            )
            for name, chunk in written.items():
                self.states[name].contents.chunks = (chunk,)
            self.passed(self.counts(written), more=any(changed.values()))
            if not any(changed.values()):
                return

    # Both

    def passed(self, counts: Mapping[ObjectName, int], *, more: bool | None = None) -> None:
        shown = {str(name): counts.get(name, 0) for name in self.states}
        self.rows.append(shown)
        total = sum(shown.values())
        if self.on_pass is not None:
            self.on_pass(len(self.rows), total)
        if len(self.rows) >= self.max_iterations and (total > 0 if more is None else more):
            raise problem(
                "SD823",
                f"no fixpoint of {', '.join(map(str, self.states))} after {self.max_iterations} passes: "
                f"the last one {'added' if self.monotone else 'had'} {total} rows. Nothing was published",
                advice="Raise max_fixpoint_iterations, or look for a query that makes new values without end.",
            )

    def counts(self, relations: Mapping[ObjectName, str]) -> dict[ObjectName, int]:
        """How many rows each relation has, in one question."""
        if not relations:
            return {}
        names = list(relations)
        asked = " UNION ALL ".join(
            f"SELECT {number} AS member, count(*) AS found FROM {relations[name]}"
            for number, name in enumerate(names)
        )
        return {names[row["member"]]: row["found"] for row in self.spark.sql(asked)}

    def enter(self, member: Member) -> None:
        schema = member.physical[:-1]
        if schema != self.schema:
            enter(self.spark, member.physical)
            self.schema = schema


def _all(relation: str) -> str:
    return f"SELECT * FROM {relation}"


def _full_name(physical: tuple[str, ...]) -> tuple[str, ...]:
    folded = tuple(part.casefold() for part in physical)
    return folded if len(folded) > 2 else (SESSION_CATALOG, *folded)


def _resolver(reader: Member, members: Sequence[Member]) -> MemberOf:
    """What the names in the query of a member mean, in the schema that it runs in."""
    known = {_full_name(member.physical): member.name for member in members}
    here = _full_name(reader.physical)[:-1]

    def member_of(parts: tuple[str, ...]) -> ObjectName | None:
        missing = max(len(here) + 1 - len(parts), 0)
        return known.get((*here[:missing], *parts))

    return member_of


def _shown(member_of: MemberOf) -> Callable[[tuple[str, ...]], str | None]:
    def shown(parts: tuple[str, ...]) -> str | None:
        found = member_of(parts)
        return None if found is None else display(found)

    return shown


def _statement(member: Member) -> str:
    """The statement that declares a member, for the judgement whether it is monotone."""
    columns = ", ".join(f"{quote_part(column.name)} {column.type}" for column in member.columns)
    return f"CREATE MATERIALIZED VIEW {quote(member.physical)} ({columns}) AS\n{member.query}"

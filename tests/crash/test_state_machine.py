"""Random repositories, edits, crashes and outside changes: it always converges.

Bounded and the same in every run: each step is a deployment, and a deployment takes its time.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from killing import Killer, resolve
from world import World

from airflow_provider_sparkdeploy.spark.session import ConnectSessions

OPTIONS = "propagation: {schema: false}\non_destructive: allow\n"
BOUNDARIES = (
    "before intent",
    "after intent",
    "sent",
    "returned",
    "after statement",
    "after outcome",
    "after append",
)
_numbers = itertools.count(1)


class Deployments(RuleBasedStateMachine):
    """A table in a script, one that is declared, data, a view over them, and a materialized view
    over that; each in a few versions, any of them may be missing."""

    sessions: ConnectSessions
    killer: Killer

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="sparkdeploy-machine-"))
        prefix = f"m{os.getpid()}_{next(_numbers)}"
        self.world = World(self.place / "repository", self.sessions, prefix, OPTIONS)
        self.inserted = 1  # how many INSERT statements the script has
        self.dirty = True

    def teardown(self) -> None:
        self.apply()
        with self.sessions.open() as spark:
            for end in ("shop", "mart", "log", "data"):
                spark.sql(f"DROP SCHEMA IF EXISTS {self.world.prefix}_{end} CASCADE")
        shutil.rmtree(self.place)

    @initialize()
    def first(self) -> None:
        self.columns, self.rows, self.factor, self.view = 1, 1, 1, True
        self._write()

    def _write(self) -> None:
        changes = ["-- //// CHANGE name=init\nCREATE TABLE ${shop}.log (id INT) USING parquet;\n"]
        changes += [
            f"-- //// CHANGE name=n{n}\nINSERT INTO ${{shop}}.log VALUES ({n});\n"
            for n in range(1, self.inserted + 1)
        ]
        columns = ", ".join(f"c{number} INT" for number in range(self.columns))
        codes = "".join(f"{number},{number * self.factor}\n" for number in range(self.rows))
        query = f"SELECT a.code, b * {self.factor} AS b FROM ${{shop}}.codes a CROSS JOIN ${{shop}}.log"
        files: dict[str, str | None] = {
            "shop/table/log.sql": "".join(changes),
            "shop/table/wide.sql": f"CREATE TABLE ${{shop}}.wide ({columns}) USING parquet;\n",
            "shop/data/codes.csv": f"-- //// METADATA keys=code\ncode:int,b:int\n{codes}",
            "shop/view/both.sql": f"CREATE VIEW ${{shop}}.both AS {query};\n",
            "shop/materialized_view/sums.sql": "CREATE MATERIALIZED VIEW ${shop}.sums AS SELECT count(*) AS n, sum(b) AS b FROM ${shop}.both;\n",
        }
        if not self.view:
            for name in ("shop/view/both.sql", "shop/materialized_view/sums.sql"):
                files[name] = None
                (self.world.folder / name).parent.mkdir(parents=True, exist_ok=True)
                (self.world.folder / name).touch()
        self.world.write(files)
        self.dirty = True

    # What happens

    @rule(columns=st.integers(1, 3), rows=st.integers(0, 3), factor=st.integers(1, 3), view=st.booleans())
    def edit(self, columns: int, rows: int, factor: int, view: bool) -> None:
        self.columns, self.rows, self.factor, self.view = columns, rows, factor, view
        self._write()

    @precondition(lambda self: self.inserted < 3)
    @rule()
    def add_a_change(self) -> None:
        self.inserted += 1
        self._write()

    @rule(
        name=st.sampled_from(["wide", "codes", "both", "sums", "log"]), how=st.sampled_from(["drop", "alter"])
    )
    def outside(self, name: str, how: str) -> None:
        """Somebody drops or alters something by hand."""
        if not self._has_schema() or name not in self.world.relations_names():
            return
        noun = "VIEW" if name in ("both", "sums") else "TABLE"
        if how == "drop":
            self.world.sql(f"DROP {noun} {{shop}}.{name}")
        elif noun == "VIEW":
            self.world.sql(f"ALTER VIEW {{shop}}.{name} AS SELECT 1 AS code, 1 AS b")
        elif name == "wide":
            self.world.sql("ALTER TABLE {shop}.wide ADD COLUMNS (foreign INT)")
        elif name == "log":
            self.world.sql("COMMENT ON TABLE {shop}.log IS 'somebody was here'")
        self.dirty = True

    def _has_schema(self) -> bool:
        return bool(self.world.sql(f"SHOW SCHEMAS LIKE '{self.world.schema}'"))

    @rule(boundary=st.sampled_from(BOUNDARIES), spared=st.integers(0, 4), nth=st.integers(1, 3))
    def crash(self, boundary: str, spared: int, nth: int) -> None:
        """A deployment is killed somewhere; what is uncertain then is decided by looking."""
        planned = [operation.id for operation in self.world.plan().plan.operations]
        crash = self.killer.deploy(self.world, boundary, spared=planned[:spared], nth=nth)
        self._decide(crash.answer)
        self.dirty = True

    def _decide(self, answer: dict[str, list[tuple[str, str]]]) -> None:
        for code, message in answer.get("errors", ()):
            assert code == "SD810", answer
            operation = message.split()[0]
            number = operation.split(".")[-2].removeprefix("n")
            there = self.world.rows(f"SELECT * FROM {{shop}}.log WHERE id = {number}")
            resolve(self.world, operation, "applied" if there else "rerun")

    # What holds

    @rule()
    def apply(self) -> None:
        """It converges, whatever was before, and then there is nothing to do."""
        for _ in range(4):
            crash = self.killer.deploy(self.world, "never")
            if not crash.errors:
                break
            self._decide(crash.answer)
        assert not crash.answer["failed"], crash.answer
        assert self.world.pending() == []
        self._is_right()
        self.dirty = False

    def _is_right(self) -> None:
        rows = self.world.rows
        assert rows("SELECT id FROM {shop}.log") == [(n,) for n in range(1, self.inserted + 1)]
        assert len(rows("DESCRIBE TABLE {shop}.wide")) == self.columns
        assert rows("SELECT * FROM {shop}.codes") == [(n, n * self.factor) for n in range(self.rows)]
        assert ("both" in self.world.relations_names()) == self.view
        if self.view:
            expected = [(self.rows * self.inserted, _total(self.rows, self.factor, self.inserted))]
            assert rows("SELECT * FROM {shop}.sums") == expected

    @invariant()
    def the_log_can_be_read(self) -> None:
        assert self.world.content().problems == () or self.dirty


def _total(rows: int, factor: int, inserted: int) -> int | None:
    return sum(n * factor * factor * inserted for n in range(rows)) if rows else None


def test_it_always_converges(sessions: ConnectSessions, killer: Killer) -> None:
    Deployments.sessions, Deployments.killer = sessions, killer

    run_state_machine_as_test(
        Deployments,
        settings=settings(
            max_examples=5, stateful_step_count=8, deadline=None, derandomize=True, database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip

"""The rows of a fixpoint while it is computed: files beside the data tables, read by temporary views.

A view of a view would have Spark expand all passes before the last one, which soon is too much
for it; rows that are written out have no past. They are written as files of no table, because
Spark asks the metastore at each turn for what is in a table. The files lie in the folder of one
table that stays empty: dropping it removes them, and whoever finds it left behind by a crash
knows what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from ..core.names import in_session_catalog, quote_literal, quote_part
from ..core.objects import Column
from .matview import OBJECT, describe, qualified
from .session import Spark

_CHUNKS = 8  # of which contents are made; each is a scan in every plan that reads them
_MANY = 200_000  # rows, from which on it pays to write what was found before it is compared with them


class Stage:
    """A folder for the rows of an attempt, and the views of this session that read them."""

    def __init__(self, spark: Spark, *, data_schema: str, table: str, attempt: str) -> None:
        self.spark = spark
        self.table = qualified(data_schema, table)
        self.prefix = f"sparkdeploy_{attempt}"
        self.views: set[str] = set()
        spark.sql(f"CREATE SCHEMA IF NOT EXISTS {in_session_catalog(data_schema)}")
        spark.sql(f"DROP TABLE IF EXISTS {self.table}")
        spark.sql(
            f"CREATE TABLE {self.table} (nothing INT) USING parquet "
            f"TBLPROPERTIES ({quote_literal(OBJECT)} = 'rows of a fixpoint that is being computed')"
        )
        detail = describe(spark, self.table)
        assert detail is not None, "the table was made just now"
        self.folder = detail["Location"].rstrip("/")

    def write(self, name: str, columns: Sequence[Column], query: str) -> str:
        """Keep the rows of a query under a name, in place of what it stood for; gives the view of them."""
        view = self.view(name)
        path = f"{self.folder}/{name}"
        self.spark.sql(f"INSERT OVERWRITE DIRECTORY {quote_literal(path)} USING parquet {query}")
        declared = ", ".join(f"{quote_part(column.name)} {column.type}" for column in columns)
        self.spark.sql(
            f"CREATE OR REPLACE TEMPORARY VIEW {view} ({declared}) USING parquet "
            f"OPTIONS (path {quote_literal(path)})"
        )
        self.views.add(view)
        return view

    def view(self, name: str) -> str:
        return quote_part(f"{self.prefix}_{name}")

    def close(self) -> None:
        for view in sorted(self.views):
            self.spark.sql(f"DROP VIEW IF EXISTS {view}")
        self.spark.sql(f"DROP TABLE IF EXISTS {self.table}")


@dataclass(slots=True)
class Contents:
    """The rows of one member so far: a few chunks, the last of which may be the newest rows.

    Each pass reads all of them once, so to write all of them anew after every ``_CHUNKS`` passes
    costs little, and no plan grows with the number of passes.
    """

    stage: Stage
    name: str
    columns: tuple[Column, ...]
    chunks: tuple[str, ...] = ()
    rows: int = 0

    @property
    def relation(self) -> str:
        return self._of(self.chunks)

    def add(self, query: str) -> str:
        """Keep those rows of a query that are new, apart until ``take``; gives the relation that reads them.

        Spark can send the right side of an EXCEPT to all workers, but not the left one, and the
        right one are all contents. Once they are many, what was found is written first, so that
        Spark knows how little it is, and the contents are reduced to the rows that are in it. What
        was found has no row twice, so an anti join is an EXCEPT without the work against that.
        """
        if self.rows < _MANY:
            return self._write(f"{query} EXCEPT SELECT * FROM {self.relation}")
        found = self._write(f"SELECT DISTINCT * FROM ({query})")
        names = [quote_part(column.name) for column in self.columns]
        same = " AND ".join(f"old.{name} <=> found.{name}" for name in names)
        known = f"SELECT old.* FROM {self.relation} AS old LEFT SEMI JOIN {found} AS found ON {same}"
        return self._write(
            f"SELECT found.* FROM {found} AS found LEFT ANTI JOIN ({known}) AS old ON {same}", found
        )

    def take(self, chunk: str, rows: int) -> None:
        """Rows that were added become part of the contents."""
        self.rows += rows
        self.chunks = (*self.chunks, chunk)
        if len(self.chunks) > _CHUNKS:
            older, newest = self.chunks[:-1], self.chunks[-1]
            # The newest rows stay a chunk of their own: the next pass asks for them alone.
            self.chunks = (self._write(f"SELECT * FROM {self._of(older)}"), newest)

    def _write(self, query: str, *reads: str) -> str:
        """Keep rows under the first name that is free: nothing lives there, and the query reads it not."""
        for number in count():
            name = f"{self.name}_{number}"
            if self.stage.view(name) not in (*self.chunks, *reads):
                return self.stage.write(name, self.columns, query)
        raise AssertionError("numbers do not end")

    def _of(self, chunks: Sequence[str]) -> str:
        if not chunks:
            items = ", ".join(
                f"CAST(NULL AS {column.type}) AS {quote_part(column.name)}" for column in self.columns
            )
            return f"(SELECT {items} WHERE false)"
        if len(chunks) == 1:
            return chunks[0]
        return f"({' UNION ALL '.join(f'SELECT * FROM {chunk}' for chunk in chunks)})"

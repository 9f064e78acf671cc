"""Deterministic repositories of any size, for benchmarks: same count, same bytes.

    python benchmarks/generate.py 1000 OUT_DIR [--format sparkdeploy|dbt|sqlmesh] [--edit K]

30 % tables, 60 % views, 10 % materialized views, in 20 schemas. Views read 1-4 others;
the longest chain from a table has 15 edges. No two objects share a name, also not across
schemas, because dbt knows models by their bare names.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from random import Random

from formats import WRITERS
from sqltext import EXTRAS, Entry, Kind

SCHEMAS = (
    "sales", "finance", "logistics", "marketing", "support", "inventory", "billing", "crm", "hr", "web",
    "risk", "procurement", "pricing", "partners", "loyalty", "stores", "fraud", "planning", "reporting",
    "core",
)  # fmt: skip
DEPTH = 15
_SEED = 20240229
_NOUNS = (
    "orders", "customers", "payments", "shipments", "invoices", "products", "refunds", "tickets",
    "campaigns", "sessions", "contracts", "stock_levels", "suppliers", "vouchers", "leads", "visits",
)  # fmt: skip
_ASPECTS = ("daily", "by_account", "enriched", "latest", "rolling", "flagged", "history", "open")
# How many others an object reads. Beyond the first, half of them are tables, as in a grown warehouse.
_SOURCES = (1, 1, 1, 2, 2, 2, 3, 4)
_YEAR = re.compile(r"(?<=DATE ')\d{4}")


def catalogue(count: int) -> tuple[Entry, ...]:
    """The objects of a repository of ``count``, tables first, sources before their readers."""
    rng = Random(_SEED)
    tables = max(1, round(count * 0.3)) if count else 0
    materialized = round(count * 0.1)
    queries = count - tables
    stored = set(rng.sample(range(queries), materialized))
    entries = [_table(rng, number) for number in range(tables)]
    layers: list[list[Entry]] = [list(entries)]
    for number, layer in enumerate(_layers(rng, queries)):
        kind: Kind = "materialized_view" if number in stored else "view"
        if layer == len(layers):
            layers.append([])
        entry = _reader(rng, tables + number, kind, layer, layers)
        layers[layer].append(entry)
        entries.append(entry)
    return tuple(entries)


def generate(count: int, out: Path, *, fmt: str = "sparkdeploy") -> None:
    """Write a repository of ``count`` objects into ``out``, which must be empty or absent."""
    if out.exists() and any(out.iterdir()):
        raise FileExistsError(f"{out} is not empty; choose a new folder")
    WRITERS[fmt](catalogue(count), out)


def unread(count: int) -> set[str]:
    """The names of what nothing else reads, in a repository of ``count``."""
    entries = catalogue(count)
    return {entry.name for entry in entries} - {source.name for entry in entries for source in entry.sources}


def edit(out: Path, count: int, among: Collection[str] | None = None) -> list[Path]:
    """Change a literal in ``count`` views, spread evenly; every call changes the same ones again.
    ``among`` names those that it may choose from; all of them where it is not given."""
    views = sorted(path for path in out.glob("*/view/*.sql") if among is None or path.stem in among)
    count = min(count, len(views))
    chosen = [views[number * len(views) // count] for number in range(count)]
    for path in chosen:
        text = path.read_text(encoding="utf-8")
        text = _YEAR.sub(lambda year: str(int(year[0]) + 1), text, count=1)
        path.write_text(text, encoding="utf-8", newline="\n")
    return chosen


def statements(out: Path) -> Iterator[str]:
    """Every statement of a generated repository. Knows this generator's habits, not SQL: a
    statement ends where a line ends with ``;``, and only there."""
    for path in sorted(out.glob("*/*/*.sql")):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        text = "".join(line for line in lines if not line.startswith("//"))
        yield from (sql for sql in text.split(";\n") if sql.strip())


def _layers(rng: Random, queries: int) -> list[int]:
    """A layer for each query, lower ones first: one of each, the rest mostly near the tables."""
    spine = list(range(1, min(DEPTH, queries) + 1))
    weights = [0.8**layer for layer in range(len(spine))]
    return sorted(spine + rng.choices(spine, weights, k=queries - len(spine)) if spine else [])


def _table(rng: Random, number: int) -> Entry:
    name = f"{rng.choice(_NOUNS)}_{number:06d}"
    extras = tuple(rng.sample(EXTRAS, rng.randint(4, 7)))
    return Entry(SCHEMAS[number % len(SCHEMAS)], name, "table", 0, (), extras, rng.getrandbits(32))


def _reader(rng: Random, number: int, kind: Kind, layer: int, layers: list[list[Entry]]) -> Entry:
    name = f"{rng.choice(_NOUNS)}_{rng.choice(_ASPECTS)}_{number:06d}"
    # The first source is what puts it into its layer; the others come from anywhere below.
    sources = [rng.choice(layers[layer - 1])]
    for _ in range(rng.choice(_SOURCES) - 1):
        below = 0 if rng.random() < 0.5 else rng.randrange(layer)
        source = rng.choice(layers[below])
        if source not in sources:
            sources.append(source)
    schema = SCHEMAS[number % len(SCHEMAS)]
    return Entry(schema, name, kind, layer, tuple(sources), (), rng.getrandbits(32))


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a generated repository.")
    parser.add_argument("count", type=int, metavar="N", help="number of objects")
    parser.add_argument("out", type=Path, metavar="OUT_DIR")
    parser.add_argument("--format", choices=sorted(WRITERS), default="sparkdeploy")
    parser.add_argument(
        "--edit", type=int, metavar="K", help="change K views; OUT_DIR is made if it is not there"
    )
    arguments = parser.parse_args()
    if arguments.edit is None or not arguments.out.exists():
        generate(arguments.count, arguments.out, fmt=arguments.format)
    if arguments.edit is not None:
        for path in edit(arguments.out, arguments.edit):
            print(path)


if __name__ == "__main__":
    main()

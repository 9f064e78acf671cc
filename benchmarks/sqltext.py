"""The SQL of generated objects: Spark SQL that a catalog would accept, different per object.

Every object has the columns of ``CONTRACT``, so any object can be read by any other and
nothing has to be checked while writing. Names are rendered by the caller, because the
same query is also written for tools that spell references differently.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Literal, NamedTuple

Kind = Literal["table", "view", "materialized_view"]


class Column(NamedTuple):
    name: str
    type: str


CONTRACT = (
    Column("id", "BIGINT"),
    Column("account_id", "BIGINT"),
    Column("event_date", "DATE"),
    Column("status", "STRING"),
    Column("amount", "DECIMAL(18, 2)"),
    Column("updated_at", "TIMESTAMP"),
)
EXTRAS = (
    Column("region", "STRING"),
    Column("channel", "STRING"),
    Column("currency", "STRING"),
    Column("note", "STRING"),
    Column("tags", "STRING"),
    Column("email", "STRING"),
    Column("quantity", "INT"),
    Column("priority", "INT"),
    Column("weight_kg", "DOUBLE"),
    Column("discount", "DECIMAL(5, 4)"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One object to write. ``layer`` is its distance from the tables; ``seed`` fixes its text."""

    schema: str
    name: str
    kind: Kind
    layer: int
    sources: tuple[Entry, ...]
    extras: tuple[Column, ...]
    seed: int


NameOf = Callable[[Entry], str]

_STATUSES = (
    "open", "paid", "shipped", "cancelled", "on hold", "can\\'t ship",
    "returned; partly", "n/a", "-- none --",
)  # fmt: skip
_PURPOSES = (
    "Feeds the weekly business review",
    "Used by account managers; don't change columns without asking them",
    "Input of the forecast, refreshed every night",
    "Keeps the rules of finance in one place",
    "Agreed with the data office: one row per business event",
    "Replaces the spreadsheet 'accounts (final) v2'",
)
_STATUS = (
    "upper(trim({a}.status))",
    "coalesce(nullif({a}.status, ''), '{s}')",
    "regexp_replace(lower({a}.status), '[^a-z0-9]+', '_')",
    "CASE WHEN {a}.status IN ('{s}', '{t}') THEN 'active' "
    "WHEN {a}.amount < 0 THEN 'reversed' ELSE {a}.status END",
    "concat_ws('-', substring({a}.status, 1, 3), CAST({a}.account_id % 7 AS STRING))",
    "if({a}.status = '{s}', 'other', initcap({a}.status))",
)
_AMOUNT = (
    "round({a}.amount * 1.{n:02d}, 2)",
    "nvl({a}.amount, 0)",
    "greatest({a}.amount, 0) - least(coalesce({a}.amount, 0), {n})",
    "abs({a}.amount) / nullif({n}, 0)",
    "CASE WHEN {a}.status <=> '{s}' THEN 0 ELSE {a}.amount END",
)
_MEASURE = (
    "datediff(current_date(), {a}.event_date)",
    "months_between({a}.updated_at, {a}.event_date)",
    "year({a}.event_date) * 100 + month({a}.event_date)",
    "CAST(sha2(concat('{s}', CAST({a}.id AS STRING)), 256) AS STRING)",
    "date_format(date_trunc('MONTH', {a}.event_date), 'yyyy-MM')",
    "size(filter(split({a}.status, ' '), word -> length(word) > {n}))",
    "unix_timestamp({a}.updated_at) - unix_timestamp(CAST({a}.event_date AS TIMESTAMP))",
    "array_contains(array('{s}', '{t}'), {a}.status)",
    "pmod(xxhash64({a}.id, {a}.account_id), {n})",
    "get_json_object(to_json(named_struct('status', {a}.status, 'day', {a}.event_date)), '$.status')",
)
_OF_STRING = (
    "upper(left({a}.{c}, {n}))",
    "coalesce({a}.{c}, 'unknown {c}')",
    "{a}.{c} RLIKE '^[A-Z]{{2}}-\\\\d+$'",
    "array_join(array_sort(array_distinct(split({a}.{c}, ','))), '|')",
)
_OF_NUMBER = (
    "coalesce({a}.{c}, 0) * {n}",
    "{a}.{c} BETWEEN 1 AND {n}",
    "floor({a}.{c} / {n}.5)",
)
_PREDICATES = (
    "{a}.status <> '{s}'",
    "{a}.amount > {n}",
    "{a}.updated_at > current_timestamp() - INTERVAL {n} DAYS",
    "NOT ({a}.status LIKE '{s}%' AND {a}.amount IS NULL)",
    "{a}.account_id IS NOT NULL",
    "({a}.amount BETWEEN {n} AND 99999.99 OR {a}.status IN ('{s}', '{t}'))",
)
_WINDOWS = (
    "sum({a}.amount) OVER (PARTITION BY {a}.account_id ORDER BY {a}.event_date "
    "ROWS BETWEEN {n} PRECEDING AND CURRENT ROW) AS rolling_amount",
    "lag({a}.amount, 1) OVER "
    "(PARTITION BY {a}.account_id ORDER BY {a}.event_date, {a}.id) AS previous_amount",
    "dense_rank() OVER (PARTITION BY {a}.status ORDER BY {a}.amount DESC) AS amount_rank",
    "ntile({n}) OVER (ORDER BY {a}.amount DESC, {a}.id) AS amount_tile",
    "avg({a}.amount) OVER "
    "(PARTITION BY {a}.account_id, date_trunc('QUARTER', {a}.event_date)) AS quarter_average",
)


def table_sql(entry: Entry) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """CREATE, its rollback, and (name, ALTER) for the last two columns of a scripted table."""
    rng = Random(entry.seed)
    name = f"{entry.schema}.{entry.name}"
    *first, second_last, last = entry.extras
    columns = [f"  {column.name} {column.type}" for column in CONTRACT]
    columns += [f"  {column.name} {column.type} COMMENT 'As delivered by the source'" for column in first]
    create = f"CREATE TABLE {name} (\n" + ",\n".join(columns) + "\n)\nUSING parquet"
    if rng.random() < 0.4:
        create += "\nPARTITIONED BY (event_date)"
    create += f"\nCOMMENT '{_text(rng.choice(_PURPOSES))}'"
    alters = tuple(
        (
            f"add_{column.name}",
            f"ALTER TABLE {name} ADD COLUMNS ({column.name} {column.type} COMMENT '{comment}')",
        )
        for column, comment in ((second_last, "Since the second release"), (last, "Asked for by reporting"))
    )
    return create, f"DROP TABLE {name}", alters


def table_stub(entry: Entry) -> str:
    """A query with the columns of a table, for tools whose objects are all queries."""
    columns = (f"  CAST(NULL AS {column.type}) AS {column.name}" for column in (*CONTRACT, *entry.extras))
    return "SELECT\n" + ",\n".join(columns)


def view_sql(entry: Entry, name_of: NameOf) -> str:
    """The CREATE statement of a view or materialized view."""
    rng = Random(entry.seed + 1)
    purpose = rng.choice(_PURPOSES)
    what = "MATERIALIZED VIEW" if entry.kind == "materialized_view" else "VIEW"
    head = f"CREATE {what} {name_of(entry)}"
    if rng.random() < 0.5:
        head += f"\nCOMMENT '{_text(purpose)}'"
    lead = f"-- {purpose}.\n"
    # A name in a comment is not a reference; a planner that believes so is slower and wrong.
    if rng.random() < 0.25:
        lead += f"/* Was {entry.schema}.legacy_{entry.name},\n   see the notes of its owner. */\n"
    return f"{lead}{head}\nAS\n{query(entry, name_of)}"


def query(entry: Entry, name_of: NameOf) -> str:
    """The query of a view: a base, what is joined to it, windows, and a final SELECT."""
    rng = Random(entry.seed)
    main, *others = entry.sources
    unions: list[str] = []
    ctes: list[str] = []
    joins: list[str] = []
    filters: list[str] = []
    columns: list[tuple[str, str]] = []
    for number, other in enumerate(others, 1):
        source = name_of(other)
        match rng.choice(("totals", "totals", "latest", "latest", "exists", "union")):
            case "totals":
                ctes.append(_totals(rng, source, f"totals_{number}"))
                joins.append(_join(rng, f"totals_{number}"))
                columns.append((f"coalesce(totals_{number}.total, 0)", f"total_{number}"))
                columns.append((f"totals_{number}.last_seen", f"last_seen_{number}"))
            case "latest":
                ctes.append(_latest(rng, source, f"latest_{number}"))
                joins.append(_join(rng, f"latest_{number}"))
                columns.append((f"latest_{number}.status", f"status_{number}"))
            case "exists":
                filters.append(_exists(rng, source))
            case _:
                unions.append(_union(rng, source))
    ctes.insert(0, _base(rng, main, name_of(main), unions))
    body = "base"
    if not others or rng.random() < 0.5:
        body = "ranked"
        ctes.insert(1, _ranked(rng))
    final = _summary if entry.kind == "materialized_view" else _rows
    return "WITH " + ",\n".join(ctes) + "\n" + final(rng, body, columns, joins, filters)


def _text(purpose: str) -> str:
    return purpose.replace("'", "\\'")


def _fill(rng: Random, choices: tuple[str, ...], alias: str, column: str = "") -> str:
    s, t = rng.sample(_STATUSES, 2)
    return rng.choice(choices).format(a=alias, c=column, n=rng.randint(2, 90), s=s, t=t)


def _date(rng: Random) -> str:
    return f"DATE '{rng.randint(2015, 2022)}-{rng.randint(1, 12):02d}-01'"


def _base(rng: Random, main: Entry, source: str, unions: list[str]) -> str:
    measure = _fill(rng, _MEASURE, "b")
    if main.extras:
        column = rng.choice(main.extras)
        measure = _fill(rng, _OF_STRING if column.type == "STRING" else _OF_NUMBER, "b", column.name)
    lines = [
        "base AS (",
        "  SELECT",
        "    b.id, b.account_id, b.event_date, b.updated_at,",
        f"    {_fill(rng, _STATUS, 'b')} AS status,",
        f"    {_fill(rng, _AMOUNT, 'b')} AS amount,",
        f"    CAST({measure} AS STRING) AS measure",
        f"  FROM {source} AS b",
        f"  WHERE b.event_date >= {_date(rng)}",
        f"    AND {_fill(rng, _PREDICATES, 'b')}",
        *unions,
        ")",
    ]
    return "\n".join(lines)


def _union(rng: Random, source: str) -> str:
    return (
        "  UNION ALL\n"
        "  SELECT u.id, u.account_id, u.event_date, u.updated_at, u.status, u.amount,\n"
        f"    CAST({_fill(rng, _MEASURE, 'u')} AS STRING)\n"
        f"  FROM {source} AS u\n"
        f"  WHERE {_fill(rng, _PREDICATES, 'u')}"
    )


def _totals(rng: Random, source: str, name: str) -> str:
    return (
        f"{name} AS (\n"
        "  SELECT t.account_id,\n"
        f"    sum({_fill(rng, _AMOUNT, 't')}) AS total,\n"
        "    max(t.event_date) AS last_seen\n"
        f"  FROM {source} AS t\n"
        f"  WHERE {_fill(rng, _PREDICATES, 't')}\n"
        "  GROUP BY t.account_id\n"
        f"  HAVING count(DISTINCT t.id) < {rng.randint(100, 9000)} -- test accounts have more\n"
        ")"
    )


def _latest(rng: Random, source: str, name: str) -> str:
    return (
        f"{name} AS (\n"
        "  SELECT n.account_id, n.status FROM (\n"
        f"    SELECT l.account_id, {_fill(rng, _STATUS, 'l')} AS status,\n"
        "      row_number() OVER (PARTITION BY l.account_id ORDER BY l.updated_at DESC, l.id) AS place\n"
        f"    FROM {source} AS l\n"
        "  ) AS n WHERE n.place = 1\n"
        ")"
    )


def _exists(rng: Random, source: str) -> str:
    negated = "NOT " if rng.random() < 0.3 else ""
    return (
        f"{negated}EXISTS (\n"
        f"    SELECT 1 FROM {source} AS e\n"
        f"    WHERE e.account_id = f.account_id AND {_fill(rng, _PREDICATES, 'e')}\n"
        "  )"
    )


def _join(rng: Random, name: str) -> str:
    how = rng.choice(("LEFT JOIN", "LEFT JOIN", "INNER JOIN"))
    return f"{how} {name} ON {name}.account_id = f.account_id"


def _ranked(rng: Random) -> str:
    windows = ",\n    ".join(
        window.format(a="base", n=rng.randint(2, 30)) for window in rng.sample(_WINDOWS, rng.randint(1, 2))
    )
    return (
        "ranked AS (\n"
        "  SELECT base.*,\n"
        f"    {windows},\n"
        "    row_number() OVER "
        "(PARTITION BY base.account_id ORDER BY base.event_date DESC, base.id) AS recency\n"
        "  FROM base\n"
        ")"
    )


def _where(rng: Random, body: str, filters: list[str]) -> list[str]:
    conditions = [f"f.recency <= {rng.randint(1, 50)}"] if body == "ranked" else []
    conditions += filters
    return ["WHERE " + "\n  AND ".join(conditions)] if conditions else []


def _rows(
    rng: Random, body: str, columns: list[tuple[str, str]], joins: list[str], filters: list[str]
) -> str:
    selected = [
        "f.id, f.account_id, f.event_date, f.updated_at, f.status",
        "CAST(f.amount AS DECIMAL(18, 2)) AS amount",
        f"f.measure AS {rng.choice(('bucket', 'label', 'score', 'grade'))}",
        *(f"{expression} AS {name}" for expression, name in columns),
    ]
    return "\n".join(
        ["SELECT", "  " + ",\n  ".join(selected), f"FROM {body} AS f", *joins, *_where(rng, body, filters)]
    )


def _summary(
    rng: Random, body: str, columns: list[tuple[str, str]], joins: list[str], filters: list[str]
) -> str:
    selected = [
        "f.account_id, f.event_date",
        "min(f.id) AS id, max(f.status) AS status, max(f.updated_at) AS updated_at",
        "CAST(sum(f.amount) AS DECIMAL(18, 2)) AS amount",
        "count(DISTINCT f.measure) AS measures",
        *(f"max({expression}) AS {name}" for expression, name in columns),
    ]
    lines = [
        "SELECT",
        "  " + ",\n  ".join(selected),
        f"FROM {body} AS f",
        *joins,
        *_where(rng, body, filters),
    ]
    return "\n".join([*lines, "GROUP BY f.account_id, f.event_date"])

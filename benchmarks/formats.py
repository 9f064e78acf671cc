"""Generated objects as files: a SparkDeploy repository, a dbt project, a SQLMesh project.

All three hold the same objects and the same queries. Where a tool has only queries, a
table is a query of typed NULLs, so that each tool handles as many objects as the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqltext import Entry, query, table_sql, table_stub, view_sql

_SQLMESH_KINDS = {"table": "FULL", "view": "VIEW", "materialized_view": "VIEW (materialized true)"}


def write_sparkdeploy(entries: Sequence[Entry], out: Path) -> None:
    _write(out / "sparkdeploy.yaml", "propagation: {schema: false, compute: false}\n")
    for entry in entries:
        text = _scripted(entry) if entry.kind == "table" else view_sql(entry, _qualified) + ";\n"
        _write(out / entry.schema / entry.kind / f"{entry.name}.sql", text)


def write_dbt(entries: Sequence[Entry], out: Path) -> None:
    schemas = sorted({entry.schema for entry in entries})
    settings = ["name: bench", "profile: bench", "version: '1.0'", "models:", "  bench:"]
    for schema in schemas:
        # dbt-duckdb has no materialized views; parsing does not care which of the two it is.
        settings += [f"    {schema}:", f"      +schema: {schema}", "      +materialized: view"]
        settings += ["      table:", "        +materialized: table"]
    _write(out / "dbt_project.yml", "\n".join(settings) + "\n")
    profile = "bench: {target: dev, outputs: {dev: {type: duckdb, path: bench.duckdb, threads: 4}}}\n"
    _write(out / "profiles.yml", profile)
    for entry in entries:
        body = table_stub(entry) if entry.kind == "table" else query(entry, _dbt_ref)
        _write(out / "models" / entry.schema / entry.kind / f"{entry.name}.sql", body + "\n")


def write_sqlmesh(entries: Sequence[Entry], out: Path) -> None:
    settings = (
        "gateways: {local: {connection: {type: duckdb, database: bench.duckdb}}}\n"
        "default_gateway: local\n"
        "model_defaults: {dialect: spark, start: '2024-01-01'}\n"
        "disable_anonymized_analytics: true\n"
    )
    _write(out / "config.yaml", settings)
    for entry in entries:
        body = table_stub(entry) if entry.kind == "table" else query(entry, _qualified)
        head = f"MODEL (name {_qualified(entry)}, kind {_SQLMESH_KINDS[entry.kind]});\n\n"
        _write(out / "models" / entry.schema / entry.kind / f"{entry.name}.sql", head + body + "\n")


WRITERS = {"sparkdeploy": write_sparkdeploy, "dbt": write_dbt, "sqlmesh": write_sqlmesh}


def _scripted(entry: Entry) -> str:
    create, rollback, alters = table_sql(entry)
    parts = [f"//// CHANGE name=init\n{create};\n// ROLLBACK\n{rollback};\n"]
    parts += [f"//// CHANGE name={name}\n{sql};\n" for name, sql in alters]
    return "\n".join(parts)


def _qualified(entry: Entry) -> str:
    return f"{entry.schema}.{entry.name}"


def _dbt_ref(entry: Entry) -> str:
    return "{{ ref('" + entry.name + "') }}"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")

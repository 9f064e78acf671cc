"""What Spark prints of its catalog, read: also what was made to be misread."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_sparkdeploy.core.objects import Column, TableDef
from airflow_provider_sparkdeploy.core.signature import Signature, stored_signature
from airflow_provider_sparkdeploy.spark.described import (
    Described,
    body_of,
    columns_of,
    columns_of_rows,
    detail_of_rows,
    from_extended,
    from_json,
    from_rows,
    function_of,
    properties_of_text,
)

TAIL = """Location: file:/w/s.db/t
Serde Library: org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe
InputFormat: org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat
OutputFormat: org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat
Partition Provider: Catalog
Partition Columns: [`q`, `P p`]
Schema: root
 |-- a: long (nullable = true)
"""


def table(middle: str, tail: str = TAIL) -> str:
    head = (
        "Catalog: spark_catalog\nDatabase: s\nTable: t\nOwner: o\nCreated Time: Tue\nLast Access: UNKNOWN\n"
    )
    return f"{head}Created By: Spark 4.2.1\nType: MANAGED\nProvider: PARQUET\n{middle}{tail}\n"


def view(middle: str, columns: str = " |-- a: integer (nullable = true)\n") -> str:
    head = "Catalog: spark_catalog\nDatabase: s\nTable: v\nOwner: o\nCreated By: Spark 4.2.1\nType: VIEW\n"
    return f"{head}{middle}Storage Properties: [serialization.format=1]\nSchema: root\n{columns}\n"


def query(text: str, *, output: str = "[`a`]") -> str:
    mode = "View Schema Mode: COMPENSATION\nView Catalog and Namespace: spark_catalog.default\n"
    return f"View Text: {text}\nView Original Text: {text}\n{mode}View Query Output Columns: {output}\n"


def field(name: str, type: Any, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": type, "nullable": True, "metadata": metadata}


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def test_a_table() -> None:
    text = table(
        "Comment: two\nlines\nTable Properties: [k=a=b, sparkdeploy.hash=1:x, transient_lastDdlTime=3]\n"
    )
    assert from_extended(text) == Described(
        "table", TableDef((), "parquet", ("q", "`P p`"), (("k", "a=b"),), "two\nlines"), None, "1:x"
    )


def test_a_comment_that_is_empty_is_a_label_alone() -> None:
    found = from_extended(table("Comment\nTable Properties: [k=v]\n"))
    assert found == Described("table", TableDef((), "parquet", ("q", "`P p`"), (("k", "v"),)))


def test_buckets_and_clusters() -> None:
    buckets = "Num Buckets: 4\nBucket Columns: [`A`, `b``c`]\nSort Columns: [`b``c`]\n"
    bare = TAIL.replace("Partition Columns: [`q`, `P p`]\n", "")
    assert from_extended(table(buckets, bare)).definition.partitioning == (
        "bucket(4,A,`b``c`) sorted by (`b``c`)",
    )
    clusters = 'Table Properties: [clusteringColumns=[["a"],["b","c"]]]\n'
    found = from_extended(table(clusters, bare))
    assert (found.definition.partitioning, found.definition.properties) == (("cluster_by(a,b.c)",), ())


def test_a_view_has_names_and_no_types() -> None:
    found = from_extended(view("Comment: c\n" + query("SELECT 1 AS a")))
    assert found == Described("view", TableDef((Column("a", ""),), comment="c"), "SELECT 1 AS a")
    named = from_extended(view(query("SELECT 1 AS a"), " |-- x y: integer (nullable = true)\n"))
    assert named.definition.columns == (Column("x y", ""),)


@pytest.mark.parametrize(
    "text",
    [
        table("Comment: x\nLocation: there\n"),
        table("Comment: x\nPartition Columns: [`a`]\n"),
        table("Comment: x\nType: VIEW\n"),
        table("Comment: x\nCollation\n"),
        table("Comment: x\nView Text: SELECT 1\n"),
        table("Table Properties: [a=b, c]\n"),
        table("Table Properties: [b=x, a=y]\n"),
        table("Table Properties: [a=b\nc]\n"),
        view(query("SELECT 'x\nView Original Text: y'")),
        view("Comment: View Text\nView Text: SELECT 2\n" + query("SELECT 1")),
    ],
)
def test_what_can_be_read_in_two_ways_is_said_to_be(text: str) -> None:
    assert not from_extended(text).exact


def test_properties_of_text() -> None:
    assert properties_of_text("[]") == ({}, True)
    assert properties_of_text("[a=1, b==, c=[x]]") == ({"a": "1", "b": "=", "c": "[x]"}, True)
    assert not properties_of_text("[k=a, b=c]")[1]


def test_json_leaves_nothing_open() -> None:
    told = {"type": "MANAGED", "provider": "orc", "comment": "Type: VIEW", "partition_columns": ["P p"], "num_buckets": 2,
            "bucket_columns": ["a"], "columns": []}  # fmt: skip
    assert from_json(told, {"k": "a, b=c", "e": "", "sparkdeploy.hash": "h"}) == Described(
        "table",
        TableDef((), "orc", ("`P p`", "bucket(2,a)"), (("e", ""), ("k", "a, b=c")), "Type: VIEW"),
        None,
        "h",
    )
    told = {
        "type": "VIEW",
        "view_text": "SELECT 1",
        "columns": [{"name": "x"}],
        "view_query_output_columns": ["a"],
    }
    assert from_json(told, {}) == Described("view", TableDef((Column("x", ""),)), "SELECT 1")


def test_rows_of_a_catalog_without_json() -> None:
    rows = [
        {"col_name": name, "data_type": value, "comment": comment}
        for name, value, comment in [
            ("Id", "bigint", "the id"),
            ("s", "struct<a:int>", None),
            ("", "", ""),
            ("# Partitioning", "", ""),
            ("Part 0", "bucket(16, Id)", ""),
            ("Part 1", "day(ts)", ""),
            ("", "", ""),
            ("# Detailed Table Information", "", ""),
            ("Type", "MANAGED", ""),
            ("Comment", "c", ""),
            ("Provider", "iceberg", ""),
        ]
    ]
    expected = TableDef((), "iceberg", ("bucket(16,Id)", "days(ts)"), (("k", "v"),), "c")
    assert from_rows(rows, {"k": "v"}) == Described("table", expected)
    assert columns_of_rows(rows) == (Column("Id", "bigint", True, "the id"), Column("s", "struct<a:int>"))


def test_rows_of_plain_partition_columns() -> None:
    pairs = [
        ("a", "int"),
        ("# Partition Information", ""),
        ("# col_name", "data_type"),
        ("a", "int"),
        ("b.`x y`", "int"),
    ]
    rows = [{"col_name": name, "data_type": value, "comment": None} for name, value in pairs]
    assert from_rows(rows, {}).definition.partitioning == ("a", "b.`x y`")


def test_rows_of_buckets() -> None:
    """As Spark 3.5 has them, whose session catalog has no JSON either."""
    pairs = [
        ("id", "int"),
        ("", ""),
        ("# Detailed Table Information", ""),
        ("Type", "MANAGED"),
        ("Provider", "parquet"),
        ("Num Buckets", "4"),
        ("Bucket Columns", "[`id`]"),
        ("Sort Columns", "[`v`]"),
    ]
    rows = [{"col_name": name, "data_type": value, "comment": None} for name, value in pairs]
    assert from_rows(rows, {}).definition.partitioning == ("bucket(4,id) sorted by (v)",)


def test_rows_tell_what_json_would() -> None:
    """Of which Spark 3.5 has none."""
    pairs = [
        ("a", "int"),
        ("", ""),
        ("# Partition Information", ""),
        ("# col_name", "data_type"),
        ("p", "int"),
        ("", ""),
        ("# Detailed Table Information", ""),
        ("Type", "EXTERNAL"),
        ("Provider", "hive"),
        ("Num Buckets", "4"),
        ("Bucket Columns", "[`a`, `b c`]"),
        ("Location", "file:/there"),
        ("InputFormat", "in"),
        ("Storage Properties", "[sep=,, header=true]"),
    ]
    rows = [
        {"col_name": name, "data_type": value, "comment": "c" if name == "a" else None}
        for name, value in pairs
    ]
    assert detail_of_rows(rows) == {
        "columns": [{"name": "a", "comment": "c"}],
        "type": "EXTERNAL",
        "provider": "hive",
        "num_buckets": "4",
        "bucket_columns": ("a", "b c"),
        "location": "file:/there",
        "input_format": "in",
        "storage_properties": {"sep": ",", "header": "true"},
    }
    rows[-1]["data_type"] = "[sep=, , header=true]"
    assert detail_of_rows(rows)["storage_properties"] is None


@pytest.mark.parametrize("of_query", ["[customer, total]", "[`customer`, `total`]"])
def test_rows_of_a_view(of_query: str) -> None:
    pairs = [
        ("", ""),
        ("# Detailed Table Information", ""),
        ("Type", "VIEW"),
        ("View Text", "SELECT 1"),
        ("View Query Output Columns", of_query),
    ]

    def told(*columns: str) -> Described:
        named = [(name, "string") for name in columns]
        rows = [{"col_name": name, "data_type": value, "comment": None} for name, value in [*named, *pairs]]
        return from_rows(rows, {})

    of_query_too = (Column("customer", ""), Column("total", ""))
    assert told("customer", "total") == Described("view", TableDef(of_query_too), "SELECT 1")
    own = (Column("who", ""), Column("much", ""))
    assert told("who", "much") == Described("view", TableDef(own), "SELECT 1")


def test_types_are_spelled_as_declarations_are() -> None:
    collated = {"__COLLATIONS": {"c": "icu.UNICODE_CI"}}
    inner = struct(field("x y", "integer"), field("c", "string", **collated))
    found = columns_of(
        struct(
            field("a", "long", comment="it"),
            field("v", "string", __CHAR_VARCHAR_TYPE_STRING="varchar(3)"),
            field(
                "l",
                {"type": "array", "elementType": "string"},
                __COLLATIONS={"l.element": "spark.UTF8_LCASE"},
            ),
            field("m", {"type": "map", "keyType": "string", "valueType": inner}),
            field("d", "decimal(10,0)"),
            field("i", "interval day to second"),
        )
    )
    assert found == (
        Column("a", "bigint", True, "it"),
        Column("v", "varchar(3)"),
        Column("l", "array<string collate UTF8_LCASE>"),
        Column("m", "map<string,struct<`x y`:int,c:string collate UNICODE_CI>>"),
        Column("d", "decimal(10,0)"),
        Column("i", "interval day to second"),
    )


def test_the_body_of_a_function() -> None:
    rows = [
        {"function_desc": text}
        for text in ("Function:      s.f", "Comment:       c\nBody: 1", "Body:          x\n + 1 ")
    ]
    assert body_of(rows) == "x\n + 1"
    assert body_of([{"function_desc": "Class: com.example.F"}]) is None


def described(inputs: list[str], returns: list[str], kind: str = "SCALAR") -> Signature:
    """The rows of DESCRIBE FUNCTION EXTENDED, read."""
    texts = ["Function:      spark_catalog.s.f", f"Type:          {kind}"]
    for label, lines in (("Input:", inputs), ("Returns:", returns)):
        texts += [f"{label if number == 0 else '':<15}{line}" for number, line in enumerate(lines)]
    texts += ["Comment:       c\nInput:         no INT", "Deterministic: true", "Body:          x + 1"]
    found = function_of([{"function_desc": text} for text in texts])
    assert (found.kind, found.text) == ("function", "x + 1")
    return found.signature


@pytest.mark.parametrize(
    ("inputs", "stored", "parameters"),
    [
        (["()"], {}, ()),
        (["x INT"], {"inputParam": "x INT"}, (Column("x", "int"),)),
        (
            ["amount DECIMAL(12,2)", "rate   DOUBLE       "],
            {"inputParam": "amount DECIMAL(12,2), `rate` DOUBLE"},
            (Column("amount", "decimal(12,2)"), Column("rate", "double")),
        ),
        (
            ["m MAP<STRING, ARRAY<INT>>", "s STRUCT<a: INT, b: STRING>"],
            {"inputParam": "m MAP<STRING, ARRAY<INT>>, s STRUCT<a: INT, b: STRING COLLATE UTF8_BINARY>"},
            (Column("m", "map<string,array<int>>"), Column("s", "struct<a:int,b:string>")),
        ),
        # what is not certain is not known
        (["x INT 'it's'"], {"inputParam": "x INT COMMENT 'it\\'s'"}, None),
        (["x INT DEFAULT 1"], {"inputParam": "x INT DEFAULT 1"}, None),
        (["x   INT", "y y STRING"], {"inputParam": "x INT, `y y` STRING"}, None),
        (["a int, b INT"], {"inputParam": "`a int, b` INT"}, None),
        (["x INT 'a", "b'"], {"inputParam": "x INT COMMENT 'a\nb'"}, None),
    ],
)
def test_the_parameters_of_a_function(
    inputs: list[str], stored: dict[str, str], parameters: tuple[Column, ...] | None
) -> None:
    """The same from both: where many are looked at, Spark is not asked."""
    assert described(inputs, ["INT"]) == Signature(parameters, "int")
    assert stored_signature({**stored, "returnType": "INT", "isTableFunc": "false"}) == Signature(
        parameters, "int"
    )


@pytest.mark.parametrize(
    ("returns", "type"),
    [
        ("DECIMAL(12,2)", "decimal(12,2)"),
        ("ARRAY<STRUCT<x: INT>>", "array<struct<x:int>>"),
        ("INT 'what'", None),
        ("", None),
    ],
)
def test_what_a_function_returns(returns: str, type: str | None) -> None:
    assert described(["()"], [returns]).returns == type
    assert stored_signature({"returnType": returns, "isTableFunc": "false"}).returns == type


def test_what_a_table_function_returns_is_not_looked_at() -> None:
    assert described(["x INT"], ["y INT"], "TABLE") == Signature((Column("x", "int"),))
    kept = {"inputParam": "x INT", "returnType": "y INT", "isTableFunc": "true"}
    assert stored_signature(kept) == Signature((Column("x", "int"),))


def test_a_function_of_another_language_has_no_signature() -> None:
    found = function_of([{"function_desc": "Function: s.f"}, {"function_desc": "Class: com.example.F"}])
    assert (found.text, found.signature) == (None, Signature())

"""Selectors: what each matches, unions and exclusions, and errors that help."""

from __future__ import annotations

import pytest
from sketch import everything, healthy, ids, name, plan, step

from airflow_provider_sparkdeploy.core.diagnostics import Diagnostic, SparkDeployError
from airflow_provider_sparkdeploy.core.graph import build_graph
from airflow_provider_sparkdeploy.core.names import ObjectName
from airflow_provider_sparkdeploy.core.select import Universe, select
from airflow_provider_sparkdeploy.core.state import DeployedObject

FILES = {
    "sales/table/orders.sql": "//// METADATA tags=core,Finance\nCREATE TABLE sales.orders (id INT)",
    "sales/view/big_orders.sql": "//// METADATA tags=core\nCREATE VIEW sales.big_orders AS SELECT id FROM sales.orders",
    "mart/view/report.sql": "CREATE VIEW mart.report AS SELECT id FROM sales.big_orders",
    "mart/materialized_view/totals.sql": "//// METADATA tags=finance\nCREATE MATERIALIZED VIEW mart.totals AS SELECT id FROM sales.orders",
    "ref/data/orders.csv": "-- //// METADATA keys=k\nk,v\n1,1\n",
    "odd.name/view/a b.sql": "CREATE VIEW `odd.name`.`a b` AS SELECT 1 AS x",
}
GONE = name("old.thing")


def universe() -> Universe:
    graph = build_graph(healthy(FILES))
    objects = healthy(FILES).objects
    dependents: dict[ObjectName, tuple[ObjectName, ...]] = {}
    for one, others in graph.depends_on.items():
        for other in others:
            dependents[other] = (*dependents.get(other, ()), one)
    return Universe(
        objects, {GONE: DeployedObject(GONE, "view", ("old", "thing"))}, graph.depends_on, dependents
    )


def chosen(*include: str, exclude: tuple[str, ...] = ()) -> list[str]:
    found = select(universe(), include, exclude)
    assert found is not None
    return sorted(str(one) for one in found)


def refused(*include: str, exclude: tuple[str, ...] = ()) -> Diagnostic:
    with pytest.raises(SparkDeployError) as caught:
        select(universe(), include, exclude)
    (found,) = caught.value.diagnostics
    return found


def test_nothing_given_restricts_nothing() -> None:
    assert select(universe(), (), ()) is None


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("tag:core", ["sales.big_orders", "sales.orders"]),
        ("tag:FINANCE", ["mart.totals", "sales.orders"]),
        ("tag:fin*", ["mart.totals", "sales.orders"]),
        ("schema:mart", ["mart.report", "mart.totals"]),
        ("schema:MART", ["mart.report", "mart.totals"]),
        ("schema:?art", ["mart.report", "mart.totals"]),
        ("schema:old", ["old.thing"]),
        ("kind:view", ["`odd.name`.`a b`", "mart.report", "old.thing", "sales.big_orders"]),
        ("kind:materialized_view", ["mart.totals"]),
        ("path:sales/view/big_orders.sql", ["sales.big_orders"]),
        ("path:sales/view/*", ["sales.big_orders"]),
        ("path:sales", ["sales.big_orders", "sales.orders"]),
        ("path:sales/", ["sales.big_orders", "sales.orders"]),
        ("path:*/view/*", ["`odd.name`.`a b`", "mart.report", "sales.big_orders"]),
        ("sales.orders", ["sales.orders"]),
        ("Sales.ORDERS", ["sales.orders"]),
        ("orders", ["ref.orders", "sales.orders"]),
        ("sales.*", ["sales.big_orders", "sales.orders"]),
        ("*orders", ["ref.orders", "sales.big_orders", "sales.orders"]),
        ("old.thing", ["old.thing"]),
        ("+mart.report", ["mart.report", "sales.big_orders", "sales.orders"]),
        ("sales.big_orders+", ["mart.report", "sales.big_orders"]),
        ("+sales.big_orders+", ["mart.report", "sales.big_orders", "sales.orders"]),
        ("sales.orders+", ["mart.report", "mart.totals", "sales.big_orders", "sales.orders"]),
        ("+kind:materialized_view", ["mart.totals", "sales.orders"]),
        ("tag:core+", ["mart.report", "mart.totals", "sales.big_orders", "sales.orders"]),
    ],
)
def test_what_each_selector_matches(selector: str, expected: list[str]) -> None:
    assert chosen(selector) == sorted(expected)


def test_a_quoted_name_can_be_selected() -> None:
    assert chosen("`odd.name`.`a*b`") == ["`odd.name`.`a b`"]
    assert chosen("schema:odd.name") == ["`odd.name`.`a b`"]


def test_a_dot_in_a_schema_is_not_a_separator() -> None:
    assert "`odd.name`.`a b`" not in chosen("sales.*", "mart.*")


def test_several_selectors_are_a_union() -> None:
    assert chosen("mart.totals", "kind:data") == ["mart.totals", "ref.orders"]
    assert chosen("mart.totals,kind:data") == ["mart.totals", "ref.orders"]
    assert chosen("mart.totals kind:data") == ["mart.totals", "ref.orders"]


def test_exclusions_are_taken_away() -> None:
    assert chosen("schema:mart", exclude=("kind:view",)) == ["mart.totals"]
    assert chosen("+mart.report", exclude=("tag:core",)) == ["mart.report"]
    assert "sales.orders" not in chosen(exclude=("sales.orders",))
    assert "mart.totals" in chosen(exclude=("sales.orders",))
    assert chosen("mart.totals", exclude=("sales.orders+",)) == []


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        ("sales.ordres", "sales.orders"),
        ("tga:core", "tag"),
        ("kind:veiw", "view"),
        ("kind:tables", "table"),
        ("schema:slaes", ""),
        ("tag:nothing", ""),
        ("path:nowhere", ""),
    ],
)
def test_a_selector_that_matches_nothing_is_an_error_with_a_suggestion(selector: str, said: str) -> None:
    found = refused(selector)
    assert found.code == "SD501"
    assert selector in found.message
    assert said in found.advice


@pytest.mark.parametrize("selector", ["tag:", "kind:", ":core", "+", "++"])
def test_a_selector_without_a_value_is_an_error(selector: str) -> None:
    assert refused(selector).code == "SD501"


def test_a_wrong_exclusion_is_an_error_that_says_exclude() -> None:
    found = refused("mart.report", exclude=("slaes.orders",))
    assert found.code == "SD501"
    assert "--exclude" in found.message


def test_a_wrong_schema_gets_the_near_schema() -> None:
    assert "sales" in refused("schema:slaes").advice


def test_a_wrong_tag_gets_the_near_tag() -> None:
    assert "finance" in refused("tag:finanze").advice


def test_a_plan_is_about_the_selection() -> None:
    found = healthy(FILES)
    assert ids(plan(found, {}, select=("sales.orders",))) == ["setup.sales.orders"]
    assert ids(plan(found, {}, select=("+mart.report",))) == [
        "setup.sales.orders",
        "setup.sales.big_orders",
        "setup.mart.report",
    ]
    everything_else = ids(plan(found, everything(found), exclude=("sales.orders",)))
    assert everything_else == []


def test_a_removed_object_can_be_selected_and_dropped() -> None:
    without = {path: text for path, text in FILES.items() if path != "mart/view/report.sql"}
    assert ids(step(FILES, without, select=("mart.report",))) == ["teardown.mart.report"]
    assert ids(step(FILES, without, select=("ref.orders",))) == []


def test_a_removed_object_is_found_through_what_it_depended_on() -> None:
    without = {path: text for path, text in FILES.items() if path != "mart/view/report.sql"}
    assert ids(step(FILES, without, select=("sales.big_orders+",))) == ["teardown.mart.report"]


def test_what_is_not_selected_is_no_seed() -> None:
    after = FILES | {
        "sales/view/big_orders.sql": "CREATE VIEW sales.big_orders AS SELECT id + 1 AS id FROM sales.orders"
    }
    planned = step(FILES, after, select=("mart.*",))
    assert ids(planned) == []
    assert planned.plan.dirty["objects"] == ()


def test_all_wrong_selectors_are_reported_at_once_each_with_advice() -> None:
    with pytest.raises(SparkDeployError) as caught:
        select(universe(), ("slaes.orders", "kind:veiw", "path:nowhere"), ("tga:core",))
    found = caught.value.diagnostics
    assert len(found) == 4
    assert all(item.advice for item in found)


def test_a_blank_or_comma_in_back_quotes_is_part_of_the_name() -> None:
    assert chosen("`odd.name`.`a b`,mart.report") == ["`odd.name`.`a b`", "mart.report"]


@pytest.mark.parametrize(
    ("include", "exclude"), [(("",), ()), ((" , ",), ()), ((), ("",)), (("sales.orders", ""), ())]
)
def test_an_empty_selector_does_not_select_everything(
    include: tuple[str, ...], exclude: tuple[str, ...]
) -> None:
    with pytest.raises(SparkDeployError, match="is empty"):
        select(universe(), include, exclude)

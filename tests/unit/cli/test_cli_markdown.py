"""A plan for a pull request."""

from __future__ import annotations

from cli_calls import Shop, write


def test_nothing_to_do_is_one_line(deployed: Shop) -> None:
    assert deployed.call("plan", "--format", "markdown").stdout == (
        "### SparkDeploy: environment dev\n\nNothing to do: 4 objects as declared.\n"
    )


def test_a_selection_says_nothing_of_the_others(deployed: Shop) -> None:
    deployed.edit("s/view/new.sql", "CREATE VIEW s.new AS SELECT 1 AS x")
    text = deployed.call("plan", "--format", "markdown", "--select", "alone").stdout
    assert "Nothing to do: the 1 selected object, of 5, need nothing." in text


def test_bars_and_back_quotes_do_not_break_the_page(shop: Shop) -> None:
    write(shop.root, {"s/view/a b.sql": "CREATE VIEW s.`a b` AS SELECT '```' || 'x' AS y FROM s.open\n"})
    text = shop.call("plan", "--format", "markdown").stdout
    assert "| setup | `+` | `` s.`a b` `` view | new, s/view/a b.sql:1 |" in text
    assert "````sql\nCREATE VIEW s.`a b` AS SELECT '```' || 'x' AS y FROM s.open\n````" in text


def test_errors_are_in_the_comment_and_on_the_terminal(shop: Shop) -> None:
    write(shop.root, {"s/view/open.sql": "CREATE VIEW s.open AS SELECT ${x|y} FROM s.orders\n"})
    done = shop.call("plan", "--format", "markdown")
    assert done.exit_code == 1
    assert "**There is no plan: 1 error.**" in done.stdout
    assert "- error SD130: `s/view/open.sql:1` undefined token ${x\\|y}" in done.stdout
    assert "SD130" in done.stderr


def test_a_comment_is_never_too_long(shop: Shop) -> None:
    many = {f"t/view/v{n}.sql": f"CREATE VIEW t.v{n} AS SELECT '{'x' * 400}' AS a\n" for n in range(400)}
    write(shop.root, many)
    text = shop.call("plan", "--format", "markdown").stdout
    assert 30_000 < len(text) <= 60_500
    assert "operations more: sparkdeploy plan shows them." in text
    assert text.endswith("</details>\n")
    write(
        shop.root,
        {
            f"u/view/{'long' * 20}{n}.sql": f"CREATE VIEW u.{'long' * 20}{n} AS SELECT 1 AS a\n"
            for n in range(900)
        },
    )
    assert len(shop.call("plan", "--format", "markdown").stdout) <= 60_500

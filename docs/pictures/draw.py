"""Draws the pictures of the documentation: ``python docs/pictures/draw.py [folder]``.

A picture is boxes on a grid and arrows between them. Plain SVG, no fonts and no scripts, on a
light ground of its own, so that it can be read in a dark page too.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 150, 40, 50, 34, 20
FILLS = {
    "plain": ("#ffffff", "#90a4ae"),
    "seed": ("#ffe0b2", "#e65100"),
    "dirty": ("#fff8e1", "#ffa000"),
    "clean": ("#eceff1", "#b0bec5"),
    "drop": ("#ffebee", "#c62828"),
    "make": ("#e8f5e9", "#2e7d32"),
    "group": ("#e3f2fd", "#1565c0"),
}


@dataclass(frozen=True, slots=True)
class Box:
    """A label at a column and a row of the grid; a second line is small."""

    column: float
    row: float
    label: str
    look: str = "plain"
    small: str = ""

    @property
    def left(self) -> float:
        return MARGIN + self.column * (WIDTH + GAP_X)

    @property
    def top(self) -> float:
        return MARGIN + self.row * (HEIGHT + GAP_Y)

    def svg(self) -> str:
        fill, line = FILLS[self.look]
        x, y = self.left + WIDTH / 2, self.top + HEIGHT / 2
        shape = f'<rect x="{self.left:g}" y="{self.top:g}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{fill}" stroke="{line}" stroke-width="1.5"/>'
        if not self.small:
            return f'{shape}<text x="{x:g}" y="{y + 4:g}">{escape(self.label)}</text>'
        return (
            f'{shape}<text x="{x:g}" y="{y - 2:g}">{escape(self.label)}</text>'
            f'<text class="small" x="{x:g}" y="{y + 13:g}">{escape(self.small)}</text>'
        )


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one box to another, by label; ``cut`` is an arrow that leads nowhere."""

    source: str
    target: str
    word: str = ""
    cut: bool = False
    bend: float = 0

    def svg(self, boxes: dict[str, Box]) -> str:
        start, end = boxes[self.source], boxes[self.target]
        if abs(end.column - start.column) >= 0.6:
            right = end.column > start.column
            x1, x2 = (start.left + WIDTH, end.left) if right else (start.left, end.left + WIDTH)
            y1, y2 = start.top + HEIGHT / 2 + self.bend, end.top + HEIGHT / 2 + self.bend
        else:
            down = end.row > start.row
            x1, x2 = start.left + WIDTH / 2 + self.bend, end.left + WIDTH / 2 + self.bend
            y1, y2 = (start.top + HEIGHT, end.top) if down else (start.top, end.top + HEIGHT)
        look = ' stroke-dasharray="4 4" stroke="#b0bec5"' if self.cut else ' stroke="#546e7a"'
        line = f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" marker-end="url(#head)"{look} stroke-width="1.5"/>'
        if not self.word:
            return line
        x, y = (x1 + x2) / 2, (y1 + y2) / 2
        return f'{line}<text class="small" x="{x:g}" y="{y - 5:g}">{escape(self.word)}</text>'


def draw(title: str, boxes: list[Box], arrows: list[Arrow]) -> str:
    by_label = {box.label: box for box in boxes}
    width = max(box.left for box in boxes) + WIDTH + MARGIN
    height = max(box.top for box in boxes) + HEIGHT + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img">',
        f"<title>{escape(title)}</title>",
        "<style>text{font:13px sans-serif;text-anchor:middle;fill:#263238}.small{font-size:10px;fill:#546e7a}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#546e7a"/></marker></defs>',
        f'<rect width="{width:g}" height="{height:g}" rx="8" fill="#fafafa"/>',
        *(arrow.svg(by_label) for arrow in arrows),
        *(box.svg() for box in boxes),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


PICTURES = {
    "stages": draw(
        "The stages, from files to a plan",
        [
            Box(0, 0, "repository", small="files, headers, tokens"),
            Box(1, 0, "parse", small="statements, references"),
            Box(2, 0, "graph", small="dependencies, order"),
            Box(3, 0, "diff", small="what changed"),
            Box(3, 1, "dirty", small="what must be redeployed"),
            Box(2, 1, "plan", "make", "operations in order"),
            Box(1, 1, "execute", "clean", "one operation at a time"),
            Box(4, 0, "deploy log", "group", "what was done"),
            Box(4, 1, "catalog", "group", "what is really there"),
        ],
        [
            Arrow("repository", "parse"),
            Arrow("parse", "graph"),
            Arrow("graph", "diff"),
            Arrow("diff", "dirty"),
            Arrow("dirty", "plan"),
            Arrow("plan", "execute"),
            Arrow("deploy log", "diff"),
            Arrow("catalog", "diff"),
        ],
    ),
    "phases": draw(
        "Teardown, then setup, then export",
        [
            Box(0, 0, "drop top_customers", "drop", "teardown"),
            Box(0, 1, "drop revenue_feed", "drop", "teardown"),
            Box(0, 2, "drop net_price", "drop", "teardown"),
            Box(1, 1, "all of teardown", "clean", "before any setup"),
            Box(2, 0, "create finance_feed", "make", "setup"),
            Box(2, 1, "create without_vat", "make", "setup"),
            Box(3, 1, "replace product_prices", "make", "setup"),
            Box(3, 0, "run revenue_export", "group", "export"),
        ],
        [
            Arrow("drop top_customers", "all of teardown"),
            Arrow("drop revenue_feed", "all of teardown"),
            Arrow("drop net_price", "all of teardown"),
            Arrow("all of teardown", "create finance_feed"),
            Arrow("all of teardown", "create without_vat"),
            Arrow("create without_vat", "replace product_prices"),
            Arrow("create finance_feed", "run revenue_export"),
        ],
    ),
    "airflow": draw(
        "A run of a deployment in Airflow: plan, approve, operations, record",
        [
            Box(0, 1, "plan", "group", "looks, and freezes"),
            Box(1, 1, "approve", "clean", "only if data is lost"),
            Box(2, 0, "teardown.sales.returns", "drop", "drop"),
            Box(2, 1, "teardown.sales.f", "drop", "drop"),
            Box(3, 0, "setup.sales.g", "make", "create"),
            Box(3, 1, "setup.sales.prices", "make", "replace"),
            Box(3, 2, "setup.mart.orders_eur", "make", "replace"),
            Box(4, 1, "export.mart.feed", "seed", "run"),
            Box(5, 1, "record", "group", "always runs"),
        ],
        [
            Arrow("plan", "approve"),
            Arrow("approve", "teardown.sales.returns"),
            Arrow("approve", "teardown.sales.f"),
            Arrow("teardown.sales.returns", "setup.sales.g"),
            Arrow("teardown.sales.f", "setup.sales.g"),
            Arrow("teardown.sales.returns", "setup.mart.orders_eur"),
            Arrow("teardown.sales.f", "setup.mart.orders_eur"),
            Arrow("setup.sales.g", "setup.sales.prices"),
            Arrow("setup.sales.prices", "export.mart.feed"),
            Arrow("setup.mart.orders_eur", "export.mart.feed"),
            Arrow("export.mart.feed", "record"),
        ],
    ),
    "rendered": draw(
        "What is rendered and what is done: R and A",
        [
            Box(0, 0, "repository", "plain", "files"),
            Box(1, 0, "R", "group", "rendered: the graph"),
            Box(0, 1, "catalog", "plain", "what is there"),
            Box(1, 1, "A", "make", "actual: the frozen plan"),
            Box(2, 0, "skipped", "clean", "in R, not in A"),
            Box(2, 1, "run", "make", "in both"),
            Box(2, 2, "stale", "drop", "in A, not in R"),
        ],
        [
            Arrow("repository", "R", "parse"),
            Arrow("repository", "A"),
            Arrow("catalog", "A", "plan"),
            Arrow("R", "skipped"),
            Arrow("A", "run"),
            Arrow("A", "stale"),
        ],
    ),
    "dependency": draw(
        "A change redeploys what depends on it",
        [
            Box(0, 0, "sales.orders", "seed", "changed: add_coupon"),
            Box(1, 0, "sales.order_totals", "dirty", "view"),
            Box(2, 0, "analytics.orders_eur", "dirty", "view"),
            Box(3, 0, "daily_revenue", "dirty", "materialized view"),
            Box(0, 1, "sales.order_events", "clean"),
            Box(1, 1, "sales.order_status", "clean", "view"),
        ],
        [
            Arrow("sales.orders", "sales.order_totals"),
            Arrow("sales.order_totals", "analytics.orders_eur"),
            Arrow("analytics.orders_eur", "daily_revenue"),
            Arrow("sales.order_events", "sales.order_status", cut=True),
            Arrow("sales.order_status", "sales.order_totals", cut=True),
        ],
    ),
    "schema": draw(
        "A dirty schema redeploys everything in it",
        [
            Box(0, 1, "return_rates", "seed", "new"),
            Box(1, 1, "schema analytics", "group"),
            Box(2, 0, "bundle_prices", "dirty", "view"),
            Box(2, 1, "orders_eur", "dirty", "view"),
            Box(2, 2, "revenue_export", "dirty", "sink: reached"),
        ],
        [
            Arrow("return_rates", "schema analytics"),
            Arrow("schema analytics", "bundle_prices"),
            Arrow("schema analytics", "orders_eur"),
            Arrow("schema analytics", "revenue_export"),
        ],
    ),
    "replacement": draw(
        "A replacement does not reach dependents in other schemas",
        [
            Box(0, 0, "sales.net_price", "seed", "changed"),
            Box(1, 0, "sales.product_prices", "dirty", "replacement=true"),
            Box(2, 0, "bundle_prices", "clean", "other schema: not reached"),
        ],
        [
            Arrow("sales.net_price", "sales.product_prices"),
            Arrow("sales.product_prices", "bundle_prices", cut=True),
        ],
    ),
    "compute": draw(
        "A changed object makes its compute dirty, and that its other users",
        [
            Box(0, 0, "customer_value", "seed", "changed, compute=nightly"),
            Box(1, 0, "compute nightly", "group"),
            Box(2, 0, "daily_revenue", "dirty", "compute=nightly"),
            Box(2, 1, "revenue_export", "dirty", "sink, compute=nightly"),
        ],
        [
            Arrow("customer_value", "compute nightly"),
            Arrow("compute nightly", "daily_revenue"),
            Arrow("compute nightly", "revenue_export"),
        ],
    ),
    "cycle": draw(
        "Two materialized views that read each other",
        [
            Box(0, 0.5, "bundle_parts", "plain", "data"),
            Box(1.2, 0, "bundle_contains", "group", "materialized view"),
            Box(1.2, 1, "bundle_reaches", "group", "materialized view"),
            Box(2.4, 0, "bundle_prices", "plain", "view: reads from outside"),
        ],
        [
            Arrow("bundle_parts", "bundle_contains"),
            Arrow("bundle_parts", "bundle_reaches"),
            Arrow("bundle_contains", "bundle_reaches", bend=-20),
            Arrow("bundle_reaches", "bundle_contains", bend=20),
            Arrow("bundle_contains", "bundle_prices"),
        ],
    ),
}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name, text in PICTURES.items():
        (folder / f"{name}.svg").write_text(text, "utf-8")


if __name__ == "__main__":
    main()

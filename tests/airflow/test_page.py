"""The SparkDeploy page: a real browser, a real Airflow, a deployed shop.

With ``UPDATE_DOCS=1`` the pictures of the docs are made anew.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlparse

import jwt
import pytest
import yaml
from machine import Airflow
from playwright.sync_api import Browser, ConsoleMessage, FrameLocator, Page, Request, expect, sync_playwright

from airflow_provider_sparkdeploy.airflow.page.components import components_json
from airflow_provider_sparkdeploy.airflow.page.objects import object_json, objects_json
from airflow_provider_sparkdeploy.airflow.page.plan import operation_json, plan_json
from airflow_provider_sparkdeploy.airflow.page.values import Kept, Step
from airflow_provider_sparkdeploy.core.names import ObjectName, display
from airflow_provider_sparkdeploy.core.state import DeployedObject
from airflow_provider_sparkdeploy.spark.session import ConnectSessions

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"
ASSETS = ROOT / "airflow_provider_sparkdeploy" / "airflow" / "page" / "assets"
DAG, ENVIRONMENT = "deploy_page", "dev_page"
CHROMIUM = shutil.which("chromium")
_FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
_PATIENCE = 60_000.0  # milliseconds
_LONG = 1_200.0  # seconds for a whole shop on a machine that does other things, too
_ROUTES = (
    "",
    "/plan",
    "/operation?name=x",
    "/objects",
    "/object?name=x",
    "/history",
    "/deployment?run_id=x",
    "/components",
)
FEES = "CREATE VIEW ${sales}.fees AS\nSELECT\n  4.90 AS shipping;\n"
expect.set_options(timeout=_PATIENCE)
pytestmark = pytest.mark.timeout(1_800)  # the first test that needs it deploys the shop, three times
EVIL = "<img src=x onerror=\"document.title='owned'\">"


# The shop


@dataclass(frozen=True)
class Shop:
    """A deployed shop with a past: one deployment, one that failed, one that went on; a change that is
    to be deployed, which loses data; and a view that somebody edited, which a dry run has seen."""

    airflow: Airflow
    first: str
    failed: str
    mended: str


def _write(folder: Path, path: str, text: str) -> None:
    draft = folder.parent / "draft"
    draft.write_text(text, encoding="utf-8")
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    draft.replace(folder / path)


@pytest.fixture(scope="module")
def shop(airflow: Airflow, sessions: ConnectSessions, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return make_shop(airflow, sessions, tmp_path_factory.mktemp("page") / "shop")


def make_shop(airflow: Airflow, sessions: ConnectSessions, folder: Path) -> Shop:
    shutil.copytree(ROOT / "dags_examples" / "repository_shop", folder)
    settings = yaml.safe_load((folder / "sparkdeploy.yaml").read_text())
    settings["environments"][ENVIRONMENT] = {
        **settings["environments"]["dev"],
        "log_schema": "page_log",
        "data_schema": "page_data",
        "schemas": {name: f"page_{name}" for name in ("ref", "sales", "analytics")},
    }
    _write(folder, "sparkdeploy.yaml", yaml.safe_dump(settings))
    _write(folder, "sales/view/fees.sql", FEES)
    airflow.write_dag(
        DAG,
        "from airflow_provider_sparkdeploy import SparkDeployDag\n\n"
        f"SparkDeployDag({DAG!r}, repository={str(folder)!r}, environment={ENVIRONMENT!r})\n",
    )
    airflow.parsed(DAG, lambda tasks: len(tasks) > 20)
    first = airflow.trigger(DAG)
    assert airflow.ended(DAG, first, _LONG) == "success", airflow.why(DAG, first)

    _write(
        folder, "sales/view/notes.sql", "CREATE VIEW ${sales}.notes AS SELECT nothing FROM ${sales}.orders;\n"
    )
    airflow.parsed(DAG, lambda tasks: "setup.sales.notes" in tasks)
    failed = airflow.trigger(DAG)
    assert airflow.ended(DAG, failed, _LONG) == "failed"

    good = f"CREATE VIEW ${{sales}}.notes AS SELECT order_id, '{EVIL}' AS note FROM ${{sales}}.orders;\n"
    _write(folder, "sales/view/notes.sql", good.replace("'owned'", "\\'owned\\'"))
    _write(folder, "sales/view/fees.sql", FEES.replace("shipping", "shipping,\n  2.50 AS wrapping"))
    mended = airflow.trigger(DAG)
    assert airflow.ended(DAG, mended, _LONG) == "success", airflow.why(DAG, mended)

    feed = (folder / "analytics/table/revenue_feed.sql").read_text()
    _write(folder, "analytics/table/revenue_feed.sql", feed.replace("  country STRING,\n", ""))
    totals = (folder / "sales/view/order_status.sql").read_text()
    _write(
        folder,
        "sales/view/order_status.sql",
        totals.replace("max(happened_at) AS since", "max(happened_at) AS since,\n  count(*) AS events"),
    )
    (folder / "analytics/view/bundle_prices.sql").unlink()
    airflow.parsed(DAG, lambda tasks: {"approve", "setup.sales.order_status"} <= tasks)

    with sessions.open() as spark:
        spark.sql("ALTER VIEW page_sales.order_totals AS SELECT 1 AS edited")
    looked = airflow.trigger(DAG, dry_run=True)
    assert airflow.ended(DAG, looked, _LONG) == "success", airflow.why(DAG, looked)
    return Shop(airflow, first, failed, mended)


# Who may see it


def _answer(url: str, token: str = "", method: str = "GET") -> tuple[int, bytes, Mapping[str, str]]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=headers, method=method), timeout=60
        ) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read(), error.headers


def _without_role(airflow: Airflow) -> str:
    """The token of somebody who is known, and may do nothing."""
    secret = airflow.settings()["API_AUTH__JWT_SECRET"]
    claims = jwt.decode(airflow.token, options={"verify_signature": False})
    algorithm = str(jwt.get_unverified_header(airflow.token)["alg"])
    return jwt.encode({**claims, "sub": "stranger", "role": None}, secret, algorithm=algorithm)


def test_nobody_sees_anything_without_a_login(airflow: Airflow) -> None:
    page = f"{airflow.url}/sparkdeploy"
    places = ["/", "/assets/main.js", "/api/dags", *(f"/api/dags/{DAG}{route}" for route in _ROUTES)]
    assert {place: _answer(page + place)[0] for place in places} == dict.fromkeys(places, 401)


def test_who_may_not_read_the_dag_may_not_read_its_page(airflow: Airflow) -> None:
    page, stranger = f"{airflow.url}/sparkdeploy", _without_role(airflow)
    places = [f"/api/dags/{DAG}{route}" for route in _ROUTES]
    assert {place: _answer(page + place, stranger)[0] for place in places} == dict.fromkeys(places, 403)
    status, text, _ = _answer(f"{page}/api/dags", stranger)
    assert (status, json.loads(text)) == (200, {"dags": []})


def test_it_only_reads(airflow: Airflow) -> None:
    page = f"{airflow.url}/sparkdeploy"
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert _answer(f"{page}/api/dags/{DAG}/plan", airflow.token, method)[0] == 405
    for place in (
        "/openapi.json",
        "/docs",
        "/assets/..%2Fapp.py",
        "/assets/app.py",
        f"/api/dags/{DAG}/nothing",
    ):
        assert _answer(page + place, airflow.token)[0] == 404


def test_nothing_inline_and_nothing_from_elsewhere(airflow: Airflow) -> None:
    status, text, headers = _answer(f"{airflow.url}/sparkdeploy/", airflow.token)
    assert status == 200
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert b"//" not in text
    for path in ASSETS.iterdir():
        found = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in found
        assert "https:" not in found
        assert "innerHTML" not in found


def test_whoever_may_look_may_look(shop: Shop) -> None:
    page = f"{shop.airflow.url}/sparkdeploy/api"
    viewer = shop.airflow.login("viewer")
    dags = json.loads(_answer(f"{page}/dags", viewer)[1])["dags"]
    [own] = [item for item in dags if item["dag_id"] == DAG]
    assert own["deployments"][0]["destructive"] == 1
    for route in (
        "",
        "/plan",
        "/objects",
        "/history",
        "/components",
        f"/deployment?run_id={quote(shop.first)}",
    ):
        assert _answer(f"{page}/dags/{DAG}{route}", viewer)[0] == 200
    assert _answer(f"{page}/dags/{DAG}/plan?group=other", viewer)[0] == 404
    assert _answer(f"{page}/dags/{DAG}/plan?run_id=other", viewer)[0] == 404


# What it looks like


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail("the page is tested in a browser: install chromium")
        pytest.skip("no chromium (Debian: chromium)")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=_FLAGS)
        yield running
        running.close()


class Window:
    """A page in the browser. What it must never do is noted: errors, requests to elsewhere."""

    def __init__(
        self,
        browser: Browser,
        url: str,
        *,
        token: str = "",
        dark: bool = False,
        folder: Path,
        zone: str = "UTC",
    ) -> None:
        self.url, self.folder, self.dark = url, folder, dark
        self.context = browser.new_context(
            viewport={"width": 1500, "height": 900},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            timezone_id=zone,
        )
        self.context.set_default_timeout(_PATIENCE)
        if token:
            self.context.add_cookies([{"name": "_token", "value": token, "url": url}])
        self.page: Page = self.context.new_page()
        self.wrong: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", self._said)
        self.page.on("request", self._asked)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.wrong.append(message.text)

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.url, "data:", "blob:", "about:")):
            self.wrong.append(f"asked {request.url}")

    def open(self, path: str) -> FrameLocator:
        """A place in Airflow's UI; what is in its frame."""
        self.page.goto(f"{self.url}/{path}")
        return self.page.frame_locator("iframe[title=SparkDeploy]")

    def picture(self, name: str) -> Path:
        """A screenshot; for the docs where they are to be made anew."""
        folder = PICTURES if os.environ.get("UPDATE_DOCS") == "1" else self.folder
        path = folder / f"page_{name}{'_dark' if self.dark else ''}.png"
        self.page.wait_for_timeout(400)
        self.page.screenshot(path=path)
        assert path.stat().st_size > 10_000
        return path

    def close(self) -> None:
        self.context.close()
        assert self.wrong == []


@pytest.fixture(params=[False, True], ids=["light", "dark"])
def window(request: pytest.FixtureRequest, shop: Shop, browser: Browser, tmp_path: Path) -> Iterator[Window]:
    made = Window(browser, shop.airflow.url, token=shop.airflow.token, dark=request.param, folder=tmp_path)
    yield made
    made.close()


def _node(frame: FrameLocator, name: str) -> Any:
    return frame.locator(f'.node[data-id="{name}"]')


def test_the_plan_and_why(window: Window) -> None:
    frame = window.open(f"dags/{DAG}/plugin/sparkdeploy-dag")
    expect(frame.locator(".group.bad .row")).to_have_count(1)
    expect(frame.locator("html")).to_have_attribute("data-theme", "dark" if window.dark else "light")
    expect(frame.locator(".list > :first-child")).to_contain_text("Loses data")  # it comes first
    window.picture("plan")
    heights = frame.locator(".row .what").evaluate_all("(names) => names.map((name) => name.offsetHeight)")
    assert max(heights) < 2 * min(heights), "a name in the list has one line"
    _node(frame, "sales.order_status").click()
    drawer = frame.locator(".drawer")
    expect(drawer.locator(".chains")).to_contain_text("changed")
    expect(drawer.locator(".diff .plus").first).to_contain_text("max(happened_at) AS since,")
    expect(drawer.locator(".diff .plus").last).to_contain_text("count(*) AS events")
    expect(frame.locator(".row[aria-current]")).to_contain_text("order_status")
    window.picture("why")
    frame.locator(".search").fill("revenue_feed")
    frame.locator(".search").press("Enter")
    expect(drawer.locator("h2")).to_have_text("analytics.revenue_feed")
    expect(drawer.locator(".chips")).to_contain_text("loses data")


def test_a_removed_object_is_told_to_go(window: Window) -> None:
    frame = window.open(f"dags/{DAG}/plugin/sparkdeploy-dag")
    _node(frame, "analytics.bundle_prices").click()
    expect(frame.locator(".drawer .chains li").first).to_have_text("removed")
    expect(frame.locator(".drawer .diff .minus").first).to_contain_text("CREATE VIEW")
    expect(frame.locator(".drawer .diff .plus")).to_have_count(0)


def test_with_the_keyboard_alone(window: Window) -> None:
    frame = window.open(f"dags/{DAG}/plugin/sparkdeploy-dag")
    frame.locator(".row").first.wait_for()
    canvas = frame.locator(".canvas")
    canvas.focus()
    canvas.press("ArrowRight")
    canvas.press("ArrowDown")
    canvas.press("+")
    canvas.press("Enter")
    expect(frame.locator(".drawer h2")).not_to_be_empty()
    canvas.press("Escape")
    frame.locator(".row").first.focus()
    frame.locator(".row").first.press("ArrowDown")
    expect(frame.locator(":focus")).to_have_count(1)
    frame.locator(":focus").press("/")
    expect(frame.locator(".search")).to_be_focused()
    frame.locator("#tab-plan").focus()
    frame.locator("#tab-plan").press("ArrowRight")
    expect(frame.locator("#tab-objects")).to_have_attribute("aria-selected", "true")
    expect(frame.locator("#tab-objects")).to_be_focused()


def test_what_is_deployed(window: Window) -> None:
    frame = window.open(f"dags/{DAG}/plugin/sparkdeploy-dag")
    frame.locator("#tab-objects").click()
    expect(frame.locator(".toolbar")).to_contain_text("Catalog last looked at")
    drawer = frame.locator(".drawer")
    expect(frame.locator("tr[data-name='analytics.bundle_contains'] .cycle")).to_be_visible()
    frame.get_by_role("button", name="sales.order_totals").click()
    expect(drawer.locator(".banner")).to_contain_text("its query was changed")
    frame.get_by_role("button", name="analytics.top_customers").first.click()
    expect(drawer.locator(".lineage")).to_contain_text("analytics.customer_value")
    expect(drawer.locator(".sql").first).to_contain_text("CREATE VIEW")
    window.picture("objects")
    frame.locator(".search").fill("notes")
    expect(frame.locator("table.objects tbody tr")).to_have_count(1)
    frame.get_by_role("button", name="sales.notes").click()
    expect(drawer.locator(".sql").first).to_contain_text(EVIL.replace("'owned'", "\\'owned\\'"))
    expect(frame.locator("img")).to_have_count(0)  # text stays text
    assert "owned" not in window.page.title()


def test_the_history(window: Window, shop: Shop) -> None:
    frame = window.open(f"dags/{DAG}/plugin/sparkdeploy-dag")
    frame.locator("#tab-history").click()
    expect(frame.locator(".runs > li")).to_have_count(4)
    expect(frame.locator(".runs > li").first).to_contain_text("dry run")
    frame.locator(".runs summary").nth(2).click()
    item = frame.locator(".runs > li").nth(2)
    expect(item.locator(".banner.bad")).to_contain_text("UNRESOLVED_COLUMN")
    expect(item).to_contain_text(shop.mended)
    window.picture("history")
    frame.locator(".runs summary").nth(3).click()
    rows = frame.locator(".runs > li").nth(3).locator(".operations tbody tr")
    expect(rows.first).to_contain_text(re.compile(r"\d s|\d ms"))  # how long its statement took


def test_components(window: Window) -> None:
    frame = window.open(f"dags/{DAG}/plugin/sparkdeploy-dag")
    frame.locator("#tab-components").click()
    card = frame.locator(".card")
    expect(card).to_have_count(1)
    expect(card).to_contain_text("analytics.bundle_contains")
    expect(card).to_contain_text("analytics.bundle_reaches")
    expect(card).to_contain_text("converged")
    expect(card).to_contain_text("monotone")
    expect(card.locator(".pass").first).to_be_visible()
    window.picture("components")


def test_the_page_of_a_run_and_back_to_airflow(window: Window, shop: Shop) -> None:
    frame = window.open(f"dags/{DAG}/runs/{quote(shop.failed)}/plugin/sparkdeploy")
    expect(frame.locator(".row .state.s-failed")).to_have_count(1)
    _node(frame, "sales.notes").click()
    expect(frame.locator(".drawer .error")).to_contain_text("UNRESOLVED_COLUMN")
    window.picture("run")
    frame.get_by_role("link", name="task and its log").click()
    window.page.wait_for_url(f"**/dags/{DAG}/runs/*/tasks/setup.sales.notes")


def test_a_past_run_shows_what_it_changed(window: Window, shop: Shop) -> None:
    frame = window.open(f"dags/{DAG}/runs/{quote(shop.mended)}/plugin/sparkdeploy")
    _node(frame, "sales.fees").click()
    expect(frame.locator(".drawer .diff .minus")).to_contain_text("4.90 AS shipping")
    expect(frame.locator(".drawer .diff .plus").last).to_contain_text("2.50 AS wrapping")


def test_from_the_navigation(window: Window) -> None:
    frame = window.open("plugin/sparkdeploy-dags")
    expect(frame.locator(".chip.bad")).to_have_text("1 loses data")
    frame.get_by_role("link", name=DAG, exact=True).click()
    expect(frame.locator(".group.bad")).to_be_visible()
    expect(frame.locator(".which")).to_be_visible()


def test_somebody_who_logs_in(shop: Shop, browser: Browser, tmp_path: Path) -> None:
    window = Window(browser, shop.airflow.url, folder=tmp_path)
    window.page.goto(f"{shop.airflow.url}/dags/{DAG}/plugin/sparkdeploy-dag")
    window.page.fill("input[name=username]", "viewer")
    window.page.fill("input[name=password]", "viewer")
    window.page.keyboard.press("Enter")
    expect(window.page.frame_locator("iframe[title=SparkDeploy]").locator(".node").first).to_be_visible()
    window.wrong = [line for line in window.wrong if "401" not in line]  # Airflow's own, before the login
    window.close()


def test_somebody_who_may_not_is_told_so(shop: Shop, browser: Browser, tmp_path: Path) -> None:
    window = Window(browser, shop.airflow.url, token=_without_role(shop.airflow), folder=tmp_path)
    window.page.goto(f"{shop.airflow.url}/sparkdeploy/?dag_id={DAG}")
    expect(window.page.locator(".nothing")).to_contain_text("You may not read this DAG")
    window.context.close()


# A thousand objects, made up


def _many(count: int) -> tuple[Kept, tuple[Step, ...]]:
    """Objects in layers of schemas; one has changed, and all that depend on it follow."""
    made = random.Random(5)
    schemas = (
        "raw",
        "ref",
        "staging",
        "sales",
        "finance",
        "marketing",
        "logistics",
        "product",
        "risk",
        "analytics",
        "mart",
        "export",
    )
    words = (
        "orders",
        "customers",
        "prices",
        "events",
        "rates",
        "accounts",
        "visits",
        "refunds",
        "stock",
        "routes",
        "claims",
        "clicks",
    )
    records: dict[ObjectName, DeployedObject] = {}
    names: list[ObjectName] = []
    for number in range(count):
        level = number * len(schemas) // count
        name = ObjectName(schemas[level], f"{made.choice(words)}_{number}")
        kind = "table" if level < 3 else made.choice(("view", "view", "materialized_view"))
        known = names[max(0, len(names) - 150) :] if kind != "table" else []
        reads = tuple(sorted({made.choice(known) for _ in range(made.choice((1, 2, 2, 3)))})) if known else ()
        records[name] = DeployedObject(
            name, kind, name, "1:00", f"CREATE VIEW {name} AS SELECT 1", reads, at="2026-01-31T22:30:00+00:00"  # type: ignore[arg-type]
        )  # fmt: skip
        names.append(name)
    users: dict[ObjectName, list[ObjectName]] = {}
    for name, record in records.items():
        for need in record.dependencies:
            users.setdefault(need, []).append(name)
    changed = max(names[count // 3 : count // 2], key=lambda name: len(users.get(name, ())))
    reasons: dict[ObjectName, tuple[tuple[str, ...], ...]] = {changed: (("changed",),)}
    pending = [changed]
    for name in pending:
        for user in users.get(name, ()):
            pending += [] if user in reasons else [user]
            reasons[user] = (*reasons.get(user, ()), ("dependency", display(name)))
    steps = [
        Step(
            f"setup.{name}", "setup", "refresh" if records[name].kind == "materialized_view" else "replace",
            display(name), records[name].kind, sql=records[name].text, reasons=why,
        )
        for name, why in reasons.items()
    ]  # fmt: skip
    gone = display(names[3])
    steps.append(
        Step(f"teardown.{gone}", "teardown", "drop", gone, "table", reasons=(("changed",),), destructive=True)
    )
    return Kept(records, known=True), tuple(steps)


@contextmanager
def _serving(count: int) -> Iterator[tuple[str, tuple[Step, ...]]]:
    """The files of the page, and answers about so many objects; no Airflow."""
    kept, steps = _many(count)
    kept = replace(kept, drift={})
    by_id = {step.id: step for step in steps}

    def told(path: str, query: Mapping[str, str]) -> Any:
        match path.split("/")[4:]:
            case []:
                return {"dag_id": "many", "groups": [""], "runs": []}
            case ["plan"]:
                return plan_json(kept, steps)
            case ["operation"]:
                return operation_json(by_id[query["name"]], steps, kept.state)
            case ["objects"]:
                return objects_json(kept, steps)
            case ["object"]:
                return object_json(kept, steps, query["name"])
        return components_json(kept, [])

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            asked = urlparse(self.path)
            if asked.path.startswith("/api/"):
                query = {key: values[0] for key, values in parse_qs(asked.query).items()}
                body, kind = json.dumps(told(asked.path, query)).encode(), "application/json"
            else:
                file = ASSETS / (asked.path.rpartition("/")[2] or "index.html")
                kinds = {
                    ".css": "text/css",
                    ".js": "text/javascript",
                    ".html": "text/html",
                    ".svg": "image/svg+xml",
                }
                body, kind = file.read_bytes(), kinds[file.suffix]
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", steps
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def served() -> Iterator[tuple[str, tuple[Step, ...]]]:
    with _serving(1_000) as found:
        yield found


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_thousand_objects_can_be_read(
    served: tuple[str, tuple[Step, ...]], browser: Browser, tmp_path: Path, dark: bool
) -> None:
    url, steps = served
    window = Window(browser, url, dark=dark, folder=tmp_path)
    page = window.page
    page.goto(f"{url}/?dag_id=many")
    expect(page.locator(".node")).to_have_count(1_000)
    expect(page.locator(".box")).to_have_count(12)
    window.picture("map")
    last = max(steps, key=lambda step: (step.phase == "setup", step.schema == "mart", step.id))
    page.locator(".search").fill(last.object)
    page.locator(".search").press("Enter")
    expect(page.locator(".drawer .chains li").first).to_contain_text("depends on")
    expect(page.locator(".node.chosen")).to_have_attribute("data-id", last.object)
    assert page.locator(".node.up").count() > 0
    page.get_by_role("button", name="Around the chosen").click()
    assert 1 < page.locator(".node").count() <= 40
    window.picture("around")
    page.get_by_role("button", name="Around the chosen").click()
    page.get_by_role("button", name="Only what changes").click()
    expect(page.locator(".node")).to_have_count(len({step.object for step in steps}))
    page.locator("#tab-objects").click()
    expect(page.locator("table.objects tbody tr")).to_have_count(300)
    expect(page.locator("table.objects th.up")).to_have_css("text-align", "right")  # as its numbers
    window.close()


@pytest.mark.parametrize("count", [10, 30, 80])
def test_the_names_in_a_graph_can_be_read(count: int, browser: Browser, tmp_path: Path) -> None:
    with _serving(count) as (url, _):
        window = Window(browser, url, folder=tmp_path)
        window.page.goto(f"{url}/?dag_id=many")
        expect(window.page.locator(".node .label")).to_have_count(count)
        window.page.wait_for_timeout(400)
        sizes = window.page.locator(".node .label").evaluate_all(
            "(labels) => labels.map((label) => parseFloat(getComputedStyle(label).fontSize) * label.getScreenCTM().a)"
        )
        assert min(sizes) > 7
        free = window.page.locator(".node").evaluate_all(
            """(nodes) => nodes.map((node) => {
              const end = (part) => node.querySelector(part)?.getBoundingClientRect();
              return Math.min(end(".body").right, end(".sign")?.left ?? Infinity) - end(".label").right;
            })"""
        )
        assert min(free) >= 0, "a name ends before its node does, and before the sign in it"
        window.close()


def test_into_the_drawer_and_back_with_the_keyboard(browser: Browser, tmp_path: Path) -> None:
    with _serving(30) as (url, _):
        window = Window(browser, url, folder=tmp_path)
        page = window.page
        page.goto(f"{url}/?dag_id=many")
        drawer, focus = page.locator(".drawer"), page.locator(":focus")
        first = page.locator(".group:not(.bad) .row").first
        for keys, place in ((("Enter",), first), (("ArrowDown", "Enter"), page.locator(".canvas"))):
            place.focus()
            for key in keys:
                page.keyboard.press(key)
            expect(drawer).to_be_focused()
            expect(drawer.locator("h2")).not_to_be_empty()
            page.keyboard.press("Tab")
            expect(drawer.locator(":focus")).to_have_count(1)
            page.keyboard.press("Escape")
            expect(drawer).to_be_hidden()
            expect(place).to_be_focused()
            expect(page.locator(".row[aria-current]")).to_have_count(0)
        page.locator("#tab-objects").click()
        button = page.locator("td.name button").nth(3)
        button.focus()
        page.keyboard.press("Enter")
        expect(drawer).to_be_focused()
        page.keyboard.press("Escape")
        expect(drawer).to_be_hidden()
        expect(button).to_be_focused()
        page.locator(".search").fill("a")
        page.locator(".search").press("Escape")
        expect(focus).to_have_class("search")
        window.close()


def test_a_long_list_is_passed_with_few_tabs(
    served: tuple[str, tuple[Step, ...]], browser: Browser, tmp_path: Path
) -> None:
    url, steps = served
    window = Window(browser, url, folder=tmp_path)
    page = window.page
    page.goto(f"{url}/?dag_id=many")
    expect(page.locator(".group")).not_to_have_count(0)
    page.locator(".group").evaluate_all("(groups) => groups.forEach((group) => (group.open = true))")
    expect(page.locator(".row")).to_have_count(len(steps) + 1)  # what loses data stands there twice
    stops = page.locator(".list").evaluate(
        "(list) => [...list.querySelectorAll('summary, .row')].filter((one) => one.tabIndex >= 0).length"
    )
    assert stops <= 2 * page.locator(".group").count()
    group = page.locator(".group:not(.bad)").last
    group.locator(".row").first.focus()
    page.keyboard.press("ArrowDown")
    expect(group.locator(".row").nth(1)).to_be_focused()
    expect(group.locator(".row[tabindex='0']")).to_have_count(1)
    window.close()


def test_names_are_broken_between_words(browser: Browser, tmp_path: Path) -> None:
    with _serving(30) as (url, _):
        window = Window(browser, url, folder=tmp_path)
        page = window.page
        page.set_viewport_size({"width": 700, "height": 700})
        page.goto(f"{url}/?dag_id=many#objects")
        page.add_style_tag(
            content="td.name, .lineage, .drawer h2 { font-size: 26px }"
        )  # whoever needs large letters
        page.locator("td.name button").first.click()
        expect(page.locator(".drawer h2")).to_be_visible()
        torn = page.evaluate(
            """() => {
              const found = [];
              for (const name of document.querySelectorAll("td.name button, .lineage .ref, .drawer h2")) {
                const walk = document.createTreeWalker(name, NodeFilter.SHOW_TEXT);
                while (walk.nextNode()) {
                  const range = document.createRange();
                  range.selectNodeContents(walk.currentNode);
                  if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) found.push(name.textContent);
                }
              }
              return found;
            }"""
        )
        assert torn == []
        window.close()


@pytest.mark.parametrize(
    ("chosen", "shown"),
    [(None, "31 Jan 2026, 17:30"), ("UTC", "31 Jan 2026, 22:30"), ("Asia/Tokyo", "01 Feb 2026, 07:30"), ("Nowhere", "31 Jan 2026, 17:30")],
)  # fmt: skip
def test_times_are_those_that_airflow_shows(
    browser: Browser, tmp_path: Path, chosen: str | None, shown: str
) -> None:
    """Airflow keeps the chosen time zone where its own page and this one can read it."""
    with _serving(10) as (url, _):
        window = Window(browser, url, folder=tmp_path, zone="America/New_York")
        if chosen:
            window.context.add_init_script(f"localStorage.setItem('timezone', JSON.stringify({chosen!r}))")
        window.page.goto(f"{url}/?dag_id=many#objects")
        expect(window.page.locator("tbody time").first).to_have_text(shown)
        window.close()

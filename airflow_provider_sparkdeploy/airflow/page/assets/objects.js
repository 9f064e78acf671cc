// The tab Objects: what is deployed.

import { airflowLink, ask, banner, breakable, chip, dagPath, escapes, h, kind, many, mark, named, nothing, runPath, shortHash, when } from "./dom.js";
import { sql } from "./sql.js";

const PAGE = 300; // rows that are drawn at once
const COLUMNS = [
  ["name", "Object"], ["kind", "Kind"], ["status", "State"], ["at", "Deployed"], ["run_id", "By run"], ["hash", "Hash"], ["up", "Reads"], ["down", "Read by"],
];

export async function objectsTab(place) {
  const data = await ask(dagPath(place.dag, "objects"), { group: place.group });
  if (!data.objects.length) {
    return { element: nothing("Nothing is deployed yet", data.known ? "Everything that this DAG had deployed is gone." : "The first run records what it has deployed.") };
  }
  const view = new ObjectsView(place, data);
  return { element: view.element, at: (name) => view.open(name) };
}

class ObjectsView {
  constructor(place, data) {
    this.place = place;
    this.all = data.objects.map((item) => ({ ...item, status: status(item)[1] }));
    this.sort = ["name", 1];
    this.limit = PAGE;
    const kinds = [...new Set(this.all.map((item) => item.kind))].sort();
    this.search = h("input", { type: "search", class: "search", placeholder: "Search objects  ( / )", "aria-label": "Search objects", oninput: () => this.draw() });
    this.pick = h("select", { "aria-label": "Kind", onchange: () => this.draw() }, h("option", { value: "" }, "every kind"), kinds.map((name) => h("option", { value: name }, kind(name))));
    this.odd = h("button", { type: "button", class: "toggle", "aria-pressed": "false", onclick: () => this.toggleOdd() }, "Only what is not as deployed");
    this.said = h("span", { class: "muted", "aria-live": "polite" });
    this.body = h("tbody");
    this.heads = h("tr");
    this.drawer = h("aside", { class: "drawer", "aria-label": "Object", tabindex: "-1", hidden: true });
    this.table = h("table", { class: "objects" }, h("thead", {}, this.heads), this.body);
    this.more = h("button", { type: "button", class: "more", hidden: true, onclick: () => ((this.limit += PAGE * 4), this.draw()) });
    this.panes = h("div", { class: "panes single" }, h("div", { class: "scroll", tabindex: "-1" }, this.table, this.more), this.drawer);
    const note = data.drift_known
      ? h("span", { class: "muted" }, "Catalog last looked at ", when(data.looked))
      : null;
    this.element = h("div", { class: "objects-tab", onkeydown: (event) => escapes(event, this.drawer, () => this.shut()) }, h("div", { class: "toolbar" }, h("div", { class: "counts" }, this.said, note), h("div", { class: "tools" }, this.odd, this.pick, this.search)), this.panes);
    this.draw();
  }

  toggleOdd() {
    this.odd.setAttribute("aria-pressed", String(this.odd.getAttribute("aria-pressed") !== "true"));
    this.draw();
  }

  draw() {
    const text = this.search.value.trim().toLowerCase();
    const odd = this.odd.getAttribute("aria-pressed") === "true";
    const [key, way] = this.sort;
    const found = this.all
      .filter((item) => (!text || item.name.includes(text)) && (!this.pick.value || item.kind === this.pick.value) && (!odd || status(item)[0] !== "good"))
      .sort((a, b) => way * (typeof a[key] === "number" ? a[key] - b[key] : String(a[key]).localeCompare(String(b[key]))) || a.name.localeCompare(b.name));
    this.said.textContent = found.length === this.all.length ? many(found.length, "deployed object") : `${found.length.toLocaleString("en")} of ${many(this.all.length, "deployed object")}`;
    this.heads.replaceChildren(...COLUMNS.map(([name, label]) =>
      h("th", { scope: "col", "aria-sort": key === name ? (way > 0 ? "ascending" : "descending") : "none", class: name },
        h("button", { type: "button", onclick: () => this.sortBy(name) }, label, key === name ? (way > 0 ? " ↑" : " ↓") : ""))));
    this.body.replaceChildren(...found.slice(0, this.limit).map((item) => this.row(item)));
    this.more.hidden = found.length <= this.limit;
    this.more.textContent = `Show more of ${found.length.toLocaleString("en")}`;
  }

  sortBy(name) {
    this.sort = [name, this.sort[0] === name ? -this.sort[1] : 1];
    this.draw();
  }

  row(item) {
    const [tone, text] = status(item);
    return h(
      "tr",
      { class: item.name === this.chosen ? "chosen" : "", "data-name": item.name, onclick: (event) => event.target.closest("a, button") || this.open(item.name) },
      h("td", { class: "name" }, h("button", { type: "button", class: "plain-button", onclick: (event) => this.open(item.name, event.detail === 0) }, named(item.name))),
      h("td", {}, h("span", { class: "nowrap" }, kind(item.kind), item.component ? h("a", { class: "cycle", href: "#components", title: `in component ${item.component}` }, `∞ ${item.component}`) : null)),
      h("td", { class: "nowrap" }, item.planned ? [mark(item.planned), " "] : null, h("span", { class: `status ${tone}`, title: item.drift || text }, text)),
      h("td", { class: "nowrap" }, when(item.at)),
      h("td", { class: "run" }, item.run_id ? airflowLink(`${runPath(this.place.dag, item.run_id)}/plugin/sparkdeploy`, item.run_id) : h("span", { class: "muted", title: item.run }, item.run || "–")),
      h("td", { class: "hash" }, shortHash(item.hash)),
      h("td", { class: "number up" }, item.up || ""),
      h("td", { class: "number down" }, item.down || ""),
    );
  }

  /** `enter`: whoever chose it with the keyboard goes on in the drawer, and back with Escape. */
  async open(name, enter = false) {
    this.chosen = name;
    for (const row of this.body.children) row.classList.toggle("chosen", row.dataset.name === name);
    this.drawer.hidden = false;
    this.panes.classList.add("with-drawer");
    if (enter) {
      this.before = document.activeElement;
      this.drawer.focus();
    }
    try {
      const item = await ask(dagPath(this.place.dag, "object"), { group: this.place.group, name });
      if (this.chosen === name) this.drawer.replaceChildren(...this.full(item));
    } catch (error) {
      this.drawer.replaceChildren(banner("bad", error.message));
    }
  }

  shut() {
    const inside = this.drawer.contains(document.activeElement);
    this.drawer.hidden = true;
    this.panes.classList.remove("with-drawer");
    this.chosen = "";
    for (const row of this.body.children) row.classList.remove("chosen");
    if (inside) (this.before?.isConnected ? this.before : this.search).focus();
  }

  full(item) {
    const [tone, text] = status(item);
    const fact = (label, ...value) => [h("dt", {}, label), h("dd", {}, ...value)];
    return [
      h("header", {},
        h("div", { class: "over" }, h("h2", {}, named(item.name)), h("button", { type: "button", class: "close", "aria-label": "Close", title: "Close", onclick: () => this.shut() }, "×")),
        h("div", { class: "chips" }, chip(kind(item.kind)), chip(text, tone), item.lifecycle !== "managed" ? chip(item.lifecycle, "warn") : null)),
      item.drift ? banner("warn", `In the catalog: ${item.drift}`) : null,
      item.comment ? h("p", {}, item.comment) : null,
      h("dl", { class: "facts" },
        ...fact("In Spark", h("code", {}, item.physical)), ...fact("Deployed", when(item.at)),
        ...fact("By run", item.run_id ? airflowLink(`${runPath(this.place.dag, item.run_id)}/plugin/sparkdeploy`, item.run_id) : item.run || "–"),
        ...fact("Hash", h("code", { class: "hash" }, item.hash || "–")),
        ...(item.component.length ? fact("Computed with", h("a", { class: "link", href: "#components" }, item.component.filter((name) => name !== item.name).join(", "))) : [])),
      h("h4", {}, "Lineage"), this.lineage(item),
      item.columns.length ? h("h4", {}, "Columns") : null,
      item.columns.length ? h("table", { class: "columns" }, item.columns.map((column) => h("tr", {}, h("td", {}, h("code", {}, column.name)), h("td", { class: "type" }, column.type), h("td", { class: "muted" }, column.comment)))) : null,
      item.text ? h("h4", {}, "As deployed") : null, item.text ? sql(item.text) : null,
      ...item.changes.flatMap((change) => [
        h("h4", {}, "Change ", h("code", {}, change.name), change.done < change.total ? chip(`${change.done} of ${change.total} statements`, "warn") : null),
        change.text ? sql(change.text) : null,
        change.rollback ? h("details", { class: "fold" }, h("summary", {}, "Rollback"), sql(change.rollback)) : null,
      ]),
      ...item.indexes.flatMap((index) => [h("h4", {}, "Index ", h("code", {}, index.name)), sql(index.sql)]),
      h("p", { class: "foot" }, h("a", { class: "link", href: `#plan/${encodeURIComponent(item.name)}` }, "In the graph")),
    ].filter(Boolean);
  }

  /** Up and down, the nearest first. */
  lineage(item) {
    const side = (title, found) =>
      h("div", {}, h("h5", {}, title, h("span", { class: "muted" }, ` ${found.length}`)),
        found.length
          ? h("ul", { class: "plain" }, found.slice(0, 60).map((other) => h("li", { class: `far-${Math.min(other.far, 4)}` }, h("button", { type: "button", class: "ref", onclick: () => this.open(other.name) }, breakable(other.name)))), found.length > 60 ? h("li", { class: "muted" }, `and ${found.length - 60} more`) : null)
          : h("p", { class: "muted" }, "nothing"));
    return h("div", { class: "lineage" }, side("Reads", item.up), side("Read by", item.down));
  }
}

function status(item) {
  if (item.drift) return ["warn", "drifted"];
  if (item.due) return ["warn", "to be redeployed"];
  if (item.planned === "drop") return ["bad", "to be dropped"];
  if (item.planned) return ["info", "in the plan"];
  return ["good", "as deployed"];
}

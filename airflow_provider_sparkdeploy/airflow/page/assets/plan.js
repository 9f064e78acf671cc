// The tab Plan: the operations, the graph, and why.

import { Graph } from "./graph.js";
import { airflowLink, ask, banner, breakable, chip, dagPath, escapes, h, kind, losing, many, mark, named, nothing, runPath, state, when } from "./dom.js";
import { difference, sql } from "./sql.js";

const MANY = 250; // operations; groups are closed at first where there are more
const PAUSE = 6000; // milliseconds between two looks at a run that is under way
const PHASES = { teardown: "Teardown", setup: "Setup", export: "Export" };

export async function planTab(place) {
  const data = await ask(dagPath(place.dag, "plan"), { group: place.group, run_id: place.run });
  const view = new PlanView(place, data);
  view.watch();
  return { element: view.element, close: () => view.close(), at: (rest) => view.open(rest) };
}

class PlanView {
  constructor(place, data) {
    this.place = place;
    this.data = data;
    this.rows = new Map();
    this.byObject = new Map();
    for (const operation of data.operations) {
      (this.byObject.get(operation.object) ?? this.byObject.set(operation.object, []).get(operation.object)).push(operation);
    }
    this.graph = new Graph(data.graph, (id, enter) => this.choose({ object: id, from: "graph", enter }));
    this.drawer = h("aside", { class: "drawer", "aria-label": "Why", tabindex: "-1", hidden: true });
    this.search = h("input", {
      type: "search", class: "search", placeholder: "Search objects  ( / )", "aria-label": "Search objects",
      oninput: () => this.filter(), onkeydown: (event) => event.key === "Enter" && this.next(),
    });
    this.list = h("section", { class: "list", "aria-label": "Operations", onkeydown: (event) => this.listKey(event) });
    this.panes = h("div", { class: "panes show-list" }, this.list, this.graph.element, this.drawer);
    this.element = h("div", { class: "plan", onkeydown: (event) => escapes(event, this.drawer, () => this.shut()) }, this.head(), ...this.banners(), this.panes);
    this.fillList();
    if (!data.operations.length) this.show("graph");
  }

  head() {
    const { data } = this;
    const pick = (name, label) =>
      h("button", { type: "button", class: "toggle", "data-pane": name, "aria-pressed": String(name === "list"), onclick: () => this.show(name) }, label);
    this.picks = h("span", { class: "picks", role: "group", "aria-label": "What to show" }, pick("list", "List"), pick("graph", "Graph"));
    const counts = Object.entries(data.counts).map(([action, count]) => h("span", { class: "count" }, mark(action), `${count.toLocaleString("en")} ${action}`));
    return h(
      "div",
      { class: "toolbar" },
      h("div", { class: "counts" }, ...(counts.length ? counts : [h("span", { class: "muted" }, "nothing to do")]), losing(data.destructive), data.blocked ? chip(`${data.blocked} blocked`, "warn") : null),
      h("div", { class: "tools" }, this.search, this.picks),
    );
  }

  banners() {
    const { data } = this;
    const found = [];
    const frozen = data.frozen;
    if (data.problems.length) found.push(banner("bad", h("strong", {}, "There is no plan. "), h("ul", {}, data.problems.map((problem) => h("li", {}, problem)))));
    if (data.run && !frozen) found.push(banner("warn", "This run has not made its plan yet. Below is what the graph shows."));
    if (frozen?.stale.length) found.push(banner("warn", h("strong", {}, "Stale: nothing was run. "), "The graph of this run did not hold what had to be done.", h("ul", {}, frozen.stale.map((line) => h("li", {}, line)))));
    if (frozen?.dry_run) found.push(banner("info", "A dry run: it looked at the catalog and ran nothing. What it found is in the log of its task plan."));
    if (frozen?.needs_approval) found.push(this.approval(frozen.decision));
    if (data.guess) found.push(banner("info", "Made without knowing what is deployed: nothing was deployed by this DAG yet. The first run looks at the catalog, and does only what is needed."));
    if (!data.run && data.active) found.push(banner("info", "A run is under way: ", airflowLink(`${runPath(this.place.dag, data.active)}/plugin/sparkdeploy`, data.active)));
    return found;
  }

  approval(decision) {
    if (decision.approved) return banner("info", "Approved", decision.by ? ` by ${decision.by}` : "", ": operations of this run lose data.");
    if (decision.approved === false) return banner("bad", "Not approved", decision.by ? ` by ${decision.by}` : "", decision.why ? `: ${decision.why}` : "", ". Nothing was run.");
    return banner("warn", "Waits for approval: operations of this run lose data.");
  }

  fillList() {
    const { operations } = this.data;
    if (!operations.length) {
      const done = this.data.run ? "This run had nothing to do." : "Everything that is deployed is as its file says.";
      this.list.append(nothing("Nothing to do", this.data.problems.length ? "" : done));
      return;
    }
    const danger = operations.filter((operation) => operation.destructive);
    if (danger.length) this.list.append(this.section("Loses data", danger, "bad", true));
    for (const phase of Object.keys(PHASES)) {
      const own = operations.filter((operation) => operation.phase === phase);
      if (!own.length) continue;
      this.list.append(h("h3", { class: "phase" }, PHASES[phase], h("span", { class: "muted" }, ` ${own.length.toLocaleString("en")}`)));
      const schemas = new Map();
      for (const operation of own) (schemas.get(operation.schema) ?? schemas.set(operation.schema, []).get(operation.schema)).push(operation);
      for (const [schema, found] of schemas) this.list.append(this.section(schema, found, "", operations.length <= MANY));
    }
  }

  section(title, operations, tone, open) {
    const body = h("div", { class: "rows" });
    const fill = () => body.childElementCount || body.append(...operations.map((operation, at) => this.row(operation, tone, at ? "-1" : "0")));
    const marks = [...new Set(operations.map((operation) => operation.action))].map((action) => mark(action));
    const section = h(
      "details",
      { class: `group ${tone}`, open, ontoggle: fill },
      h("summary", {}, h("span", { class: "title" }, title), h("span", { class: "muted" }, operations.length.toLocaleString("en")), h("span", { class: "marks" }, marks)),
      body,
    );
    section.operations = operations;
    section.fill = fill;
    if (open) fill();
    return section;
  }

  /** One row of a group is reached with Tab, the others with the arrow keys. */
  row(operation, tone, tabindex) {
    const row = h(
      "button",
      { type: "button", class: `row${operation.destructive ? " danger" : ""}`, "data-id": operation.id, tabindex, onclick: (event) => this.choose({ operation, from: "list", enter: event.detail === 0 }) },
      mark(operation.action),
      h("span", { class: "what" }, named(operation.object), operation.part ? h("span", { class: "change" }, operation.part) : null),
      h("span", { class: "kind" }, kind(operation.kind)),
      state(operation.state),
      h("span", { class: "why" }, operation.why || "changed"),
    );
    if (tone !== "bad" || !this.rows.has(operation.id)) this.rows.set(operation.id, row);
    return row;
  }

  close() {
    clearTimeout(this.timer);
    this.graph.close();
  }

  /** Look again at a run that is under way, and show how far it is. */
  watch() {
    if (!["running", "queued"].includes(this.data.run?.state)) return;
    this.timer = setTimeout(async () => {
      try {
        const now = await ask(dagPath(this.place.dag, "plan"), { group: this.place.group, run_id: this.place.run });
        if (now.operations.length !== this.data.operations.length || Boolean(now.frozen) !== Boolean(this.data.frozen)) {
          location.reload(); // its plan is there now
          return;
        }
        this.data.run = now.run;
        for (const operation of now.operations) {
          for (const row of this.list.querySelectorAll(`.row[data-id="${CSS.escape(operation.id)}"]`)) {
            row.querySelector(".state")?.replaceWith(state(operation.state) ?? "");
          }
        }
        this.graph.update(now.graph.nodes);
      } catch {
        // the next look may do better
      }
      this.watch();
    }, PAUSE);
  }

  show(pane) {
    this.panes.classList.toggle("show-list", pane === "list");
    this.panes.classList.toggle("show-graph", pane === "graph");
    for (const button of this.picks.children) button.setAttribute("aria-pressed", String(button.dataset.pane === pane));
  }

  filter() {
    const text = this.search.value.trim().toLowerCase();
    const found = this.graph.search(text);
    const fits = (operation) => !text || operation.id.toLowerCase().includes(text) || operation.object.toLowerCase().includes(text) || operation.action === text;
    let phase = null;
    for (const element of this.list.children) {
      if (element.classList.contains("phase")) {
        phase = element;
        phase.hidden = Boolean(text);
        continue;
      }
      if (!element.operations) continue;
      const hits = element.operations.filter(fits);
      element.hidden = !hits.length;
      if (phase && hits.length) phase.hidden = false;
      if (text && hits.length && hits.length <= 200) element.open = true;
      if (element.open) element.fill();
      const kept = new Set(hits.map((operation) => operation.id));
      for (const row of element.querySelectorAll(".row")) row.hidden = !kept.has(row.dataset.id);
    }
    return found;
  }

  /** Enter in the search: the next match. */
  next() {
    const found = this.graph.found;
    if (found.length) this.choose({ object: found[(found.indexOf(this.graph.chosen) + 1) % found.length], from: "search" });
  }

  listKey(event) {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const rows = [...this.list.querySelectorAll(".row, summary")].filter((row) => row.checkVisibility());
    const next = rows[rows.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1)];
    if (next?.matches(".row")) {
      for (const row of next.parentElement.children) row.tabIndex = row === next ? 0 : -1;
    }
    next?.focus();
    event.preventDefault();
  }

  open(rest) {
    const operation = this.data.operations.find((item) => item.id === rest);
    if (operation) this.choose({ operation, from: "address" });
    else if (this.graph.byId.has(rest)) this.choose({ object: rest, from: "address" });
  }

  /** Show why. `enter`: whoever chose it with the keyboard goes on in the drawer, and back with Escape. */
  async choose({ operation, object, from, enter }) {
    const chosen = operation ?? this.byObject.get(object)?.[0];
    const name = object ?? chosen.object;
    this.list.querySelector(".row[aria-current]")?.removeAttribute("aria-current");
    if (chosen) {
      const row = this.rowOf(chosen);
      row?.setAttribute("aria-current", "true");
      if (from !== "list") row?.scrollIntoView({ block: "nearest" });
    }
    if (from !== "graph") this.graph.select(name);
    this.drawer.hidden = false;
    this.panes.classList.add("with-drawer");
    if (enter) {
      this.before = document.activeElement;
      this.drawer.focus();
    }
    this.drawer.replaceChildren(this.drawerHead(name, chosen), h("p", { class: "muted" }, "…"));
    this.turn = (this.turn ?? 0) + 1;
    const turn = this.turn;
    const content = chosen ? await this.operation(chosen) : this.unchanged(name);
    if (turn === this.turn) this.drawer.replaceChildren(this.drawerHead(name, chosen), ...content);
  }

  shut() {
    const inside = this.drawer.contains(document.activeElement);
    this.drawer.hidden = true;
    this.panes.classList.remove("with-drawer");
    this.list.querySelector(".row[aria-current]")?.removeAttribute("aria-current");
    this.graph.select(null);
    if (inside) (this.before?.isConnected ? this.before : this.graph.svg).focus();
  }

  rowOf(operation) {
    if (!this.rows.has(operation.id)) {
      for (const section of this.list.querySelectorAll("details")) {
        if (section.operations.includes(operation)) {
          section.open = true;
          section.fill();
        }
      }
    }
    const row = this.rows.get(operation.id);
    row?.closest("details")?.setAttribute("open", "");
    return row;
  }

  drawerHead(name, chosen) {
    const others = this.byObject.get(name) ?? [];
    const node = this.graph.byId.get(name);
    return h(
      "header",
      {},
      h("div", { class: "over" }, mark(chosen?.action ?? ""), h("h2", {}, named(name)), h("button", { type: "button", class: "close", "aria-label": "Close", title: "Close", onclick: () => this.shut() }, "×")),
      h("div", { class: "chips" }, chip(kind(chosen?.kind ?? node?.kind ?? "")), chosen ? chip(chosen.phase) : chip("unchanged"), node?.component ? chip("in a cycle", "info") : null, chosen?.destructive ? chip("loses data", "bad") : null, state(chosen?.state)),
      others.length > 1
        ? h("div", { class: "steps", role: "group", "aria-label": "Operations of this object" },
            others.map((item) => h("button", { type: "button", class: "toggle", "aria-pressed": String(item === chosen), onclick: () => this.choose({ operation: item, from: "drawer" }) }, mark(item.action), item.part || item.action)))
        : null,
    );
  }

  async operation(chosen) {
    const { place } = this;
    let full;
    try {
      full = await ask(dagPath(place.dag, "operation"), { group: place.group, run_id: place.run, name: chosen.id });
    } catch (error) {
      return [banner("bad", error.message)];
    }
    return [
      h("h4", {}, "Why"),
      this.chains(full),
      ...this.texts(full),
      ...this.log(full),
      full.depends_on.length ? h("h4", {}, "After") : null,
      full.depends_on.length ? h("ul", { class: "plain" }, full.depends_on.slice(0, 30).map((id) => h("li", {}, h("code", {}, id))), full.depends_on.length > 30 ? h("li", { class: "muted" }, `and ${full.depends_on.length - 30} more`) : null) : null,
      h("p", { class: "foot muted" }, h("code", {}, full.id), full.task ? [" · ", airflowLink(`${runPath(place.dag, place.run)}/tasks/${encodeURIComponent(full.task)}`, "task and its log")] : null),
    ].filter(Boolean);
  }

  chains(full) {
    if (!full.chains.length) return h("p", { class: "muted" }, "It changed.");
    const link = (part) => [
      part.link ? h("span", { class: "link-word" }, part.link) : null,
      part.end
        ? chip(part.name, "seed")
        : part.object
          ? h("button", { type: "button", class: "ref", onclick: () => this.choose({ object: part.name, from: "drawer" }) }, breakable(part.name))
          : h("strong", {}, part.name),
    ];
    return h("ol", { class: "chains" }, full.chains.map((chain) => h("li", {}, chain.map((part, at) => [at ? h("span", { class: "then", "aria-hidden": "true" }, "›") : null, ...link(part)]))));
  }

  texts(full) {
    const title = full.action === "drop" ? "What goes" : full.deployed ? "What changes" : "What is new";
    if (full.diff === null) return [h("h4", {}, "SQL"), sql(full.sql), h("p", { class: "muted" }, "What was deployed before this run was not kept.")];
    if (!full.deployed && full.action !== "drop") return [h("h4", {}, full.action === "create" ? title : "What runs"), sql(full.sql)];
    if (!full.diff.length && ["alter", "run", "index", "load"].includes(full.action)) return [h("h4", {}, "What runs"), sql(full.sql)];
    const changed = full.diff.length
      ? difference(full.diff)
      : h("p", { class: "muted" }, "The same text as deployed: it is made again because of what it depends on.");
    return [h("h4", {}, title), changed, h("details", { class: "fold" }, h("summary", {}, "The SQL that runs"), sql(full.sql))];
  }

  log(full) {
    if (!full.entries.length) return [];
    const words = { intent: "begun", done: "done", failed: "failed" };
    return [
      h("h4", {}, "Log", full.tries > 1 ? h("span", { class: "muted" }, ` ${full.tries} tries`) : null),
      h("ul", { class: "plain log" }, full.entries.map((entry) =>
        h("li", {}, when(entry.at), " ", h("strong", { class: `t-${entry.type}` }, words[entry.type] ?? entry.type), entry.iterations ? `, ${many(entry.iterations, "pass").replace("passs", "passes")}` : "", entry.saw ? `: ${entry.saw}` : "", entry.error ? h("pre", { class: "error" }, entry.error) : null))),
    ];
  }

  unchanged(name) {
    const up = this.graph.reads.get(name) ?? [];
    const down = this.graph.readBy.get(name) ?? [];
    const refs = (names) => h("ul", { class: "plain" }, names.map((id) => h("li", {}, h("button", { type: "button", class: "ref", onclick: () => this.choose({ object: id, from: "drawer" }) }, breakable(id)))));
    return [
      h("p", {}, this.data.run ? "This run has nothing to do for it." : "Nothing has to be done for it: it is as its file says."),
      up.length ? h("h4", {}, "Reads") : null, up.length ? refs(up) : null,
      down.length ? h("h4", {}, "Read by") : null, down.length ? refs(down) : null,
      h("p", { class: "foot" }, h("a", { class: "link", href: `#objects/${encodeURIComponent(name)}` }, "What is deployed")),
    ].filter(Boolean);
  }
}

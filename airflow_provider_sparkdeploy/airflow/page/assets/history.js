// The tab History: deployments over time.

import { airflowLink, ask, banner, chip, dagPath, h, lasting, many, mark, named, nothing, runPath, s, when } from "./dom.js";

export async function historyTab(place) {
  const data = await ask(dagPath(place.dag, "history"), { group: place.group });
  if (!data.runs.length) return { element: nothing("No deployments yet", "Trigger the DAG: its first run is shown here.") };
  const view = new HistoryView(place, data);
  return { element: view.element, at: (run) => view.open(run) };
}

class HistoryView {
  constructor(place, data) {
    this.place = place;
    this.runs = data.runs;
    this.more = h("button", { type: "button", class: "more", hidden: !data.more, onclick: () => this.older() }, "Older deployments");
    this.list = h("ol", { class: "runs" });
    this.chart = h("div", { class: "chart" });
    this.element = h("div", { class: "history scroll" }, this.chart, this.list, this.more);
    this.draw();
  }

  async older() {
    const data = await ask(dagPath(this.place.dag, "history"), { group: this.place.group, offset: String(this.runs.length) });
    this.runs.push(...data.runs);
    this.more.hidden = !data.more;
    this.draw();
  }

  draw() {
    this.chart.replaceChildren(bars(this.runs, (run) => this.open(run.run_id)));
    this.items = new Map();
    this.list.replaceChildren(...this.runs.map((run) => this.item(run)));
  }

  item(run) {
    const body = h("div", { class: "full" });
    const item = h("li", {},
      h("details", { class: `run s-${run.state}`, ontoggle: (event) => event.target.open && !body.childElementCount && this.fill(run, body) },
        h("summary", {},
          h("span", { class: `dot s-${run.state}`, title: run.state }),
          h("span", { class: "when" }, when(run.start)),
          h("span", { class: "told" }, this.told(run)),
          h("span", { class: "took" }, lasting(run.seconds)),
          h("span", { class: "id muted", title: run.run_id }, run.run_id)),
        body));
    this.items.set(run.run_id, item.firstChild);
    return item;
  }

  told(run) {
    const counts = Object.entries(run.counts).map(([action, count]) => h("span", { class: "count" }, mark(action), String(count)));
    const words = [];
    if (run.planned === null) words.push(chip("no plan", "warn"));
    else if (run.stale?.length) words.push(chip("stale", "warn"));
    else if (run.dry_run) words.push(chip("dry run"));
    else if (!run.planned) words.push(h("span", { class: "muted" }, "nothing to do"));
    else words.push(...counts, h("span", { class: "muted" }, `${run.done} of ${run.planned} done`));
    if (run.failed) words.push(chip(`${run.failed} failed`, "bad"));
    if (run.lost) words.push(chip(`${run.lost} lost data`, "bad"));
    if (run.resumed.length) words.push(chip("resumed", "info"));
    if (run.decision?.approved) words.push(chip("approved", "info"));
    if (run.decision?.approved === false) words.push(chip("not approved", "bad"));
    return words;
  }

  open(run) {
    const item = this.items.get(run);
    if (!item) return;
    item.open = true;
    item.scrollIntoView({ block: "nearest" });
    item.querySelector("summary").focus();
  }

  async fill(run, body) {
    body.append(h("p", { class: "muted" }, "…"));
    try {
      const full = await ask(dagPath(this.place.dag, "deployment"), { group: this.place.group, run_id: run.run_id });
      body.replaceChildren(...this.full(run, full));
    } catch (error) {
      body.replaceChildren(banner("bad", error.message));
    }
  }

  full(run, full) {
    const failed = full.operations.filter((operation) => operation.outcome === "failed");
    return [
      h("p", { class: "foot" },
        airflowLink(`${runPath(this.place.dag, run.run_id)}/plugin/sparkdeploy`, "Plan and graph of this run"), " · ", airflowLink(runPath(this.place.dag, run.run_id), "Run in Airflow"),
        full.environment ? [" · environment ", h("strong", {}, full.environment)] : null, run.user ? [" · by ", run.user] : null),
      ...failed.map((operation) => banner("bad", h("strong", {}, operation.id), h("pre", { class: "error" }, operation.entries.at(-1)?.error ?? ""))),
      full.stale?.length ? banner("warn", h("strong", {}, "Stale. "), full.stale[0]) : null,
      full.resumed.length ? banner("info", h("strong", {}, "How it was resumed"), h("ul", {}, full.resumed.map((line) => h("li", {}, line)))) : null,
      run.went_on ? h("p", {}, "What it had left to do was done by ", airflowLink(`${runPath(this.place.dag, run.went_on)}/plugin/sparkdeploy`, run.went_on), ".") : null,
      full.operations.length ? this.operations(full.operations) : h("p", { class: "muted" }, "It ran no operation."),
    ].filter(Boolean);
  }

  operations(operations) {
    const longest = Math.max(...operations.map((operation) => operation.statement_seconds ?? 0), 1);
    const row = (operation) =>
      h("tr", { class: operation.outcome },
        h("td", {}, mark(operation.action)),
        h("td", { class: "name" }, named(operation.object), operation.part ? h("span", { class: "change" }, operation.part) : null),
        h("td", { class: "muted why" }, operation.why),
        h("td", { class: "nowrap" }, h("span", { class: `status ${operation.outcome === "done" ? "good" : operation.outcome === "failed" ? "bad" : "warn"}` }, operation.outcome || "not run")),
        h("td", { class: "number" }, operation.tries > 1 ? `${operation.tries} tries` : ""),
        h("td", { class: "bar" }, meter(operation.statement_seconds, longest)),
        h("td", { class: "number nowrap", title: "the statement itself" }, operation.statement_seconds === null ? "–" : lasting(operation.statement_seconds)),
        h("td", { class: "number nowrap muted", title: "the task, with its start" }, lasting(operation.seconds)));
    const head = ["", "Object", "Why", "Outcome", "", "", "Statement", "Task"].map((text) => h("th", { scope: "col" }, text));
    const shown = operations.slice(0, 500);
    return h("div", { class: "wide" },
      h("table", { class: "operations" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, shown.map(row))),
      operations.length > shown.length ? h("p", { class: "muted" }, `and ${many(operations.length - shown.length, "operation")} more: see the plan of the run`) : null);
  }
}

function meter(seconds, longest) {
  return s("svg", { class: "meter", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, s("rect", { width: seconds ? Math.max(1.5, (100 * seconds) / longest) : 0, height: 8, rx: 1.5 }));
}

/** How long each deployment took, the oldest on the left. */
function bars(runs, open) {
  const shown = [...runs].reverse().slice(-40);
  const longest = Math.max(...shown.map((run) => run.seconds ?? 0), 1);
  const step = 22;
  const height = 72;
  const svg = s("svg", { class: "bars", viewBox: `0 0 ${Math.max(shown.length, 12) * step} ${height + 14}`, width: Math.max(shown.length, 12) * step, height: height + 14, role: "img", "aria-label": `Durations of the last ${shown.length} deployments; the longest took ${lasting(longest)}` });
  shown.forEach((run, at) => {
    const tall = Math.max(3, ((run.seconds ?? 0) / longest) * height);
    svg.append(
      s("g", { class: `bar s-${run.state}`, onclick: () => open(run) },
        s("title", {}, `${run.run_id}\n${run.state}, ${lasting(run.seconds)}, ${run.done} of ${run.planned ?? "?"} operations`),
        s("rect", { class: "hit", x: at * step, y: 0, width: step, height: height + 12 }),
        s("rect", { class: "tall", x: at * step + 4, y: height - tall + 2, width: step - 8, height: tall, rx: 2.5 }),
        run.resumed.length ? s("circle", { class: "again", cx: at * step + step / 2, cy: height + 9, r: 2.6 }) : null));
  });
  return h("figure", {}, svg, h("figcaption", { class: "muted" }, `Duration of the last ${shown.length === 1 ? "deployment" : many(shown.length, "deployment")}, up to ${lasting(longest)}`, shown.some((run) => run.resumed.length) ? " · dot: resumed" : ""));
}

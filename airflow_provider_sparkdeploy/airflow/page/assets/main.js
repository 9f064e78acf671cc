// The page: which DAG, which run, which tab. ?dag_id= &run_id= &group= #tab/what

import { componentsTab } from "./components.js";
import { ask, banner, dagPath, h, nothing, waiting } from "./dom.js";
import { historyTab } from "./history.js";
import { objectsTab } from "./objects.js";
import { overview } from "./overview.js";
import { planTab } from "./plan.js";

const TABS = { plan: ["Plan", planTab], objects: ["Objects", objectsTab], history: ["History", historyTab], components: ["Components", componentsTab] };
const root = document.getElementById("page");
const asked = new URLSearchParams(location.search);
const place = { dag: asked.get("dag_id") ?? "", run: asked.get("run_id") ?? "", group: asked.get("group") ?? "" };
let open = { tab: "", close: () => {}, at: () => {} };

/** Light or dark as Airflow is: its page is around this one, else what it has stored, else the system. */
function dress() {
  let dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const stored = localStorage.getItem("theme");
  if (stored === "dark" || stored === "light") dark = stored === "dark";
  try {
    const around = window.parent !== window && window.parent.document.documentElement;
    if (around && (around.classList.contains("dark") || around.classList.contains("light"))) dark = around.classList.contains("dark");
  } catch {
    // a page of somebody else's is around this one
  }
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

function watchTheme() {
  dress();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", dress);
  addEventListener("storage", dress);
  try {
    if (window.parent !== window) new MutationObserver(dress).observe(window.parent.document.documentElement, { attributes: true, attributeFilter: ["class", "data-theme", "style"] });
  } catch {
    // see above
  }
}

const address = (changes) => {
  const query = new URLSearchParams(Object.entries({ dag_id: place.dag, run_id: place.run, group: place.group, ...changes }).filter(([, value]) => value));
  return `?${query}`;
};

async function start() {
  root.replaceChildren(waiting());
  try {
    if (!place.dag) {
      root.replaceChildren(await overview());
      return;
    }
    const dag = await ask(dagPath(place.dag));
    if (!dag.groups.length) {
      root.replaceChildren(nothing("Nothing to see here", "The DAG ", h("strong", {}, place.dag), " deploys nothing with SparkDeploy."));
      return;
    }
    if (!dag.groups.includes(place.group)) place.group = dag.groups[0];
    frame(dag);
    addEventListener("hashchange", show);
    addEventListener("keydown", slash);
    await show();
  } catch (error) {
    root.replaceChildren(refused(error));
  }
}

function refused(error) {
  if (error.status === 401) return nothing("Not signed in", "Sign in to Airflow, then open this page again.");
  if (error.status === 403) return nothing("Not allowed", "You may not read this DAG, and so not what it deploys.");
  return banner("bad", h("strong", {}, "That did not work. "), error.message);
}

/** The tabs, and what they are about. */
function frame(dag) {
  const tabs = h("div", { role: "tablist", "aria-label": "SparkDeploy", class: "tabs", onkeydown: arrows },
    Object.entries(TABS).map(([name, [label]]) => h("a", { role: "tab", id: `tab-${name}`, href: `#${name}`, "aria-controls": "panel" }, label)));
  const pick = h("select", { "aria-label": "Which plan", class: "which", onchange: (event) => location.assign(address({ run_id: event.target.value }) + location.hash) },
    h("option", { value: "" }, "What the next run does"),
    withChosen(dag.runs).map((run) => h("option", { value: run.run_id, selected: run.run_id === place.run }, `${run.state} · ${run.run_id}`)));
  const groups = dag.groups.length > 1
    ? h("select", { "aria-label": "Which deployment", onchange: (event) => location.assign(address({ group: event.target.value }) + location.hash) },
        dag.groups.map((group) => h("option", { value: group, selected: group === place.group }, group || place.dag)))
    : null;
  root.replaceChildren(h("header", { class: "top" }, tabs, h("div", { class: "about" }, groups, pick)), h("main", { id: "panel", role: "tabpanel" }));
}

function withChosen(runs) {
  return !place.run || runs.some((run) => run.run_id === place.run) ? runs : [{ run_id: place.run, state: "run" }, ...runs];
}

function arrows(event) {
  const tabs = [...event.currentTarget.children];
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
  next.focus();
  next.click();
  event.preventDefault();
}

function slash(event) {
  if (event.key !== "/" || /input|select|textarea/i.test(document.activeElement?.tagName ?? "")) return;
  const search = root.querySelector(".search");
  if (!search) return;
  search.focus();
  event.preventDefault();
}

async function show() {
  const [name, ...rest] = location.hash.slice(1).split("/");
  const tab = TABS[name] ? name : "plan";
  const what = rest.length ? decodeURIComponent(rest.join("/")) : "";
  if (open.tab !== tab) {
    open.close?.();
    open = { tab };
    for (const element of root.querySelectorAll("[role=tab]")) element.setAttribute("aria-selected", String(element.id === `tab-${tab}`));
    const panel = document.getElementById("panel");
    panel.setAttribute("aria-labelledby", `tab-${tab}`);
    panel.className = tab;
    panel.replaceChildren(waiting());
    try {
      const made = await TABS[tab][1](place);
      if (open.tab !== tab) {
        made.close?.();
        return;
      }
      open = { tab, ...made };
      panel.replaceChildren(made.element);
    } catch (error) {
      panel.replaceChildren(refused(error));
      return;
    }
  }
  if (what) open.at?.(what);
}

watchTheme();
start();

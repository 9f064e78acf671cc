// Elements, words and requests. Text is always set as text: SQL and names are never markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [key, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "value") element.value = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

export const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);
export const s = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** What the server says. Addresses are relative: Airflow may live below a path. */
export async function ask(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value));
  const answer = await fetch(`api/${path}${query.size ? `?${query}` : ""}`, { headers: { Accept: "application/json" } });
  if (answer.ok) return answer.json();
  let told = answer.statusText;
  try {
    told = (await answer.json()).detail ?? told;
  } catch {
    // no JSON: the status has to do
  }
  throw new Refusal(answer.status, String(told));
}

export const dagPath = (dag, rest = "") => `dags/${encodeURIComponent(dag)}${rest ? `/${rest}` : ""}`;

/** Go somewhere in Airflow's own UI. The frame may not navigate it, so its router is told. */
export function goTo(path) {
  const base = new URL("..", location.href).pathname;
  const address = `${base}${path}`;
  if (window.parent === window) {
    location.assign(address);
    return;
  }
  window.parent.history.pushState({}, "", address);
  window.parent.dispatchEvent(new PopStateEvent("popstate", { state: {} }));
}

export function airflowLink(path, ...children) {
  const base = new URL("..", location.href).pathname;
  const open = (event) => {
    event.preventDefault();
    goTo(path);
  };
  return h("a", { href: `${base}${path}`, class: "link", onclick: open }, ...children);
}

export const runPath = (dag, run) => `dags/${encodeURIComponent(dag)}/runs/${encodeURIComponent(run)}`;

// Words

export const SYMBOLS = {
  create: "+", drop: "−", recreate: "−/+", replace: "~", alter: "~", run: "▸", refresh: "↻", fixpoint: "∞", index: "#", load: "⇣",
};
export const KINDS = {
  table: "table", view: "view", materialized_view: "materialized view", function: "function", migration: "migration",
  sink: "sink", data: "data",
};
const STATES = { done: "✓", failed: "✕", running: "◌", waiting: "·", skipped: "⤼" };

export const many = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

export const kind = (name) => KINDS[name] ?? name;

export const mark = (action) =>
  h("span", { class: `mark a-${action || "none"}`, title: action || "unchanged", "aria-label": action || "unchanged" }, SYMBOLS[action] ?? "=");

export const state = (name) =>
  name ? h("span", { class: `state s-${name}`, title: name, "aria-label": name, role: "img" }, STATES[name] ?? "") : null;

export const chip = (text, tone = "") => h("span", { class: `chip ${tone}` }, text);

/** How many operations lose data; nothing where none does. */
export const losing = (count) => (count ? chip(`${count} ${count === 1 ? "loses" : "lose"} data`, "bad") : null);

/** The time zone that Airflow shows times in: the one chosen there, else the browser's. */
function zone() {
  try {
    const chosen = JSON.parse(localStorage.getItem("timezone")) ?? undefined;
    new Intl.DateTimeFormat("en", { timeZone: chosen });
    return chosen;
  } catch {
    return undefined; // nothing that one knows
  }
}

export function when(iso) {
  if (!iso) return h("span", { class: "muted" }, "–");
  const at = new Date(iso);
  const text = at.toLocaleString("en-GB", { year: "numeric", month: "short", day: "2-digit", hour: "2-digit", minute: "2-digit", timeZone: zone() });
  return h("time", { datetime: iso, title: `${iso} (${ago(at)})` }, text);
}

function ago(at) {
  const seconds = (Date.now() - at.getTime()) / 1000;
  for (const [size, word] of [[86400, "day"], [3600, "hour"], [60, "minute"]]) {
    if (seconds >= size) return `${many(Math.floor(seconds / size), word)} ago`;
  }
  return "just now";
}

export function lasting(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

export const shortHash = (hash) => h("code", { class: "hash", title: hash }, hash ? hash.slice(0, 10) : "–");

/** A text that may be broken behind the dots and underscores of its names, and nowhere else while there is room. */
export const breakable = (text) => text.split(/(?<=[._])/).flatMap((part, at) => (at ? [h("wbr"), part] : [part]));

/** A name with its schema in the background. */
export function named(name) {
  const at = splitAt(name);
  return h("span", { class: "name", title: name }, at ? h("span", { class: "of" }, breakable(name.slice(0, at + 1)), h("wbr")) : null, breakable(name.slice(at ? at + 1 : 0)));
}

/** Escape closes a drawer, but for a search with a text in it: that is emptied first. */
export const escapes = (event, drawer, shut) => {
  if (event.key !== "Escape" || drawer.hidden || (event.target.type === "search" && event.target.value)) return;
  event.preventDefault();
  shut();
};

export function splitAt(name) {
  if (!name.startsWith("`")) return Math.max(0, name.indexOf("."));
  const end = name.indexOf("`.", 1);
  return end < 0 ? 0 : end + 1;
}

export const waiting = () => h("div", { class: "waiting", role: "status" }, h("span", { class: "spinner" }), "Reading…");

export const nothing = (title, ...text) => h("div", { class: "nothing" }, h("h3", {}, title), h("p", {}, ...text));

export const banner = (tone, ...content) => h("div", { class: `banner ${tone}`, role: tone === "bad" ? "alert" : "note" }, ...content);

// The dependency graph: layers while it is small, a map of schemas when it is large. Drag or arrow keys,
// wheel or + and -, a click or Enter for why.

import { KINDS, SYMBOLS, h, many, s, splitAt } from "./dom.js";
import { layered, mapped } from "./layout.js";

const MOST_LAYERED = 90; // nodes; more of them are shown as a map
const MOST_AROUND = 40; // nodes of the neighbourhood of one,
const FARTHEST = 2; // and steps from it
const MOST_TRACED = 600; // edges drawn at once on a map
const NODE = { w: 196, h: 44 };
const FAR = 0.52; // the zoom below which names on a map cannot be read,
const SMALL = 0.8; // and that below which a node has room for nothing but its name, in larger letters
const ZOOMS = [0.04, 3];
const MARKS = { done: "✓", failed: "✕", running: "◌", skipped: "⤼" };

export class Graph {
  /** choose(id, enter) is called when a node is chosen; with `enter` by the keyboard. */
  constructor(data, choose) {
    this.data = data;
    this.choose = choose;
    this.byId = new Map(data.nodes.map((node) => [node.id, node]));
    this.reads = new Map(data.nodes.map((node) => [node.id, []]));
    this.readBy = new Map(data.nodes.map((node) => [node.id, []]));
    for (const [from, to] of data.edges) {
      this.reads.get(to)?.push(from);
      this.readBy.get(from)?.push(to);
    }
    this.changing = data.nodes.filter((node) => node.action);
    this.only = false;
    this.near = null;
    this.chosen = null;
    this.found = [];
    this.view = { x: 0, y: 0, zoom: 1 };
    this.build();
    this.show();
  }

  build() {
    this.edges = s("g", { class: "edges" });
    this.boxes = s("g", { class: "boxes" });
    this.nodes = s("g", { class: "nodes" });
    this.scene = s("g", {}, this.boxes, this.edges, this.nodes);
    const arrow = (id) =>
      s("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, s("path", { d: "M0 .8 7.2 4 0 7.2z" }));
    this.svg = s(
      "svg",
      { class: "canvas", tabindex: "0", role: "application", "aria-label": "Dependency graph. Arrow keys move between objects, Enter shows why, plus and minus zoom, 0 fits." },
      s("defs", {}, arrow("tip"), arrow("tip-lit")),
      this.scene,
    );
    const button = (label, title, action) => h("button", { type: "button", title, "aria-label": title, onclick: action }, label);
    this.onlyButton = h("button", { type: "button", class: "toggle", "aria-pressed": "false", onclick: () => this.toggleOnly() }, "Only what changes");
    this.nearButton = h("button", { type: "button", class: "toggle", "aria-pressed": "false", disabled: true, onclick: () => this.toggleNear() }, "Around the chosen");
    this.said = h("span", { class: "said", "aria-live": "polite" });
    this.legend = h("div", { class: "legend" });
    this.element = h(
      "section",
      { class: "graph", "aria-label": "Dependency graph" },
      h(
        "div",
        { class: "bar" },
        this.onlyButton, this.nearButton, this.said,
        h("span", { class: "zoom" }, button("−", "Zoom out", () => this.zoomBy(1 / 1.4)), button("+", "Zoom in", () => this.zoomBy(1.4)), button("⤢", "Fit", () => this.fit())),
      ),
      this.svg,
      this.legend,
    );
    this.listen();
    this.watcher = new ResizeObserver(() => this.resized());
    this.watcher.observe(this.svg);
  }

  resized() {
    const { width, height } = this.svg.getBoundingClientRect();
    if (width < 20 || height < 20 || (this.size && Math.abs(this.size[0] - width) + Math.abs(this.size[1] - height) < 8)) return;
    this.size = [width, height];
    if (this.drawnFor !== Math.round((width / height) * 4)) this.show();
    else this.fit();
    if (this.chosen) this.centre(this.chosen);
  }

  /** The nodes to draw, where, and how. */
  show() {
    let nodes = this.data.nodes;
    if (this.near) {
      const kept = this.neighbourhood(this.near);
      nodes = nodes.filter((node) => kept.has(node.id));
    } else if (this.only) {
      const kept = new Set(this.changing.map((node) => node.id));
      nodes = nodes.filter((node) => kept.has(node.id));
    }
    const kept = new Set(nodes.map((node) => node.id));
    const edges = this.data.edges.filter(([from, to]) => kept.has(from) && kept.has(to));
    this.large = nodes.length > MOST_LAYERED;
    const aspect = this.size ? this.size[0] / this.size[1] : 1.7;
    this.drawnFor = Math.round(aspect * 4);
    this.layout = this.large
      ? mapped(nodes, edges, aspect)
      : layered(nodes.map((node) => ({ ...NODE, id: node.id })), edges, aspect);
    this.svg.classList.toggle("large", this.large);
    this.drawBoxes();
    this.drawNodes(nodes);
    this.drawEdges();
    this.drawLegend(nodes);
    const hidden = this.data.nodes.length - nodes.length;
    this.said.textContent = `${many(nodes.length, "object")}${hidden ? ` of ${this.data.nodes.length.toLocaleString("en")}` : ""}`;
    this.onlyButton.hidden = !this.changing.length || this.changing.length === this.data.nodes.length;
    this.trace();
    this.mark();
    this.fit();
    if (this.near) this.centre(this.near);
  }

  drawBoxes() {
    const action = new Map();
    for (const node of this.changing) action.set(node.schema, (action.get(node.schema) ?? 0) + 1);
    this.boxes.replaceChildren(
      ...(this.layout.boxes ?? []).map((box) => {
        const changes = action.get(box.id) ?? 0;
        return s(
          "g",
          { class: "box", "data-id": box.id, transform: `translate(${box.x} ${box.y})` },
          s("rect", { width: box.w, height: box.h, rx: 12 }),
          s("text", { x: 16, y: 38, class: "title" }, s("tspan", {}, box.id), s("tspan", { class: "count", dx: 10 }, `${box.count}${changes ? ` · ${changes} in the plan` : ""}`)),
        );
      }),
    );
  }

  drawNodes(nodes) {
    this.drawn = new Map();
    this.nodes.replaceChildren(
      ...nodes.map((node) => {
        const place = this.layout.places.get(node.id);
        const element = this.large ? this.smallNode(node, place) : this.largeNode(node, place);
        this.drawn.set(node.id, element);
        return element;
      }),
    );
  }

  group(node, place, ...children) {
    const tones = `node a-${node.action || "none"}${node.destructive ? " danger" : ""}${node.drift ? " drift" : ""}${node.state ? ` s-${node.state}` : ""}`;
    const words = [node.id, KINDS[node.kind] ?? node.kind, node.action || "unchanged", node.destructive ? "loses data" : "", node.state].filter(Boolean);
    return s("g", { class: tones, "data-id": node.id, transform: `translate(${place.x} ${place.y})`, role: "button", "aria-label": words.join(", ") }, s("title", {}, words.join(" · ")), ...children);
  }

  largeNode(node, place) {
    const at = splitAt(node.id);
    const name = node.id.slice(at ? at + 1 : 0);
    const under = `${at ? `${node.id.slice(0, at)} · ` : ""}${KINDS[node.kind] ?? node.kind}`;
    const right = place.w - 12;
    return this.group(
      node, place,
      s("rect", { class: "body", width: place.w, height: place.h, rx: 8 }),
      s("rect", { class: "side", width: 4, height: place.h - 12, x: 6, y: 6, rx: 2 }),
      s("text", { class: "label", x: 18, y: 19, "data-name": name, "data-room": node.action || node.component ? 15 : 17 }, short(name, 23)),
      s("text", { class: "under", x: 18, y: 34 }, short(under, 25)),
      node.component ? s("text", { class: "ring", x: right, y: 35, "text-anchor": "end" }, "∞") : null,
      node.action ? s("text", { class: "sign", x: right, y: 20, "text-anchor": "end" }, MARKS[node.state] ?? SYMBOLS[node.action]) : null,
    );
  }

  smallNode(node, place) {
    const at = splitAt(node.id);
    return this.group(
      node, place,
      s("rect", { class: "body", width: place.w, height: place.h, rx: 5 }),
      s("text", { class: "label", x: 8, y: 15 }, short(node.id.slice(at ? at + 1 : 0), node.action ? 19 : 22)),
      node.action ? s("text", { class: "sign", x: place.w - 8, y: 15, "text-anchor": "end" }, MARKS[node.state] ?? SYMBOLS[node.action]) : null,
    );
  }

  drawEdges() {
    const lines = this.large ? [] : this.layout.lines;
    this.edges.replaceChildren(...lines.map((line) => s("path", { class: "edge", d: line.path, "data-from": line.from, "data-to": line.to, "marker-end": "url(#tip)" })));
  }

  drawLegend(nodes) {
    const actions = [...new Set(nodes.map((node) => node.action))].filter(Boolean).sort();
    const item = (tone, sign, text) => h("span", { class: `item ${tone}` }, h("i", { class: `mark ${tone}` }, sign), text);
    this.legend.replaceChildren(
      ...actions.map((action) => item(`a-${action}`, SYMBOLS[action], action)),
      nodes.some((node) => !node.action) ? item("a-none", "=", "unchanged") : "",
      nodes.some((node) => node.destructive) ? item("danger", "!", "loses data") : "",
      nodes.some((node) => node.drift) ? item("a-alter", "△", "drifted") : "",
      nodes.some((node) => node.component) ? item("a-none", "∞", "in a cycle") : "",
    );
  }

  // What is chosen, and what belongs to it

  reach(start, next) {
    const found = new Set();
    const queue = [start];
    while (queue.length) {
      for (const id of next.get(queue.pop()) ?? []) {
        if (!found.has(id) && id !== start) {
          found.add(id);
          queue.push(id);
        }
      }
    }
    return found;
  }

  neighbourhood(start) {
    const kept = new Set([start]);
    let edge = [start];
    for (let far = 0; far < FARTHEST && edge.length; far++) {
      const next = [];
      for (const id of edge) {
        for (const other of [...(this.reads.get(id) ?? []), ...(this.readBy.get(id) ?? [])]) {
          if (kept.size < MOST_AROUND && !kept.has(other) && (this.up.has(other) || this.down.has(other))) {
            kept.add(other);
            next.push(other);
          }
        }
      }
      edge = next;
    }
    return kept;
  }

  select(id, { centre = true, tell = false } = {}) {
    this.chosen = this.byId.has(id) ? id : null;
    this.nearButton.disabled = !this.chosen && !this.near;
    this.trace();
    if (this.chosen && this.near && !this.drawn.has(id)) {
      this.near = id;
      this.show();
    } else if (this.chosen && !this.drawn.has(id)) {
      this.only = false;
      this.onlyButton.setAttribute("aria-pressed", "false");
      this.show();
    }
    if (this.chosen && centre) this.centre(id);
    if (tell && this.chosen) this.choose(id);
  }

  /** Light up what the chosen one needs, and what needs it. */
  trace() {
    this.up = this.chosen ? this.reach(this.chosen, this.reads) : new Set();
    this.down = this.chosen ? this.reach(this.chosen, this.readBy) : new Set();
    if (!this.drawn) return;
    this.svg.classList.toggle("tracing", Boolean(this.chosen && this.drawn.has(this.chosen)));
    for (const [id, element] of this.drawn) {
      element.classList.toggle("chosen", id === this.chosen);
      element.classList.toggle("up", this.up.has(id));
      element.classList.toggle("down", this.down.has(id));
    }
    const lit = (from, to) =>
      this.chosen && ((this.up.has(from) || from === this.chosen) && (this.up.has(to) || to === this.chosen)
        ? true
        : (this.down.has(from) || from === this.chosen) && (this.down.has(to) || to === this.chosen));
    if (this.large) {
      const drawn = [];
      for (const [from, to] of this.chosen ? this.data.edges : []) {
        if (drawn.length < MOST_TRACED && lit(from, to) && this.drawn.has(from) && this.drawn.has(to)) {
          drawn.push(s("path", { class: "edge lit", d: this.straight(from, to), "marker-end": "url(#tip-lit)" }));
        }
      }
      this.edges.replaceChildren(...drawn);
      return;
    }
    for (const edge of this.edges.children) {
      const on = lit(edge.dataset.from, edge.dataset.to);
      edge.classList.toggle("lit", Boolean(on));
      edge.setAttribute("marker-end", on ? "url(#tip-lit)" : "url(#tip)");
    }
  }

  straight(from, to) {
    const a = this.layout.places.get(from);
    const b = this.layout.places.get(to);
    const [ax, ay, bx, by] = [a.x + a.w / 2, a.y + a.h / 2, b.x + b.w / 2, b.y + b.h / 2];
    const bend = Math.min(90, Math.hypot(bx - ax, by - ay) / 4);
    return `M${ax} ${ay}C${ax + bend} ${ay + bend} ${bx - bend} ${by + bend} ${bx} ${by}`;
  }

  toggleOnly() {
    this.only = !this.only;
    this.near = null;
    this.nearButton.setAttribute("aria-pressed", "false");
    this.onlyButton.setAttribute("aria-pressed", String(this.only));
    this.show();
  }

  toggleNear() {
    this.near = this.near ? null : this.chosen;
    this.nearButton.setAttribute("aria-pressed", String(Boolean(this.near)));
    this.show();
  }

  /** How far a run is by now. */
  update(nodes) {
    for (const { id, state } of nodes) {
      const node = this.byId.get(id);
      const element = this.drawn.get(id);
      if (!node || node.state === state) continue;
      if (element) {
        element.classList.remove(`s-${node.state}`);
        if (state) element.classList.add(`s-${state}`);
        const sign = element.querySelector(".sign");
        if (sign) sign.textContent = MARKS[state] ?? SYMBOLS[node.action];
      }
      node.state = state;
    }
  }

  /** Light up what has a text in its name; the first of it is brought into view. */
  search(text) {
    const wanted = text.trim().toLowerCase();
    this.found = wanted ? this.data.nodes.filter((node) => node.id.toLowerCase().includes(wanted)).map((node) => node.id) : [];
    this.wanted = wanted;
    this.mark();
    const first = this.found.find((id) => this.drawn.has(id));
    if (first && this.found.length <= 40) this.centre(first);
    return this.found;
  }

  mark() {
    if (!this.drawn) return;
    const found = new Set(this.found);
    this.svg.classList.toggle("searching", Boolean(this.wanted));
    for (const [id, element] of this.drawn) element.classList.toggle("found", found.has(id));
  }

  // Where one looks

  apply() {
    const { x, y, zoom } = this.view;
    this.scene.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)}) scale(${zoom.toFixed(4)})`);
    this.svg.classList.toggle("far", this.large && zoom < FAR);
    this.letters(!this.large && zoom < SMALL);
    const size = Math.max(15, Math.min(44, 14 / zoom));
    if (this.large && size !== this.titleSize) {
      this.titleSize = size;
      this.boxes.style.setProperty("--title", `${size}px`);
    }
  }

  letters(small) {
    this.svg.classList.toggle("small", small);
    for (const label of this.nodes.querySelectorAll(".label[data-name]")) {
      const text = short(label.dataset.name, small ? Number(label.dataset.room) : 23);
      if (label.textContent !== text) label.textContent = text;
    }
  }

  fit() {
    this.zoomTo({ x: 0, y: 0, w: this.layout.width, h: this.layout.height });
  }

  zoomTo(box) {
    if (!this.size) return;
    const [width, height] = this.size;
    const zoom = Math.min(1.15, (width - 32) / Math.max(1, box.w), (height - 24) / Math.max(1, box.h));
    this.view.zoom = Math.max(ZOOMS[0], zoom);
    this.view.x = width / 2 - (box.x + box.w / 2) * this.view.zoom;
    this.view.y = height / 2 - (box.y + box.h / 2) * this.view.zoom;
    this.apply();
  }

  zoomBy(factor, at = this.size ? [this.size[0] / 2, this.size[1] / 2] : [0, 0]) {
    const zoom = Math.max(ZOOMS[0], Math.min(ZOOMS[1], this.view.zoom * factor));
    const ratio = zoom / this.view.zoom;
    this.view.x = at[0] - (at[0] - this.view.x) * ratio;
    this.view.y = at[1] - (at[1] - this.view.y) * ratio;
    this.view.zoom = zoom;
    this.apply();
  }

  centre(id) {
    const place = this.layout.places.get(id);
    if (!place || !this.size) return;
    const [width, height] = this.size;
    const box = { x: place.x * this.view.zoom + this.view.x, y: place.y * this.view.zoom + this.view.y };
    const inside = box.x > 10 && box.y > 10 && box.x + place.w * this.view.zoom < width - 10 && box.y + place.h * this.view.zoom < height - 10;
    const readable = this.view.zoom >= (this.large ? 0.75 : 0.55);
    if (inside && readable) return;
    if (!readable) this.view.zoom = this.large ? 0.9 : 0.66;
    this.view.x = width / 2 - (place.x + place.w / 2) * this.view.zoom;
    this.view.y = height / 2 - (place.y + place.h / 2) * this.view.zoom;
    this.apply();
  }

  listen() {
    const point = (event) => {
      const box = this.svg.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    this.svg.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.zoomBy(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) * 0.006), point(event));
      },
      { passive: false },
    );
    let drag = null;
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      drag = { at: [event.clientX, event.clientY], from: { ...this.view }, moved: false, id: event.target.closest?.(".node")?.dataset.id, box: event.target.closest?.(".box")?.dataset.id };
      this.svg.setPointerCapture(event.pointerId);
    });
    this.svg.addEventListener("pointermove", (event) => {
      if (!drag) return;
      const [dx, dy] = [event.clientX - drag.at[0], event.clientY - drag.at[1]];
      if (!drag.moved && Math.hypot(dx, dy) < 5) return;
      drag.moved = true;
      this.svg.classList.add("dragging");
      this.view.x = drag.from.x + dx;
      this.view.y = drag.from.y + dy;
      this.apply();
    });
    this.svg.addEventListener("pointerup", () => {
      if (drag && !drag.moved) {
        if (drag.id) this.select(drag.id, { centre: false, tell: true });
        else if (drag.box) this.zoomTo(this.layout.boxes.find((box) => box.id === drag.box));
        else this.select(null);
      }
      drag = null;
      this.svg.classList.remove("dragging");
    });
    this.svg.addEventListener("pointercancel", () => (drag = null));
    this.svg.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (moves[event.key] && event.shiftKey) {
      this.view.x -= moves[event.key][0] * 60;
      this.view.y -= moves[event.key][1] * 60;
      this.apply();
    } else if (moves[event.key]) this.step(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoomBy(1.25);
    else if (event.key === "-") this.zoomBy(1 / 1.25);
    else if (event.key === "0") this.fit();
    else if (event.key === "Enter" && this.chosen) this.choose(this.chosen, true);
    else if (event.key === "Escape") this.select(null);
    else return;
    event.preventDefault();
  }

  /** To the nearest node in a direction. */
  step(dx, dy) {
    const places = this.layout.places;
    const here = this.chosen && places.get(this.chosen);
    if (!here) {
      const first = this.found.find((id) => places.has(id)) ?? [...places.keys()][0];
      if (first) this.select(first);
      return;
    }
    let best = null;
    for (const [id, place] of places) {
      const ahead = (place.x - here.x) * dx + (place.y - here.y) * dy;
      const aside = Math.abs((place.x - here.x) * dy) + Math.abs((place.y - here.y) * dx);
      if (id === this.chosen || ahead <= 2) continue;
      const cost = ahead + aside * 2.5;
      if (!best || cost < best.cost) best = { id, cost };
    }
    if (best) this.select(best.id);
  }

  close() {
    this.watcher.disconnect();
  }
}

const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
